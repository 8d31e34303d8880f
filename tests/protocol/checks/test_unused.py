"""What is declared and never used is a warning, and only that."""

import pytest

from tests.protocol.checks.planted import TEXT, bugfix, put, said, tree
from treadle.protocol.model import Exit, Handler, Protocol, Record, Role


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            put(bugfix(), "exits", "Spare", Exit()),
            ["5 warning: exit 'Spare' is never used (use it or remove it)"],
            id="an_exit",
        ),
        pytest.param(
            put(bugfix(), "roles", "spare", Role()),
            ["5 warning: role 'spare' is never used (use it or remove it)"],
            id="a_role",
        ),
        pytest.param(
            put(bugfix(), "types", "Spare", Record(fields={"id": TEXT})),
            ["5 warning: type 'Spare' is never used (use it or remove it)"],
            id="a_type",
        ),
        pytest.param(
            put(bugfix(), "pools", "spare", 1),
            ["5 warning: pool 'spare' is never used (use it or remove it)"],
            id="a_pool",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.ends", "Spare", ()),
            ["5 warning: main: outcome 'Spare' is never used (use it or remove it)"],
            id="an_outcome",
        ),
        pytest.param(
            put(tree(), "graphs.node.handlers", "child:Merged", Handler(step="lost")),
            [
                (
                    "5 warning: node: handles 'child:Merged', which no child of a spawned group can "
                    "report (remove it, or take the outcome out of `ok`)"
                )
            ],
            id="a_handler_of_a_good_outcome",
        ),
        pytest.param(
            put(bugfix(), "templates", "spare.jinja", ""),
            ["15 warning: template 'spare.jinja' is never used (use it or remove it)"],
            id="a_template",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert said(protocol) == expected
