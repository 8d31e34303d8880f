"""What may be used before a person is asked, and how that is told."""

import pytest

from treadle.kernel.commands import RunAgent
from treadle.kernel.events import Usage
from treadle.kernel.state import State
from treadle.runtime.budgets import NO_BUDGETS, Allowance, Breach, Budgets

JOB = RunAgent(
    id="root:work#1.1", inst="root", graph="main", step="work", visit=1, attempt=1, inputs={}, due=0, role="worker",
    attempts=3,
)  # fmt: skip
DAY = 86_400_000
NOON = 20_000 * DAY + DAY // 2
"""On 2024-10-04."""


@pytest.mark.parametrize(
    ("allowance", "usage", "times", "words"),
    [
        (Allowance(), Usage(10**9, 10**9, 1e9), 1, ""),
        (Allowance(tokens=100), Usage(60, 39), 1, ""),
        (Allowance(tokens=100), Usage(60, 40), 1, "100 of 100 tokens"),
        (Allowance(tokens=100), Usage(60, 40), 2, ""),
        (Allowance(tokens=1000), Usage(1500, 500), 2, "2,000 of 2,000 tokens"),
        (Allowance(cost=2.5), Usage(1, 1, 2.49), 1, ""),
        (Allowance(cost=2.5), Usage(1, 1, 2.5), 1, "2.50 of 2.50 US dollars"),
        (Allowance(cost=2.5), Usage(9000, 1, 0.0, unpriced=9001), 1, ""),
        (Allowance(cost=1, tokens=10), Usage(9, 1, 0.0, unpriced=10), 1, "10 of 10 tokens"),
        (
            Allowance(cost=1),
            Usage(2000, 0, 1.5, unpriced=1500),
            1,
            "1.50 of 1.00 US dollars (1,500 tokens have no known price)",
        ),
    ],
)
def test_what_is_used_up(allowance: Allowance, usage: Usage, times: int, words: str) -> None:
    assert allowance.exceeded(usage, times) == words


def test_an_agent_may_use_what_one_may() -> None:
    budgets = Budgets(step=Allowance(tokens=100))
    assert budgets.of_step(JOB, Usage(99)) is None
    words = "root:work#1.1 has used 100 of 100 tokens that one agent may use"
    assert budgets.of_step(JOB, Usage(100)) == Breach("step:root:work#1.1", words)
    assert NO_BUDGETS.of_step(JOB, Usage(10**9)) is None


def test_a_day_begins_at_midnight() -> None:
    asked: list[int] = []

    def spent(since: int) -> Usage:
        asked.append(since)
        return Usage(200)

    words = "all runs together have used 200 of 100 tokens that they may use on 2024-10-04"
    budgets = Budgets(day=Allowance(tokens=100), spent=spent)
    assert budgets.of_day(State(), NOON) == Breach("day:2024-10-04", words)
    assert asked == [20_000 * DAY]


@pytest.mark.parametrize(
    ("grants", "breached"),
    [({}, True), ({"day:2024-10-04": 1}, True), ({"day:2024-10-04": 2}, False), ({"day:2024-10-03": 2}, True)],
)
def test_what_a_person_has_granted_holds_for_that_day(grants: dict[str, int], breached: bool) -> None:
    state = State()
    for name, count in grants.items():
        state = State(grants=state.grants.set(name, count))
    budgets = Budgets(day=Allowance(tokens=100), spent=lambda _: Usage(200))
    assert bool(budgets.of_day(state, NOON)) is breached


def test_nobody_adds_up_days_without_a_budget_for_them() -> None:
    assert Budgets(spent=lambda _: pytest.fail("nobody has asked")).of_day(State(), NOON) is None
