"""Planted names that could mean two things in an answer."""

import pytest

from tests.protocol.checks.planted import COMMIT, TEXT, bugfix, change, put, said
from treadle.protocol.model import Exit, Field, Protocol

LONG = "S" * 60
TAGGED = "3 Stuck: a field cannot be called 'type', which says in an answer which exit it is (rename it, e.g. 'kind')"


def aliased(*also: str) -> Field:
    return Field(type="text", also=also)


def stuck(**fields: Field) -> Protocol:
    own = bugfix().exits["Stuck"].fields
    return change(bugfix(), "exits.Stuck", fields={**own, **fields})


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            stuck(type=TEXT),
            [TAGGED],
            id="a_field_called_as_the_tag",
        ),
        pytest.param(
            stuck(kind=aliased("type")),
            [TAGGED],
            id="an_alias_called_as_the_tag",
        ),
        pytest.param(
            stuck(one=aliased("cause"), two=aliased("cause")),
            ["3 Stuck: 'cause' could mean field 'one' or field 'two' (rename one of them in `also`)"],
            id="an_alias_of_two_fields",
        ),
        pytest.param(
            stuck(one=aliased("story")),
            ["3 Stuck: 'story' could mean field 'story' or field 'one' (rename one of them in `also`)"],
            id="an_alias_that_is_a_field",
        ),
        pytest.param(
            put(bugfix(), "types.Fault.fields", "why", aliased("what")),
            ["3 Fault: 'what' could mean field 'what' or field 'why' (rename one of them in `also`)"],
            id="an_alias_in_a_record",
        ),
        pytest.param(
            change(bugfix(), "exits.Stuck", also=("Fixed",)),
            ["3 main.fix: an answer 'Fixed' could mean exit 'Fixed' or exit 'Stuck' (rename one of them in `also`)"],
            id="an_alias_that_is_another_exit_of_the_step",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert said(protocol) == expected


def test_an_exit_whose_tool_has_too_long_a_name() -> None:
    [line, _] = said(put(bugfix(), "exits", LONG, Exit()))
    assert (
        line
        == f"3 {LONG}: its tool would be called 'exit_{LONG}', 65 characters (an exit's name has at most 59 characters)"
    )
    assert len(said(put(bugfix(), "exits", LONG[1:], Exit()))) == 1


@pytest.mark.parametrize(
    "protocol",
    [
        pytest.param(stuck(one=aliased("cause", "cause"), two=aliased("two", "reason")), id="aliases_of_one_field"),
        pytest.param(change(bugfix(), "exits.Stuck", also=("Approved",)), id="an_exit_of_another_step"),
        pytest.param(put(bugfix(), "types.Fault.fields", "type", TEXT), id="a_type_in_a_record"),
        pytest.param(stuck(note=aliased("commit"), commit=COMMIT), id="a_computed_field_is_not_looked_for"),
    ],
)
def test_a_name_with_one_meaning_is_right(protocol: Protocol) -> None:
    assert said(protocol, 3) == []
