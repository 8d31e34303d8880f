"""Shorter histories that still fail."""

from hypothesis import given
from hypothesis import strategies as st

from treadle.simulate.shrink import shrink


@given(st.lists(st.integers(0, 9), max_size=40), st.sets(st.integers(0, 9), max_size=3))
def test_what_matters_is_left_in_its_order(history: list[int], needed: set[int]) -> None:
    def fails(some: list[int]) -> bool:
        return needed <= set(some)

    if not fails(history) or not needed:
        return
    short = shrink(history, fails, tries=1000)
    assert sorted(short) == sorted(needed)
    places = iter(history)
    assert all(any(one == other for other in places) for one in short)


def test_effort_is_limited() -> None:
    calls: list[int] = []

    def fails(some: list[int]) -> bool:
        calls.append(len(some))
        return False

    assert shrink(list(range(100)), fails, tries=5) == list(range(100))
    assert len(calls) == 5
