"""Status codes of DPTR, and which stories show them: a new code that no story shows is noticed."""

from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any, Final

from tests.end_to_end.ending import End
from treadle.protocol.load import load
from treadle.protocol.model import Protocol

ERRORS: Final = {"TO": "!timeout", "EX": "!crash", "ME": "!store"}
"""Codes that nobody says: how an activity was left."""
SHOWN: Final[dict[str, set[str]]] = {}
"""Code → the stories that show it."""


def codes_of(protocol: Protocol) -> set[str]:
    """Every status code that a protocol has: the symbols of its exits, and the errors."""
    symbols = [one for found in protocol.exits.values() for one in found.symbol.split("|") if one]
    return {one.removeprefix("→") for one in symbols} | ERRORS.keys()


def shows(*codes: str) -> Callable[[Callable[..., End]], Callable[..., None]]:
    """A story that takes a `place` and returns its end; every one of these codes must occur in it."""

    def wrapped(story: Callable[..., End]) -> Callable[..., None]:
        for code in codes:
            SHOWN.setdefault(code, set()).add(story.__name__)

        @wraps(story)
        def told(place: Path, **more: Any) -> None:
            end = story(place, **more)
            assert set(codes) <= set(_occurring(end)), f"{set(codes) - set(_occurring(end))} is missing:\n{end.told}"

        return told

    return wrapped


def _occurring(end: End) -> Iterator[str]:
    for line in end.course:
        exit_ = line.partition(" ")[2]
        yield exit_
        yield from (code for code, left in ERRORS.items() if left == exit_)
        if exit_ == "Reviewed":
            said = end.payload(line.partition(" ")[0])
            yield from (str(said[axis]) for axis in ("validation", "quality") if said[axis])


DPTR: Final = codes_of(load("dptr"))
