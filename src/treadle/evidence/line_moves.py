"""Which lines of a file are those that it had before, wherever they stand now."""

from difflib import SequenceMatcher
from typing import Final

_MOST: Final = 4_000_000
"""Pairs of lines that are compared; of larger changes all lines count as changed."""


def kept_lines(before: str, after: str) -> dict[int, int]:
    """Numbers of the lines that did not change, each with its number before."""
    old, new = before.split("\n"), after.split("\n")
    head = _common(old, new)
    tail = min(_common(old[::-1], new[::-1]), len(old) - head, len(new) - head)
    kept = {number: number for number in range(1, head + 1)}
    kept |= {len(new) - at: len(old) - at for at in range(tail)}
    middle_old, middle_new = old[head : len(old) - tail], new[head : len(new) - tail]
    if len(middle_old) * len(middle_new) <= _MOST:
        blocks = SequenceMatcher(None, middle_old, middle_new, autojunk=False).get_matching_blocks()
        kept |= {head + b + at + 1: head + a + at + 1 for a, b, size in blocks for at in range(size)}
    return kept


def _common(one: list[str], other: list[str]) -> int:
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def ranges(lines: set[int], among: set[int]) -> list[tuple[int, int]]:
    """Line numbers as ranges; what lies between two of them and is not one of `among` does not part them."""
    found: list[tuple[int, int]] = []
    is_open = False
    for line in sorted(among | lines):
        if line in lines:
            found[-1:] = [(found[-1][0], line)] if is_open else [*found[-1:], (line, line)]
        is_open = line in lines
    return found
