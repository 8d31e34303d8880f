"""Work that lies in a person's hands: somebody is the agent, and nothing hurries them."""

import shlex
from collections.abc import Iterator

import msgspec

from treadle.prompts.done import done_command


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """An exit by which you can end it, and the fields that you give with it."""

    exit: str
    fields: tuple[str, ...]
    optional: tuple[str, ...]
    """Fields that may be left out."""


class Yours(msgspec.Struct, frozen=True, kw_only=True):
    """A step whose agent you are."""

    id: str
    instance: str
    step: str
    attempt: int
    prompt: str
    """The file that says what is to be done."""
    lane: str
    """The folder to do it in."""
    exits: tuple[Way, ...]


def told(run: str, work: Yours, *, alone: bool = True) -> Iterator[str]:
    """What to do, line by line; `alone`: nothing else of the run is yours."""
    yield f"{work.step} of {work.instance} is yours: read {work.prompt},"
    yield f"  work in {work.lane}, then hand it in:"
    yield from ways_out(run, work, alone=alone)


def ways_out(run: str, work: Yours, *, alone: bool) -> Iterator[str]:
    """The exact commands that print what is to be done and hand it in; what stands in brackets may be left out."""
    yield f"  treadle show {shlex.quote(run)} {shlex.quote(work.id)} --prompt"
    for way in work.exits:
        yield f"  {done_command(run, way.exit, way.fields, way.optional, '' if alone else work.id)}"
