"""Components and cycles, held against plain reachability."""

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from treadle.protocol.checks.components import components, shortest_cycle


class Arrow(NamedTuple):
    source: str
    goal: str


NAMES = "abcdef"
ARROWS = st.lists(st.builds(Arrow, st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=14)


def _reached(start: str, arrows: list[Arrow]) -> set[str]:
    found = {arrow.goal for arrow in arrows if arrow.source == start}
    for _ in NAMES:
        found |= {arrow.goal for arrow in arrows if arrow.source in found}
    return found


@given(ARROWS)
def test_two_names_are_together_if_each_reaches_the_other(arrows: list[Arrow]) -> None:
    parts = components(NAMES, arrows)
    assert sorted(name for part in parts for name in part) == sorted(NAMES)
    together = {(a, b) for part in parts for a in part for b in part if a != b}
    mutual = {(a, b) for a in NAMES for b in NAMES if a != b and b in _reached(a, arrows) and a in _reached(b, arrows)}
    assert together == mutual


@given(ARROWS)
def test_a_shortest_cycle_closes_and_none_is_shorter(arrows: list[Arrow]) -> None:
    cycle = shortest_cycle(arrows)
    assert bool(cycle) == any(name in _reached(name, arrows) for name in NAMES)
    for arrow, following in zip(cycle, [*cycle[1:], *cycle[:1]], strict=True):
        assert arrow in arrows
        assert arrow.goal == following.source
    assert len({arrow.source for arrow in cycle}) == len(cycle)
    if any(arrow.source == arrow.goal for arrow in arrows):
        assert len(cycle) == 1
