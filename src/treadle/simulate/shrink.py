"""Make a failing history shorter while it still fails in the same way."""

from collections.abc import Callable, Sequence
from typing import TypeVar

_T = TypeVar("_T")


def shrink(history: Sequence[_T], fails: Callable[[list[_T]], bool], tries: int) -> list[_T]:
    """Leave out ever smaller pieces, as long as what remains still fails (delta debugging)."""
    best = list(history)
    size = max(len(best) // 2, 1)
    while tries > 0:
        at = 0
        before = len(best)
        while at < len(best) and tries > 0:
            shorter = best[:at] + best[at + size :]
            tries -= 1
            if shorter and fails(shorter):
                best = shorter
            else:
                at += size
        if size == 1 and len(best) == before:
            break
        size = max(size // 2, 1)
    return best
