"""Planted loops that nothing bounds, and loops that are bounded in unusual ways."""

import pytest

from tests.protocol.checks.planted import batch, bugfix, change, gates, needs, put, said, to, tree
from treadle.protocol.model import Budget, Protocol, Send, Spawn, Step, Wait


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            put(bugfix(), "graphs.main.steps.review.routes", "Rejected", to("fix")),
            [
                (
                    "9 main: unbounded loop fix → review → fix, by fix.Fixed, review.Rejected (charge a "
                    "budget on one of these edges, or lead it through a person)"
                ),
            ],
            id="a_loop_without_a_budget",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.budgets", "rounds", Budget(max=3, to="human", resets=("fix",))),
            [
                (
                    "9 main: unbounded loop fix → review → fix, by fix.Fixed, review.Rejected (budget "
                    "'rounds' is refilled inside the loop; charge one that is not)"
                )
            ],
            id="a_budget_that_the_loop_refills",
        ),
        pytest.param(
            change(
                put(bugfix(), "graphs.main.budgets", "rounds", Budget(max=3, to="repro")),
                "graphs.main.steps.repro",
                needs=needs("review.Rejected?"),
            ),
            [
                (
                    "9 main: unbounded loop repro → fix → review → repro, by repro.Reproduced, fix.Fixed, "
                    "review.Rejected (over 'rounds') (charge a budget on one of these edges, or lead it "
                    "through a person)"
                ),
                (
                    "15 warning: main.repro: needs 'review.Rejected?', but its template never shows it "
                    "(use it in the template, or remove it)"
                ),
            ],
            id="a_spent_budget_that_leads_on_around",
        ),
        pytest.param(
            put(tree(), "graphs.node.steps.plan.routes", "Unclear", to("clarify")),
            [
                (
                    "9 node: unbounded loop plan → clarify → plan, by plan.Unclear, clarify.Answer "
                    "(charge a budget on one of these edges, or lead it through a person)"
                ),
            ],
            id="a_question_to_the_parent_bounds_nothing",
        ),
        pytest.param(
            put(tree(), "graphs.node.steps.rebase.routes", "Rebased", to("^plan")),
            [
                (
                    "9 node: unbounded loop rebase → plan → rebase, by rebase.Rebased, signal Shift "
                    "(charge a budget on one of these edges, or lead it through a person)"
                ),
                (
                    "19 node.rebase: Rebased leads to 'plan', which does not take it (add "
                    "'rebase.Rebased?' to the needs of 'plan')"
                ),
            ],
            id="a_redirect_that_comes_round_again",
        ),
        pytest.param(
            change(
                put(bugfix(), "graphs.main.steps.review.routes", "Rejected", to("human")),
                "graphs.main.steps.human",
                default="again",
                default_after=60,
            ),
            [
                (
                    "9 main: unbounded loop repro → human → repro, by repro.!timeout, human.again (charge "
                    "a budget on one of these edges, or lead it through a person)"
                ),
            ],
            id="a_person_whom_time_overrules",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.budgets", "rounds", Budget(max=3, to="review")),
            [
                (
                    "9 main: unbounded loop review → review, by review.Rejected (over 'rounds') (charge a "
                    "budget on one of these edges, or lead it through a person)"
                ),
                (
                    "19 main.review: Rejected leads to 'review', which does not take its fields (add "
                    "'review.Rejected?' to the needs of 'review')"
                ),
            ],
            id="a_spent_budget_that_leads_back_to_its_step",
        ),
        pytest.param(
            put(batch(), "graphs.main.steps.cycles.routes", "SomeFailed", to("cycles")),
            [
                (
                    "9 main: unbounded loop cycles → cycles, by cycles.SomeFailed (charge a budget on one "
                    "of these edges, or lead it through a person)"
                )
            ],
            id="a_map_that_starts_over",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert said(protocol) == expected


def test_nested_loops_are_bounded_one_inside_the_other() -> None:
    """The inner budget is refilled by the outer loop, which has a budget of its own."""
    outer = put(bugfix(), "graphs.main.budgets", "outer", Budget(max=2, to="human"))
    rows = to("repro", when="data.faults > 5", charge="outer") + to("fix", charge="rounds")
    protocol = put(outer, "graphs.main.steps.review.routes", "Rejected", rows)
    repro = change(protocol, "graphs.main.steps.repro", needs=needs("review.Rejected?"))
    assert said(repro, 9) == []
    assert said(put(repro, "graphs.main.budgets", "outer", Budget(max=2, to="human", resets=("fix",))), 9) != []


def test_a_manual_start_bounds_a_loop() -> None:
    free = put(bugfix(), "graphs.main.steps.review.routes", "Rejected", to("fix"))
    assert said(free, 9) != []
    started = change(free, "graphs.main.steps.fix", wait=(Wait(kind="manual"),))
    assert said(change(started, "graphs.main", budgets={}), 9) == []


def test_a_redirect_by_a_signal_from_outside_is_somebodys_will() -> None:
    redirect = put(tree(), "graphs.node.steps.rebase.routes", "Rebased", to("^plan"))
    assert said(redirect, 9) != []
    outside = put(redirect, "graphs.node.steps.merge.routes", "Merged", to("@end:Merged"))
    spawn = Spawn(group="parts", graph="node", over="parts")
    outside = put(outside, "graphs.node.steps.plan.routes", "Planned", to("work", spawn))
    assert said(put(outside, "graphs.node.steps.conflict.routes", "go", to("@resume")), 9) == []


def test_a_fresh_start_that_is_paid_for_ends() -> None:
    needy = change(bugfix(), "graphs.main.steps.fix", needs=needs("repro.Reproduced", "fix.Stuck?"))
    assert (
        said(put(needy, "graphs.main.steps.fix.routes", "Stuck.Lost", to("fix", fresh=True, charge="rounds")), 9) == []
    )


def test_children_that_are_started_again_and_again() -> None:
    """The handler of a failed child resumes, but the child that it starts anew may fail too."""
    spawn, told = Spawn(group="parts", graph="node", over="parts"), Send(signal="Shift", to="children")
    again = Step(
        kind="agent",
        role="planner",
        template="again.jinja",
        exits=("Planned",),
        gates={"Planned": gates("checkpoint scope plan_covers_criteria children_partition")},
        routes={"Planned": to("@resume", told, spawn), "!*": to("conflict")},
    )
    protocol = put(put(tree(), "graphs.node.steps", "lost", again), "templates", "again.jinja", "{{ spec.text }}")
    assert said(protocol, 9) == [
        (
            "9 node: unbounded loop lost → lost, by lost.Planned, child:Aborted (charge a budget "
            "on one of these edges, or lead it through a person)"
        )
    ]
    paid = put(protocol, "graphs.node.steps.lost.routes", "Planned", to("@resume", told, spawn, charge="losses"))
    paid = change(paid, "graphs.node.steps.conflict", needs=needs("lost.Planned?", "!*?"))
    assert said(put(paid, "graphs.node.budgets", "losses", Budget(max=2, to="conflict")), 9) == []
