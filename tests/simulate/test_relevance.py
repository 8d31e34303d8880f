"""What still matters at a step, and what does not any more."""

from tests.kernel.protocols import agent, ask, graph, protocol, to
from treadle.protocol.model import Budget, Graph, Route
from treadle.simulate.relevance import relevance

LOOP = graph(
    {
        "plan": agent({"Plan": to("work")}),
        "work": agent({"Ready": to("review", sets={"round": "round + 1", "noise": "noise + 1"})}),
        "review": agent(
            {
                "Good": (Route(to="@end:Done", when="round >= 3 or last.plan == 'Plan'"), Route(to="work")),
                "More": to("work", charge="reviews", over="human"),
            }
        ),
        "human": ask(replan="plan", stop="@end:Failed"),
    },
    budgets={"reviews": Budget(max=2, to="human", resets=("plan",))},
    vars={"round": 0, "noise": 0},
)


def live(table: Graph, step: str) -> set[str]:
    return set(relevance(protocol(table), table).live[step])


def test_a_budget_is_dead_where_it_will_be_refilled_first() -> None:
    assert "spent.reviews" in live(LOOP, "work")
    assert "spent.reviews" not in live(LOOP, "human")


def test_a_variable_that_nobody_compares_is_read_only_by_itself() -> None:
    assert "round" in live(LOOP, "human")
    assert "noise" not in live(LOOP, "work")


def test_a_last_exit_is_dead_where_its_step_comes_first() -> None:
    assert "last.plan" in live(LOOP, "review")
    assert "last.plan" not in live(LOOP, "plan")


def test_numbers_and_names_that_guards_know() -> None:
    found = relevance(protocol(LOOP), LOOP)
    assert found.bounds == {"round": (2, 4)}
    assert found.told == {"plan": frozenset({"Plan"})}


def test_an_exit_that_guards_compare_with_another_is_told_from_all() -> None:
    rows = (Route(to="@end:Done", when="last.plan == last.work"), Route(to="plan"))
    table = graph({"plan": agent({"Ready": to("work")}), "work": agent({"Ready": rows})})
    assert relevance(protocol(table), table).told == {}
