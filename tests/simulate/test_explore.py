"""The exhaustive search finds planted faults by their shortest way."""

import pytest

from tests.kernel.protocols import TREE, WORK_AND_REVIEW, agent, ask, graph, protocol, to
from tests.simulate.test_run import embrace, livelock, lonely_join
from treadle.kernel.events import Envelope, Event, Exited, Idle, Replied, Signalled
from treadle.protocol.model import Route
from treadle.simulate.explore import BudgetExtremes, backwards, explore
from treadle.simulate.scope import Scope
from treadle.testing.scenario import Scenario, items


def test_a_sound_protocol_is_searched_to_the_end() -> None:
    found = explore(WORK_AND_REVIEW, Scope(name="all", attempts=2))
    assert found.exhausted
    assert found.findings == ()
    assert found.outcomes == ("Done", "Failed")
    assert found.unvisited == ()
    assert found.edges > found.states > 5


def test_a_search_over_its_limit_is_not_exhausted() -> None:
    found = explore(WORK_AND_REVIEW, Scope(name="cut", attempts=2), limit_states=3)
    assert not found.exhausted


def test_a_time_limit_needs_a_clock() -> None:
    ticks = iter(range(1000))
    found = explore(WORK_AND_REVIEW, Scope(), limit_seconds=2, clock=lambda: float(next(ticks)))
    assert not found.exhausted


def test_the_shortest_way_to_a_deadlock() -> None:
    found = explore(lonely_join(), Scope(name="join", faults=()))
    assert found.exhausted
    assert found.deadlocks
    trace = found.deadlocks[0].trace
    assert len(trace) == 3
    assert "Plan" in trace[1]
    assert "No" in trace[2]


def test_two_that_wait_for_each_other_are_a_deadlock() -> None:
    found = explore(embrace(), Scope(name="embrace", faults=()))
    assert found.deadlocks[0].trace == (
        "the run starts",
        "root:plan#1.1 exits Plan (parts=[a])",
        "root/a:work#1.1 exits Ok",
    )


def test_a_circle_without_an_end_is_a_dead_end() -> None:
    found = explore(livelock(), Scope(name="circle"))
    assert found.exhausted
    assert found.dead_ends
    assert found.outcomes == ()


def test_a_table_without_a_row_is_a_fault() -> None:
    guarded = protocol(graph({"work": agent({"Ready": (Route(to="@end:Done", when="attempt > 5"),)})}))
    found = explore(guarded, Scope(name="guarded", faults=()))
    assert any("no row for Ready" in fault.what for fault in found.faults)


def test_menus_and_signals_shape_the_search() -> None:
    steps = {"work": agent({"Ready": to("@end:Done"), "Stuck": to("human")}), "human": ask(stop="@end:Failed")}
    table = protocol(graph(steps))
    quiet = explore(table, Scope(name="quiet", menus={"work": ("Ready",)}, faults=()))
    assert quiet.outcomes == ("Done",)
    assert quiet.unvisited == ("main.human",)
    aborted = explore(table, Scope(name="aborted", signals=("abort",), faults=()))
    assert aborted.outcomes == ("Aborted", "Done", "Failed")


def test_budgets_that_may_be_spent_or_not_are_fewer_states_and_no_fewer_ends() -> None:
    exact = explore(WORK_AND_REVIEW, Scope(name="exact", budgets=2))
    loose = explore(WORK_AND_REVIEW, Scope(name="loose", budgets=None))
    assert loose.states < exact.states
    assert set(loose.outcomes) >= set(exact.outcomes)
    assert loose.findings == ()


def test_backwards_marks_the_states_that_reach_an_end() -> None:
    assert list(backwards(4, [0, 1, 3], [1, 2, 3], [2])) == [1, 1, 1, 0]


# Budgets that may be spent or not: which moves make that a question, and what the two answers are.


def test_a_state_has_two_extremes() -> None:
    allowance = BudgetExtremes(WORK_AND_REVIEW)
    run = Scenario(WORK_AND_REVIEW).says("Ready").says("More")
    assert run.inst().spent == {"reviews": 1}
    assert allowance.fresh(run.state).insts["root"].spent == {}
    assert allowance.spent(run.state).insts["root"].spent == {"reviews": 2}
    assert run.inst().spent == {"reviews": 1}


def test_an_ended_run_has_no_budgets() -> None:
    run = Scenario(WORK_AND_REVIEW).signals("abort")
    allowance = BudgetExtremes(WORK_AND_REVIEW)
    assert allowance.fresh(run.state) is allowance.spent(run.state) is run.state


@pytest.mark.parametrize(
    ("event", "matters"),
    [
        (Exited(id="", ts=0, act="root/a:work#1.1", envelope=Envelope("Worked")), True),
        (Replied(id="", ts=0, ask="root/b:clarify#1.1", choice="Answer"), True),
        (Signalled(id="", ts=0, inst="root/a", name="abort"), True),
        (Signalled(id="", ts=0, inst="root/a", name="Shift"), False),
        (Exited(id="", ts=0, act="root/z:work#1.1", envelope=Envelope("Worked")), False),
        (Idle(id="", ts=0, act="root/a:work#1.1", idle_s=60), False),
    ],
)
def test_only_events_that_can_charge_a_budget_matter(event: Event, matters: bool) -> None:
    run = Scenario(TREE).says("Plan", parts=items("a", "b"))
    run.says("Plan", at="root/a:plan").says("Ask", at="root/b:plan")
    assert BudgetExtremes(TREE).matters(run.state, event) is matters
