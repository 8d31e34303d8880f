"""What checks advise of work that was accepted: they refuse nothing, so a person has to hear of it."""

import shlex
from collections.abc import Iterator
from typing import Final

import msgspec

from treadle.prompts.foreign import cut
from treadle.views.counting import counted
from treadle.views.refusal import first_words

_LONGEST: Final = 160


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """What a check has to say about an activity that was accepted."""

    act: str
    check: str
    text: str
    """The first thing that it found."""
    codes: tuple[str, ...] = ()
    """The kinds of everything that it found."""


def told(run: str, found: tuple[Advice, ...]) -> Iterator[str]:
    """In a line: how much there is, where to read it, and how the first begins; nothing if there is none."""
    for first in found[:1]:
        count = counted(len(found), "piece of advice", "pieces of advice")
        words = f": {first.text}" if first.text else ""
        yield f"{count}, see `treadle evidence {shlex.quote(run)}`: {first.act}: {first.check}{words}"


def first_thing(report: str) -> str:
    """The first thing that a report has found, short."""
    return cut(first_words(report).removeprefix("- "), _LONGEST)
