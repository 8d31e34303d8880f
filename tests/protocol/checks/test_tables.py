"""Planted faults in routing tables: rows that are missing, unreachable, or about nothing."""

import pytest

from tests.protocol.checks.planted import (
    COMMIT,
    batch,
    bugfix,
    change,
    drop,
    faults_of,
    gates,
    needs,
    put,
    said,
    to,
    tree,
)
from treadle.protocol.model import Becomes, Exit, Field, Handler, Protocol


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            drop(bugfix(), "graphs.main.steps.fix.routes", "Fixed"),
            ["unrouted_exit main.fix: Fixed"],
            id="an_unrouted_exit",
        ),
        pytest.param(
            drop(bugfix(), "graphs.main.steps.fix.routes", "Stuck"),
            ["unrouted_exit main.fix: Stuck.Hard"],
            id="an_unrouted_variant",
        ),
        pytest.param(
            change(batch(), "graphs.cycle.steps.halt", routes={}),
            ["unrouted_exit cycle.halt"],
            id="an_ask_without_answers",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.routes", "Fixed", to("review", when="attempt > 1")),
            ["unrouted_exit main.fix: Fixed, attempt > 1"],
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
                "unrouted_exit main.fix: Fixed",
                "undelivered_exit main.fix: human",
            ],
            id="rows_after_an_unguarded_one",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.routes", "Fixd", to("review")),
            ["stale_row main.fix: Fixd -> Fixed"],
            id="a_row_for_no_exit",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.routes", "Stuck.Hrad", to("human")),
            ["stale_row main.fix: Stuck.Hrad -> Stuck.Hard"],
            id="a_row_for_no_variant",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.merge.routes", "!invalid", to("human")),
            ["stale_row main.merge: !invalid"],
            id="a_row_for_a_failure_that_cannot_happen",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.routes", "!gate.red", to("human")),
            ["stale_row main.fix: !gate.red -> !gate.green"],
            id="a_row_for_a_gate_that_is_not_there",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.routes", "!gate.minimal", to("human")),
            ["stale_row main.fix: !gate.minimal -> !gate.build"],
            id="a_row_for_an_advisory_gate",
        ),
        pytest.param(
            put(batch(), "graphs.main.steps.suite.routes", "Failed.red", to("halt")),
            ["stale_row main.suite: Failed.red -> Failed.green"],
            id="a_row_for_no_failed_check",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.gates", "Fixes", gates("commit")),
            ["stale_row main.fix: Fixes -> Fixed"],
            id="a_gate_for_no_exit",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.fix", becomes=(Becomes(key="Stuk"),)),
            ["stale_row main.fix: Stuk -> Stuck"],
            id="becomes_no_exit",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.fix", becomes=(Becomes(key="Stuck.Hard", when="attempt > 1"),)),
            ["stale_row main.fix: becomes, attempt > 1"],
            id="becomes_only_under_a_guard",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.fix", becomes=()),
            ["stale_row main.fix"],
            id="becomes_nothing",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.system", "!crsh", to("human")),
            ["stale_row main: !crsh -> !crash"],
            id="no_system_exit",
        ),
        pytest.param(
            change(bugfix(), "graphs.main", system={"!timeout": to("human"), "!crash": to("human")}),
            [
                "uncovered_failure main.repro",
                "uncovered_failure main.fix",
                "uncovered_failure main.review",
            ],
            id="uncovered_failures",
        ),
        pytest.param(
            change(
                put(batch(), "graphs.main.steps.suite.routes", "Failed.build", to("suite")),
                "graphs.main",
                system={"!timeout": to("halt"), "!crash": to("halt"), "!limit": to("halt")},
            ),
            ["uncovered_failure main.suite"],
            id="spent_attempts_without_a_row",
        ),
        pytest.param(
            change(
                change(tree(), "graphs.node.steps.plan", gates={}),
                "graphs.node",
                system={key: to("stuck") for key in ("!timeout", "!crash", "!invalid", "!limit", "!exhausted")},
            ),
            [
                "uncovered_failure node.plan",
                "unproved_exit node.plan: Planned",
                "unproved_exit node.plan: Planned, commit",
                "unproved_exit node.plan: Planned",
            ],
            id="a_refused_spawn_without_a_row",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert faults_of(protocol) == expected


def test_a_check_has_rows_for_single_failures() -> None:
    assert said(put(batch(), "graphs.main.steps.suite.routes", "Failed.green", to("halt"))) == []


def test_a_gate_has_rows_for_single_checks() -> None:
    assert said(put(bugfix(), "graphs.main.steps.fix.routes", "!gate.green", to("human"))) == []


# Planted exits and failures that nobody reads.


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            change(bugfix(), "graphs.main.steps.merge", needs=()),
            ["undelivered_exit main.review: merge"],
            id="an_exit_that_the_next_step_does_not_read",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.routes", "Stuck.Lost", to("fix", fresh=True, charge="rounds")),
            ["undelivered_exit main.fix: fix"],
            id="an_exit_that_the_same_step_does_not_read",
        ),
        pytest.param(
            put(
                change(bugfix(), "graphs.main.steps.human", needs=needs("fix.Stuck?", "!*?")),
                "templates",
                "human.jinja",
                "{% if fix.Stuck %}{{ fix.Stuck.story }}{% endif %}",
            ),
            ["undelivered_exit main.review: human"],
            id="an_exit_that_the_budgets_target_does_not_read",
        ),
        pytest.param(
            put(batch(), "graphs.cycle.ends", "Done", ()),
            ["undelivered_exit cycle.green: Done"],
            id="an_exit_that_an_end_does_not_take",
        ),
        pytest.param(
            change(
                put(
                    put(tree(), "exits", "Rebased", Exit(fields={"commit": COMMIT})),
                    "graphs.node.steps.merge.routes",
                    "Merged",
                    to("@end:Merged"),
                ),
                "graphs.node.steps.rebase",
                routes={"Rebased": to("^plan"), "!*": to("conflict")},
            ),
            [
                "unbounded_loop node",
                "undelivered_exit node.rebase: plan",
            ],
            id="an_exit_that_a_redirected_step_does_not_read",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.human", needs=needs("fix.Stuck?", "review.Rejected?", "!gate?")),
            [
                "undelivered_exit main.repro: human",
                "undelivered_exit main.fix: human",
                "undelivered_exit main.review: human",
                "undelivered_exit main.merge: human",
            ],
            id="a_failure_that_the_next_step_does_not_read",
        ),
        pytest.param(
            put(
                put(batch(), "graphs.cycle.steps.green.routes", "!timeout", to("@end:Done")),
                "graphs.cycle.ends",
                "Done",
                needs("green.Green?"),
            ),
            ["undelivered_exit cycle.green: Done"],
            id="a_failure_that_ends_well",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.merge.routes", "!crash", to("repro")),
            [
                "unbounded_loop main",
                "undelivered_exit main.merge: repro",
            ],
            id="a_failure_with_a_row_of_its_own",
        ),
    ],
)
def test_an_undelivered_exit_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert faults_of(protocol) == expected


def test_a_failure_that_ends_badly_is_read_too() -> None:
    silent = put(batch(), "graphs.cycle.steps.green.routes", "!timeout", to("@end:Aborted"))
    assert faults_of(silent) == ["undelivered_exit cycle.green: Aborted"]
    assert "!timeout?" in said(silent)[0]
    assert said(put(silent, "graphs.cycle.ends", "Aborted", needs("!timeout?"))) == []


def test_items_of_a_map_are_read() -> None:
    """An exit that a map iterates over need not stand in its needs as well."""
    listed = change(batch(), "exits.Ready", fields={"cycles": Field(type="[Cycle]", route="items")})
    step = "graphs.main.steps.cycles"
    assert said(change(listed, step, over="prepare.Ready.cycles", needs=()), 19) == []


# Planted readers of failures that never come to them.


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            change(bugfix(), "graphs.main.steps.merge", needs=needs("review.Approved", "!limit?")),
            ["lost_report main.merge: !limit?"],
            id="a_step",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.ends", "Aborted", needs("!*?")),
            ["lost_report main: !*?"],
            id="an_outcome",
        ),
    ],
)
def test_a_report_that_never_arrives_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert faults_of(protocol) == expected


def test_a_report_of_one_failure_among_many() -> None:
    listed = change(
        bugfix(), "graphs.main.steps.human", needs=needs("fix.Stuck?", "review.Rejected?", "!*?", "!limit?")
    )
    assert faults_of(listed) == []
    rows = {"!timeout": to("human"), "!crash": to("human"), "!gate": to("human"), "!invalid": to("human")}
    without = change(listed, "graphs.main", system={**rows, "!exhausted": to("human"), "!limit": to("@end:Aborted")})
    told = put(without, "graphs.main.ends", "Aborted", needs("!limit?"))
    assert faults_of(told) == ["lost_report main.human: !limit?"]


# Planted decisions that decide nothing.


REVIEW = "graphs.main.steps.review.routes"


COUNTED = to("review", sets={"round": "round + 1"})


def _undecided() -> Protocol:
    """A reviewer whose every word leads to a person, who merges."""
    protocol = put(bugfix(), "exits", "Rejected", Exit(severity="WARN", fields={"faults": Field(type="[Fault]")}))
    protocol = put(put(protocol, REVIEW, "Rejected", to("human")), REVIEW, "Approved", to("human"))
    protocol = put(protocol, "graphs.main.steps.human.routes", "accept", to("merge"))
    heard = needs("fix.Stuck?", "review.Rejected?", "review.Approved?", "!*?")
    protocol = change(protocol, "graphs.main.steps.human", needs=heard)
    protocol = change(protocol, "graphs.main", budgets={}, ends={"Done": needs("merge.Merged"), "Aborted": ()})
    return change(protocol, "graphs.main.steps.merge", needs=needs("review.Approved?"))


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            put(bugfix(), REVIEW, "Rejected", to("fix", charge="rounds")),
            ["idle_decision Rejected: faults, Rejected"],
            id="a_field_that_no_row_looks_at",
        ),
        pytest.param(
            put(change(bugfix(), "graphs.main", vars={"round": 0}), "graphs.main.steps.fix.routes", "Fixed", COUNTED),
            ["idle_decision main: round"],
            id="a_variable_that_nobody_reads",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.routes", "Fixed", to("review", when="attempt > 1") + to("review")),
            ["idle_decision main.fix: attempt > 1, Fixed"],
            id="a_guard_before_the_same_row",
        ),
        pytest.param(
            _undecided(),
            ["idle_decision main.review: Approved, Rejected"],
            id="an_approval_that_is_a_refusal",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.human.routes", "abort", to("repro")),
            ["idle_decision main.human: abort, repro"],
            id="an_abort_that_goes_on",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.routes", "!gate", to("human")),
            ["idle_decision main.fix"],
            id="attempts_that_are_not_taken",
        ),
    ],
)
def test_an_idle_decision_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert faults_of(protocol, 23) == expected


def test_a_variable_that_a_template_shows_is_read() -> None:
    counted = put(change(bugfix(), "graphs.main", vars={"round": 0}), "graphs.main.steps.fix.routes", "Fixed", COUNTED)
    assert said(put(counted, "templates", "review.jinja", "{{ fix.Fixed.commit }}{{ vars.round }}")) == []


def test_an_approval_that_a_later_guard_reads_is_decisive() -> None:
    rows = to("merge", when="last.review == 'Approved'") + to("repro")
    assert said(put(_undecided(), "graphs.main.steps.human.routes", "accept", rows), 23) == []


def test_two_guards_before_the_same_row_are_an_or() -> None:
    rows = to("human", when="data.faults > 9") + to("human", when="same_failure > 1") + to("fix", charge="rounds")
    assert said(put(bugfix(), REVIEW, "Rejected", rows)) == []


# Planted reads of slots that some path has not written.


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            change(bugfix(), "graphs.main.steps.review", needs=needs("fix.Fixed", "review.Rejected")),
            [
                "unmet_need main.review: review.Rejected",
                "unfit_template main.review: review.Rejected",
            ],
            id="a_slot_that_is_not_set_on_every_path",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.human.routes", "skip", to("review")),
            [
                "unmet_need main.fix: repro.Reproduced",
                "unmet_need main.review: fix.Fixed",
                "unmet_need main.merge: Done, repro.Reproduced",
                "unmet_need main.merge: Done, fix.Fixed",
                "unproved_exit main.fix: Fixed",
            ],
            id="a_slot_that_another_way_skips",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.human.routes", "done", to("@end:Done")),
            [
                "unmet_need main.human: Done, repro.Reproduced",
                "unmet_need main.human: Done, fix.Fixed",
                "unmet_need main.human: Done, review.Approved",
                "unmet_need main.human: Done, merge.Merged",
            ],
            id="an_end_that_was_not_earned",
        ),
        pytest.param(
            change(batch(), "graphs.main.steps.cycles", over="suite.Passed.cycles"),
            [
                "unmet_need main.cycles: suite.Passed",
                "unfit_items main.cycles: suite.Passed.cycles",
            ],
            id="items_that_may_not_be_there",
        ),
        pytest.param(
            change(tree(), "graphs.node.steps.rebase", needs=needs("plan.Planned")),
            ["unmet_need node.rebase: plan.Planned, Shift"],
            id="a_handler_may_start_before",
        ),
        pytest.param(
            put(
                change(tree(), "graphs.node.steps.work", needs=needs("plan.Planned", "!*?")),
                "graphs.node.steps.conflict.routes",
                "work",
                to("^work"),
            ),
            [
                "unmet_need node.work: plan.Planned, Shift",
                "unmet_need node.merge: Merged, plan.Planned",
            ],
            id="a_redirect_knows_only_what_the_handler_knows",
        ),
        pytest.param(
            change(
                change(bugfix(), "graphs.main.steps.review", needs=needs("fix.Fixed", "repro.Reproduced?")),
                "graphs.main",
                commands={"/review": "review"},
            ),
            [
                "unmet_need main.fix: repro.Reproduced, /review",
                "unmet_need main.merge: Done, repro.Reproduced",
                "unfit_template main.review: repro.Reproduced?",
                "unproved_exit main.fix: Fixed",
            ],
            id="a_command_skips_what_comes_before",
        ),
        pytest.param(
            change(tree(), "graphs.node.steps.plan", needs=needs("up.plan.Planned", "clarify.Answer?")),
            ["unmet_need node.plan: up.plan.Planned"],
            id="a_parents_slot_in_the_root",
        ),
        pytest.param(
            change(
                change(batch(), "graphs.main.steps.prepare", routes={"Ready": to("cycles"), "!crash": to("cycles")}),
                "graphs.cycle.steps.red",
                needs=needs("up.prepare.Ready"),
            ),
            [
                "unmet_need cycle.red: up.prepare.Ready, main.cycles",
                "undelivered_exit main.prepare: cycles",
            ],
            id="a_parents_slot_that_is_not_set_where_it_starts",
        ),
    ],
)
def test_an_unmet_need_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert faults_of(protocol) == expected


def test_a_handler_for_children_knows_the_slots_from_before_their_start() -> None:
    """`answer` reads the plan: nobody can ask before there are children, and those come with the plan."""
    assert said(tree()) == []
    outside = put(tree(), "graphs.node.handlers", "Shift", Handler(step="answer"))
    assert any("reads 'plan.Planned'" in line for line in said(outside, 12))


def test_a_step_behind_a_command_has_its_required_slots() -> None:
    """So whatever that step requires is known after it."""
    assert said(change(bugfix(), "graphs.main", commands={"/fix": "fix"})) == []


def test_a_need_of_all_values_may_be_empty() -> None:
    protocol = change(bugfix(), "graphs.main.steps.review", needs=needs("fix.Fixed", "review.Rejected*"))
    assert said(protocol, 12) == []
