"""The exhaustive search finds planted faults by their shortest way."""

from tests.kernel.protocols import WORK_AND_REVIEW, agent, ask, graph, protocol, to
from tests.simulate.test_run import embrace, livelock, lonely_join
from treadle.protocol.model import Route
from treadle.simulate.explore import backwards, explore
from treadle.simulate.scope import Scope


def test_a_sound_protocol_is_searched_to_the_end() -> None:
    found = explore(WORK_AND_REVIEW, Scope(name="all", attempts=2))
    assert found.exhausted
    assert found.findings == ()
    assert found.outcomes == ("Done", "Failed")
    assert found.unvisited == ()
    assert found.edges > found.states > 5


def test_a_limit_is_said() -> None:
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


def test_two_that_wait_for_each_other_are_found() -> None:
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


def test_who_can_reach_an_end() -> None:
    assert list(backwards(4, [0, 1, 3], [1, 2, 3], [2])) == [1, 1, 1, 0]
