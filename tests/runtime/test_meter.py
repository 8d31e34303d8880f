"""What tokens cost that nobody has told a price of: what the user's settings say, or nobody knows."""

import pytest

from treadle.kernel.events import Usage
from treadle.ports import Ended
from treadle.runtime.budgets import Allowance, Budgets
from treadle.runtime.meter import Meter, Prices, priced

from .test_budgets import JOB

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
def test_only_what_has_no_price_gets_one(usage: Usage, prices: Prices, known: Usage) -> None:
    assert priced(usage, prices) == known


def test_with_prices_a_limit_in_money_stops_an_agent_that_tells_none() -> None:
    budgets = Budgets(step=Allowance(cost=1.0))
    silent, told = (Meter(budgets, JOB, Usage(cost=0.5), prices) for prices in ((), (2.0, 10.0)))
    for meter in (silent, told):
        meter.count(Usage(MILLION // 4, 0, unpriced=MILLION // 4))
    assert silent.breach is None
    assert told.breach
    assert told.breach.words == "root:work#1.1 has used 1.00 of 1.00 US dollars that one agent may use"
    ended = Ended(how="done", usage=Usage(MILLION, 0, unpriced=MILLION))
    assert told.total(ended) == Usage(MILLION, 0, 2.5)
    assert told.total(Ended(how="lost")) == Usage(MILLION // 4, 0, 1.0)
