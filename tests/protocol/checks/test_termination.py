"""Planted dead ends: graphs, steps and signals that lead nowhere or come from nowhere."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protocol.checks.planted import batch, bugfix, change, faults_of, gates, needs, put, said, to, tree
from treadle.protocol.checks.termination import components, shortest_cycle
from treadle.protocol.model import Action, Budget, Handler, Protocol, ResetThread, Send, Spawn, Step, Thread, Tier, Wait


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            put(batch(), "graphs", "spare", batch().graphs["cycle"]),
            ["unreachable_step spare: spare"],
            id="a_graph_nobody_starts",
        ),
        pytest.param(
            put(
                bugfix(),
                "graphs.main.steps",
                "spare",
                Step(kind="ask", asks="human", routes={"on": to("merge"), "abort": to("@end:Aborted")}),
            ),
            ["unreachable_step main.spare"],
            id="a_step_nobody_leads_to",
        ),
        pytest.param(
            put(
                put(batch(), "graphs.cycle.steps.green.routes", "Green", to("rest")),
                "graphs.cycle.steps",
                "rest",
                Step(kind="ask", asks="human", needs=needs("green.Green"), routes={"more": to("rest")}),
            ),
            [
                "unused cycle: Done",
                "no_way_out cycle.rest",
            ],
            id="a_step_without_a_way_out",
        ),
        pytest.param(
            put(
                tree(),
                "graphs.node.steps.merge.routes",
                "Merged",
                to("@end:Merged", Send(signal="Shif", to="siblings")),
            ),
            ["unhandled_signal node.merge: Shif"],
            id="a_signal_nobody_handles",
        ),
        pytest.param(
            put(
                bugfix(), "graphs.main.steps.merge.routes", "Merged", to("@end:Done", Send(signal="Done", to="parent"))
            ),
            ["unhandled_signal main.merge: Done"],
            id="a_signal_to_nobody",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert faults_of(protocol) == expected


# Planted loops that nothing bounds, and loops that are bounded in unusual ways.


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            put(bugfix(), "graphs.main.steps.review.routes", "Rejected", to("fix")),
            [
                "unbounded_loop main",
            ],
            id="a_loop_without_a_budget",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.budgets", "rounds", Budget(max=3, to="human", resets=("fix",))),
            ["unbounded_loop main"],
            id="a_budget_that_the_loop_refills",
        ),
        pytest.param(
            change(
                put(bugfix(), "graphs.main.budgets", "rounds", Budget(max=3, to="repro")),
                "graphs.main.steps.repro",
                needs=needs("review.Rejected?"),
            ),
            [
                "unbounded_loop main: rounds",
                "unfit_template main.repro: review.Rejected?",
            ],
            id="a_spent_budget_that_leads_on_around",
        ),
        pytest.param(
            put(tree(), "graphs.node.steps.plan.routes", "Unclear", to("clarify")),
            [
                "unbounded_loop node",
            ],
            id="a_question_to_the_parent_bounds_nothing",
        ),
        pytest.param(
            put(tree(), "graphs.node.steps.rebase.routes", "Rebased", to("^plan")),
            [
                "unbounded_loop node",
                "undelivered_exit node.rebase: plan",
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
                "unbounded_loop main",
            ],
            id="a_person_whom_time_overrules",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.budgets", "rounds", Budget(max=3, to="review")),
            [
                "unbounded_loop main: rounds",
                "undelivered_exit main.review: review",
            ],
            id="a_spent_budget_that_leads_back_to_its_step",
        ),
        pytest.param(
            put(batch(), "graphs.main.steps.cycles.routes", "SomeFailed", to("cycles")),
            ["unbounded_loop main"],
            id="a_map_that_starts_over",
        ),
    ],
)
def test_an_unbounded_loop_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert faults_of(protocol) == expected


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


def test_a_redirect_by_an_outside_signal_is_no_endless_loop() -> None:
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
    assert faults_of(protocol, 9) == ["unbounded_loop node"]
    paid = put(protocol, "graphs.node.steps.lost.routes", "Planned", to("@resume", told, spawn, charge="losses"))
    paid = change(paid, "graphs.node.steps.conflict", needs=needs("lost.Planned?", "!*?"))
    assert faults_of(put(paid, "graphs.node.budgets", "losses", Budget(max=2, to="conflict")), 9) == []


# Components and cycles, held against plain reachability.


class Arrow(NamedTuple):
    source: str
    goal: str


NAMES = "abcdef"


ARROWS = st.lists(st.builds(Arrow, st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=14)


def _reached(start: str, arrows: list[Arrow]) -> set[str]:
    found = {arrow.goal for arrow in arrows if arrow.source == start}
    for _ in NAMES:
        found |= {arrow.goal for arrow in arrows if arrow.source in found}
    return found


@given(ARROWS)
def test_two_names_are_together_if_each_reaches_the_other(arrows: list[Arrow]) -> None:
    parts = components(NAMES, arrows)
    assert sorted(name for part in parts for name in part) == sorted(NAMES)
    together = {(a, b) for part in parts for a in part for b in part if a != b}
    mutual = {(a, b) for a in NAMES for b in NAMES if a != b and b in _reached(a, arrows) and a in _reached(b, arrows)}
    assert together == mutual


@given(ARROWS)
def test_a_shortest_cycle_closes_and_none_is_shorter(arrows: list[Arrow]) -> None:
    cycle = shortest_cycle(arrows)
    assert bool(cycle) == any(name in _reached(name, arrows) for name in NAMES)
    for arrow, following in zip(cycle, [*cycle[1:], *cycle[:1]], strict=True):
        assert arrow in arrows
        assert arrow.goal == following.source
    assert len({arrow.source for arrow in cycle}) == len(cycle)
    if any(arrow.source == arrow.goal for arrow in arrows):
        assert len(cycle) == 1


# Planted budgets that bound nothing.


def _hints(resets: tuple[str, ...]) -> Protocol:
    """A tree that takes a bounded number of hints from outside."""
    hint = Step(
        kind="agent",
        role="oracle",
        template="hint.jinja",
        exits=("Answer",),
        gates={"Answer": gates("readonly")},
        routes={"Answer": to("@resume", charge="hints"), "!*": to("@resume")},
    )
    protocol = put(put(tree(), "graphs.node.handlers", "Hint", Handler(step="hint")), "graphs.node.steps", "hint", hint)
    protocol = put(protocol, "templates", "hint.jinja", "{{ spec.text }}")
    return put(protocol, "graphs.node.budgets", "hints", Budget(max=3, to="@resume", resets=resets))


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            put(bugfix(), "graphs.main.budgets", "spare", Budget(max=1, to="human")),
            ["idle_budget main: spare"],
            id="that_no_row_charges",
        ),
        pytest.param(
            _hints(("hint",)),
            ["idle_budget node: hints, hint"],
            id="that_is_refilled_where_it_is_charged",
        ),
        pytest.param(_hints(("plan",)), [], id="none_of_these"),
    ],
)
def test_an_idle_budget_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert faults_of(protocol) == expected


# Planted retries that cost nothing.


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            put(
                change(
                    bugfix(), "graphs.main.steps.fix", needs=needs("repro.Reproduced", "review.Rejected?", "fix.Stuck?")
                ),
                "graphs.main.steps.fix.routes",
                "Stuck.Lost",
                to("fix", fresh=True),
            ),
            [
                "unbounded_loop main",
                "unfit_template main.fix: fix.Stuck?",
                "uncharged_retry main.fix",
            ],
            id="a_fresh_start_without_a_budget",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.routes", "Fixed", to("review", fresh=True)),
            ["uncharged_retry main.fix"],
            id="a_fresh_start_elsewhere",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.routes", "Fixed", to("review", Tier())),
            ["uncharged_retry main.fix"],
            id="a_stronger_model_without_a_budget",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.merge.routes", "!crash", to("human", Tier(), charge="rounds")),
            ["uncharged_retry main.merge"],
            id="a_stronger_model_for_nobody",
        ),
        pytest.param(
            put(
                change(
                    bugfix(), "graphs.main.steps.fix", needs=needs("repro.Reproduced", "review.Rejected?", "fix.Stuck?")
                ),
                "graphs.main.steps.fix.routes",
                "Stuck.Lost",
                to("fix"),
            ),
            [
                "unfit_template main.fix: fix.Stuck?",
                "uncharged_retry main.fix",
            ],
            id="spent_attempts_that_lead_to_themselves",
        ),
    ],
)
def test_an_uncharged_retry_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert faults_of(protocol) == expected


# Planted fresh starts that are the old start again.


def _lost(*do: Action) -> Protocol:
    """A fixer who continues the conversation of who reproduced the bug, and starts over when lost."""
    protocol = change(
        bugfix(),
        "graphs.main.steps.fix",
        needs=needs("repro.Reproduced", "review.Rejected?", "fix.Stuck?"),
        thread=Thread(kind="resume", step="repro"),
    )
    return put(protocol, "graphs.main.steps.fix.routes", "Stuck.Lost", to("fix", *do, fresh=True, charge="rounds"))


@pytest.mark.parametrize(
    ("do", "expected"),
    [
        pytest.param(
            (),
            ["same_fresh_start main.fix"],
            id="as_before",
        ),
        pytest.param(
            (ResetThread(),),
            ["same_fresh_start main.fix: repro"],
            id="in_a_conversation_that_is_continued",
        ),
        pytest.param((ResetThread(), ResetThread(step="repro")), [], id="with_both_conversations_forgotten"),
        pytest.param((Tier(),), [], id="with_a_stronger_model"),
    ],
)
def test_a_fresh_start(do: tuple[Action, ...], expected: list[str]) -> None:
    assert faults_of(_lost(*do), 17) == expected


def test_a_retry_needs_more_than_one_attempt() -> None:
    rows = {"Passed": to("@end:Done"), "Failed": to("suite")}
    suite = change(batch(), "graphs.main.steps.suite", routes=rows)
    suite = change(suite, "graphs.main.steps.halt", needs=needs("cycles.SomeFailed?", "!*?"))
    assert faults_of(suite) == ["retry_without_attempts main.suite"]
    assert faults_of(change(suite, "graphs.main.steps.suite", attempts=3)) == []
