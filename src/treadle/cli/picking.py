"""Finds what a person means by a word: its whole name, or as much of it as only one has."""

from collections.abc import Iterable

from treadle.errors import TreadleError
from treadle.protocol.findings import suggest


def pick(word: str, known: Iterable[str], what: str) -> str:
    """The one that is meant; an error that says which there are."""
    names = list(dict.fromkeys(known))
    if word in names:
        return word
    starts = [name for name in names if name.startswith(word)]
    found = starts or [name for name in names if word in name]
    if len(found) == 1 and word:
        return found[0]
    if word and found:
        raise TreadleError(f"'{word[:80]}' could be {some(found)}; give more of it", code="usage.ambiguous")
    hint = suggest(word, names) or (f"there are {some(names)}" if names else "there are none yet")
    raise TreadleError(f"there is no {what} '{word[:80]}'; {hint}", code="usage.unknown")


def some(names: list[str]) -> str:
    """The first of them, and how many more there are."""
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
