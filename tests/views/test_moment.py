import pytest

from treadle.views.words import duration, moment, seconds


def test_moments_are_in_utc() -> None:
    assert moment(1_700_000_000_123) == "2023-11-14T22:13:20.123Z"
    assert moment(0) == ""


def test_a_clock_that_was_set_back_gives_no_negative_times() -> None:
    assert seconds(2000, 1000) == 0
    assert seconds(1000, 2500) == 1.5
    assert seconds(0, 2500) == 0


@pytest.mark.parametrize(
    ("length", "text"),
    [(-1, "0 s"), (0.9, "0 s"), (61, "1 min 01 s"), (3600, "1 h 00 min"), (7_505, "2 h 05 min"), (90_000, "1 d 1 h")],
)
def test_durations_have_two_units(length: float, text: str) -> None:
    assert duration(length) == text
