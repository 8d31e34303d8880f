"""What may be used before a person is asked, and how that is told."""

import pytest

from treadle.kernel.commands import RunAgent
from treadle.kernel.events import Usage
from treadle.kernel.state import State
from treadle.ports import Ended
from treadle.runtime.world import NO_BUDGETS, Breach, BudgetAllowance, Budgets, Meter, Prices, with_prices

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
        (BudgetAllowance(), Usage(10**9, 10**9, 1e9), 1, ""),
        (BudgetAllowance(tokens=100), Usage(60, 39), 1, ""),
        (BudgetAllowance(tokens=100), Usage(60, 40), 1, "100 of 100 tokens"),
        (BudgetAllowance(tokens=100), Usage(60, 40), 2, ""),
        (BudgetAllowance(tokens=1000), Usage(1500, 500), 2, "2,000 of 2,000 tokens"),
        (BudgetAllowance(cost=2.5), Usage(1, 1, 2.49), 1, ""),
        (BudgetAllowance(cost=2.5), Usage(1, 1, 2.5), 1, "2.50 of 2.50 US dollars"),
        (BudgetAllowance(cost=2.5), Usage(9000, 1, 0.0, unpriced=9001), 1, ""),
        (BudgetAllowance(cost=1, tokens=10), Usage(9, 1, 0.0, unpriced=10), 1, "10 of 10 tokens"),
        (
            BudgetAllowance(cost=1),
            Usage(2000, 0, 1.5, unpriced=1500),
            1,
            "1.50 of 1.00 US dollars (1,500 tokens have no known price)",
        ),
    ],
)
def test_an_exceeded_allowance_is_described(allowance: BudgetAllowance, usage: Usage, times: int, words: str) -> None:
    assert allowance.exceeded(usage, times) == words


def test_the_budget_of_a_step_limits_one_agent() -> None:
    budgets = Budgets(step=BudgetAllowance(tokens=100))
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
    budgets = Budgets(day=BudgetAllowance(tokens=100), spent=spent)
    assert budgets.of_day(State(), NOON) == Breach("day:2024-10-04", words)
    assert asked == [20_000 * DAY]


@pytest.mark.parametrize(
    ("grants", "breached"),
    [({}, True), ({"day:2024-10-04": 1}, True), ({"day:2024-10-04": 2}, False), ({"day:2024-10-03": 2}, True)],
)
def test_a_persons_grant_holds_for_its_day(grants: dict[str, int], breached: bool) -> None:
    state = State()
    for name, count in grants.items():
        state = State(grants=state.grants.set(name, count))
    budgets = Budgets(day=BudgetAllowance(tokens=100), spent=lambda _: Usage(200))
    assert bool(budgets.of_day(state, NOON)) is breached


def test_without_a_daily_budget_no_usage_is_added_up() -> None:
    assert Budgets(spent=lambda _: pytest.fail("nobody has asked")).of_day(State(), NOON) is None


# What tokens cost that nobody has told a price of: what the user's settings say, or nobody knows.

MILLION = 1_000_000


@pytest.mark.parametrize(
    ("usage", "prices", "known"),
    [
        (Usage(MILLION, MILLION, unpriced=2 * MILLION), (), Usage(MILLION, MILLION, unpriced=2 * MILLION)),
        (Usage(MILLION, MILLION, unpriced=2 * MILLION), (2, 10), Usage(MILLION, MILLION, 12.0)),
        (Usage(MILLION, 0, cached=MILLION // 2, unpriced=MILLION), (2, 10, 1), Usage(MILLION, 0, 1.5, MILLION // 2)),
        (Usage(MILLION, 0, cached=MILLION // 2, unpriced=MILLION), (2, 10), Usage(MILLION, 0, 2.0, MILLION // 2)),
        (Usage(MILLION, MILLION, 3.0), (2, 10), Usage(MILLION, MILLION, 3.0)),
        (Usage(MILLION, MILLION, 3.0, unpriced=MILLION), (2, 10), Usage(MILLION, MILLION, 9.0)),
        (Usage(unpriced=5), (2, 10), Usage(unpriced=5)),
    ],
)
def test_only_unpriced_tokens_get_a_price(usage: Usage, prices: Prices, known: Usage) -> None:
    assert with_prices(usage, prices) == known


def test_configured_prices_let_a_cost_limit_stop_an_unpriced_agent() -> None:
    budgets = Budgets(step=BudgetAllowance(cost=1.0))
    silent, told = (Meter(budgets, JOB, Usage(cost=0.5), prices) for prices in ((), (2.0, 10.0)))
    for meter in (silent, told):
        meter.count(Usage(MILLION // 4, 0, unpriced=MILLION // 4))
    assert silent.breach is None
    assert told.breach
    assert [text for text in ("root:work#1.1 ", "1.00 of 1.00 US dollars") if text not in told.breach.words] == []
    ended = Ended(how="done", usage=Usage(MILLION, 0, unpriced=MILLION))
    assert told.total(ended) == Usage(MILLION, 0, 2.5)
    assert told.total(Ended(how="lost")) == Usage(MILLION // 4, 0, 1.0)
