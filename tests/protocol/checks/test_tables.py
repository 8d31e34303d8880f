"""Planted faults in routing tables: rows that are missing, unreachable, or about nothing."""

import pytest

from tests.protocol.checks.planted import batch, bugfix, change, drop, gates, put, said, to, tree
from treadle.protocol.model import Becomes, Protocol


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            drop(bugfix(), "graphs.main.steps.fix.routes", "Fixed"),
            ["1 main.fix: exit 'Fixed' is not routed (add a row to its table)"],
            id="an_unrouted_exit",
        ),
        pytest.param(
            drop(bugfix(), "graphs.main.steps.fix.routes", "Stuck"),
            ["1 main.fix: exit 'Stuck.Hard' is not routed (add a row to its table)"],
            id="an_unrouted_variant",
        ),
        pytest.param(
            change(batch(), "graphs.cycle.steps.halt", routes={}),
            ["1 cycle.halt: the question has no answers (add `routes: {choice: target}`)"],
            id="an_ask_without_answers",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.routes", "Fixed", to("review", when="attempt > 1")),
            [
                (
                    "1 main.fix: the last row of 'Fixed' has the guard 'attempt > 1'; when it does not "
                    "hold, nothing does (add a last row without `when`)"
                )
            ],
            id="a_guarded_last_row",
        ),
        pytest.param(
            put(
                bugfix(),
                "graphs.main.steps.fix.routes",
                "Fixed",
                to("review") + to("human", when="attempt > 1") + to("review"),
            ),
            [
                (
                    "1 main.fix: row 1 of 'Fixed' has no guard, so the rows after it are never reached "
                    "(give it a `when`, or put it last)"
                ),
                (
                    "19 main.fix: Fixed leads to 'human', which does not take its fields (add "
                    "'fix.Fixed?' to the needs of 'human')"
                ),
            ],
            id="rows_after_an_unguarded_one",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.routes", "Fixd", to("review")),
            ["2 main.fix: has a row for 'Fixd', by which it cannot leave (did you mean 'Fixed'?)"],
            id="a_row_for_no_exit",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.routes", "Stuck.Hrad", to("human")),
            [("2 main.fix: has a row for 'Stuck.Hrad', by which it cannot leave (did you mean 'Stuck.Hard'?)")],
            id="a_row_for_no_variant",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.merge.routes", "!invalid", to("human")),
            [
                (
                    "2 main.merge: has a row for '!invalid', which cannot happen here (it can fail by "
                    "!timeout, !crash, !exhausted, !*)"
                )
            ],
            id="a_row_for_a_failure_that_cannot_happen",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.routes", "!gate.red", to("human")),
            [("2 main.fix: has a row for '!gate.red', which cannot happen here (did you mean '!gate.green'?)")],
            id="a_row_for_a_gate_that_is_not_there",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.routes", "!gate.minimal", to("human")),
            [("2 main.fix: has a row for '!gate.minimal', which cannot happen here (did you mean '!gate.build'?)")],
            id="a_row_for_an_advisory_gate",
        ),
        pytest.param(
            put(batch(), "graphs.main.steps.suite.routes", "Failed.red", to("halt")),
            [("2 main.suite: has a row for 'Failed.red', by which it cannot leave (did you mean 'Failed.green'?)")],
            id="a_row_for_no_failed_check",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.gates", "Fixes", gates("commit")),
            ["2 main.fix: has a gate for 'Fixes', by which it cannot leave (did you mean 'Fixed'?)"],
            id="a_gate_for_no_exit",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.fix", becomes=(Becomes(key="Stuk"),)),
            ["2 main.fix: spent attempts become 'Stuk', by which it cannot leave (did you mean 'Stuck'?)"],
            id="becomes_no_exit",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.fix", becomes=(Becomes(key="Stuck.Hard", when="attempt > 1"),)),
            [
                (
                    "2 main.fix: the last `becomes` has the guard 'attempt > 1'; when it does not hold, "
                    "nothing does (add a last entry without `when`)"
                )
            ],
            id="becomes_only_under_a_guard",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.fix", becomes=()),
            ["2 main.fix: spent attempts become nothing (name a key, such as '!exhausted')"],
            id="becomes_nothing",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.system", "!crsh", to("human")),
            ["2 main: '!crsh' is not a system exit (did you mean '!crash'?)"],
            id="no_system_exit",
        ),
        pytest.param(
            change(bugfix(), "graphs.main", system={"!timeout": to("human"), "!crash": to("human")}),
            [
                (
                    "4 main.repro: nothing says what happens after !limit, !exhausted (add rows here, or "
                    '`system: {"!*": target}` to the graph)'
                ),
                (
                    "4 main.fix: nothing says what happens after !limit (add rows here, or `system: "
                    '{"!*": target}` to the graph)'
                ),
                (
                    "4 main.review: nothing says what happens after !invalid, !gate, !limit (add rows "
                    'here, or `system: {"!*": target}` to the graph)'
                ),
            ],
            id="uncovered_failures",
        ),
        pytest.param(
            change(
                put(batch(), "graphs.main.steps.suite.routes", "Failed.build", to("suite")),
                "graphs.main",
                system={"!timeout": to("halt"), "!crash": to("halt"), "!limit": to("halt")},
            ),
            [
                (
                    "4 main.suite: nothing says what happens after !exhausted (add rows here, or `system: "
                    '{"!*": target}` to the graph)'
                )
            ],
            id="spent_attempts_without_a_row",
        ),
        pytest.param(
            change(
                change(tree(), "graphs.node.steps.plan", gates={}),
                "graphs.node",
                system={key: to("stuck") for key in ("!timeout", "!crash", "!invalid", "!limit", "!exhausted")},
            ),
            [
                (
                    "4 node.plan: nothing says what happens after !gate (add rows here, or `system: "
                    '{"!*": target}` to the graph)'
                ),
                (
                    "16 node.plan: exit 'Planned' proves plan, but no gate establishes it (gate it by "
                    "disjoint_writes or plan_covers_criteria or plan_parses)"
                ),
                (
                    "16 node.plan: exit 'Planned' has the field 'commit' by git, but no gate that "
                    "computes it (gate it by one of commit, commit_once, checkpoint, measure, rebased, documents)"
                ),
                (
                    "16 node.plan: exit 'Planned' records a commit, but no gate bounds what was changed "
                    "(gate it by one of owned_files, scope, scope_src, scope_tests)"
                ),
            ],
            id="a_refused_spawn_without_a_row",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert said(protocol) == expected


def test_a_check_has_rows_for_single_failures() -> None:
    assert said(put(batch(), "graphs.main.steps.suite.routes", "Failed.green", to("halt"))) == []


def test_a_gate_has_rows_for_single_checks() -> None:
    assert said(put(bugfix(), "graphs.main.steps.fix.routes", "!gate.green", to("human"))) == []
