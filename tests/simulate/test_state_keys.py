"""Two states with the same key have the same future: random walks that meet a key again must find the same exits."""

from random import Random

import pytest

from tests.kernel.protocols import agent, ask, graph, protocol, to
from treadle.kernel.events import RunStarted
from treadle.kernel.reduce import reduce
from treadle.kernel.state import State
from treadle.protocol.load import load
from treadle.protocol.model import Budget, Graph, Protocol, Route
from treadle.simulate.options import Options
from treadle.simulate.scope import Scope, clip
from treadle.simulate.state_keys import Canon, relevance

WALKS = [
    ("v3", Scope(attempts=2, items={"childSpecs": (None, 1, 2)}, faults=("!crash", "!gate"))),
    ("v3", Scope(budgets=2, items={"childSpecs": (2,)}, signals=("pause", "abort"), faults=("!gate",))),
    ("fractal", Scope(attempts=2, items={"childSpecs": (2,)}, signals=("SemanticCritique",), faults=("!gate",))),
    ("dptr", Scope(graph="batch", budgets=2, items={"cycles": (3,)}, values={"parallel": (2,)}, atomic=False)),
    ("riper", Scope(items={"cycles": (0, 2)}, signals=("go",))),
    ("waterfall", Scope(graph="story", items={"backend": (None, 1), "frontend": (1,)}, widths=(0,))),
]


class Walker:
    """Walks at random, and remembers for every key which keys may follow it."""

    def __init__(self, protocol: Protocol, scope: Scope, seed: int) -> None:
        self.protocol = clip(protocol, scope)
        self.canon = Canon(self.protocol, scope)
        self.options = Options(self.protocol, scope, self.canon.relevance)
        self.random = Random(seed)
        self.follow: dict[bytes, set[bytes]] = {}
        self.met_again = 0

    def key(self, state: State) -> bytes:
        return self.canon.key(state, self.canon.parts(state, {}))

    def walk(self, steps: int) -> None:
        item = self.random.choice(self.options.menu.inputs())
        state, _ = reduce(self.protocol, State(), RunStarted(id="", ts=0, run="r", protocol="", input=item))
        for _ in range(steps):
            after = self.successors(state)
            found = {self.key(other) for other in after}
            known = self.follow.setdefault(self.key(state), found)
            self.met_again += known is not found
            assert known == found
            alive = [other for other in after if not other.outcome]
            if not alive:
                return
            state = self.random.choice(alive)

    def successors(self, state: State) -> list[State]:
        found = []
        for event, then in self.options.moves(state):
            after, _ = reduce(self.protocol, state, event)
            found += [reduce(self.protocol, after, verdict)[0] for verdict in then] if then else [after]
        return found


@pytest.mark.parametrize(("name", "scope"), WALKS)
def test_equal_keys_have_equal_futures(name: str, scope: Scope) -> None:
    walker = Walker(load(name), scope, seed=1)
    for _ in range(25):
        walker.walk(60)
    assert walker.met_again > 50


# What still matters at a step, and what does not any more.


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


def test_a_variable_that_no_guard_compares_is_not_live() -> None:
    assert "round" in live(LOOP, "human")
    assert "noise" not in live(LOOP, "work")


def test_a_last_exit_is_dead_where_its_step_comes_first() -> None:
    assert "last.plan" in live(LOOP, "review")
    assert "last.plan" not in live(LOOP, "plan")


def test_numbers_and_names_that_guards_know() -> None:
    found = relevance(protocol(LOOP), LOOP)
    assert found.bounds == {"round": (2, 4)}
    assert found.last_exits == {"plan": frozenset({"Plan"})}


def test_all_exits_of_a_step_matter_if_a_guard_compares_it_with_another() -> None:
    rows = (Route(to="@end:Done", when="last.plan == last.work"), Route(to="plan"))
    table = graph({"plan": agent({"Ready": to("work")}), "work": agent({"Ready": rows})})
    assert relevance(protocol(table), table).last_exits == {}
