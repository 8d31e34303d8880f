"""Planted numbers out of range."""

import pytest

from tests.protocol.checks.planted import batch, bugfix, change, put, said, tree
from treadle.protocol.model import Budget, Handler, Limits, Protocol


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            change(bugfix(), "graphs.main.steps.fix", attempts=0),
            ["20 main.fix: has 0 attempts (at least 1)"],
            id="no_attempts",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.fix", timeout=0),
            ["20 main.fix: has a timeout of 0 seconds (more than 0)"],
            id="no_time",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.budgets", "rounds", Budget(max=0, to="human")),
            ["20 main: budget 'rounds' allows 0 (at least 1)"],
            id="no_budget",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.fix", prio=4),
            ["20 main.fix: has class 4 (0 to 3)"],
            id="no_such_class",
        ),
        pytest.param(
            put(tree(), "graphs.node.handlers", "Shift", Handler(step="rebase", prio=-1)),
            ["20 node: handler of 'Shift' has class -1 (0 to 3)"],
            id="no_such_class_of_a_handler",
        ),
        pytest.param(
            put(tree(), "graphs.node.handlers", "Shift", Handler(step="rebase", preempt=-2)),
            ["20 node: handler of 'Shift' preempts after -2 seconds (-1 never, 0 at once, or seconds)"],
            id="a_negative_grace",
        ),
        pytest.param(
            change(batch(), "graphs.main.steps.cycles", window="0"),
            ["20 main.cycles: has the window '0' (a number above 0, or `in.field`)"],
            id="no_window",
        ),
        pytest.param(
            change(batch(), "graphs.main.steps.cycles", window="two"),
            ["20 main.cycles: has the window 'two' (a number above 0, or `in.field`)"],
            id="no_number_as_a_window",
        ),
        pytest.param(
            put(bugfix(), "pools", "branch", 0),
            ["20 pool 'branch' holds 0 (at least 1)"],
            id="an_empty_pool",
        ),
        pytest.param(
            change(bugfix(), "", limits=Limits(depth=0)),
            ["20 limit 'depth' is below 1 (at least 1)"],
            id="no_depth",
        ),
        pytest.param(
            change(bugfix(), "", limits=Limits(cost=-1.0)),
            ["20 limit 'cost' is negative (0 means none)"],
            id="a_negative_limit",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.human", default="abort"),
            ["20 main.human: never takes its default 'abort' (add `default_after`)"],
            id="a_default_that_never_comes",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.human", default_after=60),
            ["20 main.human: has `default_after` but no `default` (name the choice that time decides for)"],
            id="a_time_without_a_default",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.fix", estimate=(5, 1, 1, 5)),
            ["20 main.fix: estimates [5, 1, 1, 5] ([read_low, read_high, out_low, out_high])"],
            id="an_estimate_upside_down",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.human", remind=-1),
            ["20 main.human: waits a negative time (0 means never)"],
            id="a_negative_reminder",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.fix", nudges=-1),
            ["20 main.fix: is nudged -1 times after 60 seconds (more than 0 seconds)"],
            id="a_negative_nudge",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert said(protocol) == expected
