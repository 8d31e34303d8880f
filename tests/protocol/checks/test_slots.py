"""Planted reads of slots that some path has not written."""

import pytest

from tests.protocol.checks.planted import batch, bugfix, change, needs, put, said, to, tree
from treadle.protocol.model import Handler, Protocol


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            change(bugfix(), "graphs.main.steps.review", needs=needs("fix.Fixed", "review.Rejected")),
            [
                (
                    "12 main.review: reads 'review.Rejected', which is not set on every path here (not "
                    "after repro.Reproduced, fix.Fixed) (mark it optional with '?' or reroute)"
                ),
                (
                    "15 warning: main.review: needs 'review.Rejected', but its template never shows it "
                    "(use it in the template, or remove it)"
                ),
            ],
            id="a_slot_that_is_not_set_on_every_path",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.human.routes", "skip", to("review")),
            [
                (
                    "12 main.fix: reads 'repro.Reproduced', which is not set on every path here (not "
                    "after repro.!timeout, human.skip, review.Rejected) (mark it optional with '?' or "
                    "reroute)"
                ),
                (
                    "12 main.review: reads 'fix.Fixed', which is not set on every path here (not after "
                    "repro.!timeout, human.skip) (mark it optional with '?' or reroute)"
                ),
                (
                    "12 main.merge: Merged ends in 'Done', which needs 'repro.Reproduced'; that is not "
                    "set on every path here (lead it elsewhere, or mark the need with '?')"
                ),
                (
                    "12 main.merge: Merged ends in 'Done', which needs 'fix.Fixed'; that is not set on "
                    "every path here (lead it elsewhere, or mark the need with '?')"
                ),
                (
                    "16 main.fix: exit 'Fixed' proves green, but not every path here has been red before "
                    "(lead every path through one of repro.Reproduced)"
                ),
            ],
            id="a_slot_that_another_way_skips",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.human.routes", "done", to("@end:Done")),
            [
                (
                    "12 main.human: done ends in 'Done', which needs 'repro.Reproduced'; that is not set "
                    "on every path here (lead it elsewhere, or mark the need with '?')"
                ),
                (
                    "12 main.human: done ends in 'Done', which needs 'fix.Fixed'; that is not set on "
                    "every path here (lead it elsewhere, or mark the need with '?')"
                ),
                (
                    "12 main.human: done ends in 'Done', which needs 'review.Approved'; that is not set "
                    "on every path here (lead it elsewhere, or mark the need with '?')"
                ),
                (
                    "12 main.human: done ends in 'Done', which needs 'merge.Merged'; that is not set on "
                    "every path here (lead it elsewhere, or mark the need with '?')"
                ),
            ],
            id="an_end_that_was_not_earned",
        ),
        pytest.param(
            change(batch(), "graphs.main.steps.cycles", over="suite.Passed.cycles"),
            [
                (
                    "12 main.cycles: reads 'suite.Passed', which is not set on every path here (not after "
                    "prepare.Ready) (mark it optional with '?' or reroute)"
                ),
                (
                    "15 main.cycles: starts children over 'suite.Passed.cycles', which is no list it "
                    "knows (write `in.field` or `step.Exit.field`)"
                ),
            ],
            id="items_that_may_not_be_there",
        ),
        pytest.param(
            change(tree(), "graphs.node.steps.rebase", needs=needs("plan.Planned")),
            [
                (
                    "12 node.rebase: reads 'plan.Planned', which is not set on every path here (not after "
                    "the handler of 'Shift', which may start at any time) (mark it optional with '?' or "
                    "reroute)"
                )
            ],
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
                (
                    "12 node.work: reads 'plan.Planned', which is not set on every path here (not after "
                    "the handler of 'Shift', which may start at any time, rebase.!timeout, conflict.work)"
                    " (mark it optional with '?' or reroute)"
                ),
                (
                    "12 node.merge: Merged ends in 'Merged', which needs 'plan.Planned'; that is not set "
                    "on every path here (lead it elsewhere, or mark the need with '?')"
                ),
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
                (
                    "12 main.fix: reads 'repro.Reproduced', which is not set on every path here (not "
                    "after the command '/review', review.Rejected) (mark it optional with '?' or reroute)"
                ),
                (
                    "12 main.merge: Merged ends in 'Done', which needs 'repro.Reproduced'; that is not "
                    "set on every path here (lead it elsewhere, or mark the need with '?')"
                ),
                (
                    "15 warning: main.review: needs 'repro.Reproduced?', but its template never shows it "
                    "(use it in the template, or remove it)"
                ),
                (
                    "16 main.fix: exit 'Fixed' proves green, but not every path here has been red before "
                    "(lead every path through one of repro.Reproduced)"
                ),
            ],
            id="a_command_skips_what_comes_before",
        ),
        pytest.param(
            change(tree(), "graphs.node.steps.plan", needs=needs("up.plan.Planned", "clarify.Answer?")),
            [("12 node.plan: reads 'up.plan.Planned', but the root has no parent (mark it optional with '?')")],
            id="a_parents_slot_in_the_root",
        ),
        pytest.param(
            change(
                change(batch(), "graphs.main.steps.prepare", routes={"Ready": to("cycles"), "!crash": to("cycles")}),
                "graphs.cycle.steps.red",
                needs=needs("up.prepare.Ready"),
            ),
            [
                (
                    "12 cycle.red: reads 'up.prepare.Ready', which is not set when 'main.cycles' starts "
                    "it (mark it optional with '?')"
                ),
                (
                    "19 main.prepare: !crash leads to 'cycles', which does not take the report of the "
                    "failure (add '!crash?' to the needs of 'cycles')"
                ),
            ],
            id="a_parents_slot_that_is_not_set_where_it_starts",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert said(protocol) == expected


def test_a_handler_that_only_children_cause_knows_what_was_known_when_they_started() -> None:
    """`answer` reads the plan: nobody can ask before there are children, and those come with the plan."""
    assert said(tree()) == []
    outside = put(tree(), "graphs.node.handlers", "Shift", Handler(step="answer"))
    assert any("reads 'plan.Planned'" in line for line in said(outside, 12))


def test_a_command_is_refused_until_its_step_has_what_it_needs() -> None:
    """So whatever that step requires is known after it."""
    assert said(change(bugfix(), "graphs.main", commands={"/fix": "fix"})) == []


def test_all_values_of_a_slot_may_be_none() -> None:
    protocol = change(bugfix(), "graphs.main.steps.review", needs=needs("fix.Fixed", "review.Rejected*"))
    assert said(protocol, 12) == []
