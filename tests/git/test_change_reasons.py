"""Why names changed."""

import pytest

from treadle.git.change_reasons import reason_for

REASONS = {"shop.labels.label": "plurals", "money": "cents", "shop.money": "a package"}


@pytest.mark.parametrize(
    ("symbol", "reason"),
    [
        ("shop.labels.label", "plurals"),
        ("shop.money.the_money.money", "cents"),
        ("shop.money", "a package"),
        ("shop.funny", "otherwise"),
        ("xmoney", "otherwise"),
    ],
)
def test_the_nearest_name_counts(symbol: str, reason: str) -> None:
    assert reason_for(symbol, REASONS, "otherwise") == reason
