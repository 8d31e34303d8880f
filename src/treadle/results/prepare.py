"""Before an agent starts: what earlier sessions left must not be mistaken for its answer."""

import asyncio
from pathlib import Path
from typing import Final

import msgspec

from treadle.results import executor_result, handoff
from treadle.results.files import look, mark, remove, replace

FILE: Final = "before.json"
HANDED: Final = "handed-on.md"
"""The hand-over that the agent finds in its lane, kept in the activity's folder; it is not its own word."""


class Before(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the files that may become answers looked before the agent started: path → mark, empty if not there."""

    marks: dict[str, str] = {}

    def unchanged(self, lane: Path, file: str) -> bool:
        """Whether a file is still what it was."""
        return mark(lane, file) == self.marks.get(file, "")


async def prepare(lane: Path) -> Before:
    """Delete `.ai/executor-result` and note what the hand-overs are."""
    return await asyncio.to_thread(_prepare, lane)


def _prepare(lane: Path) -> Before:
    remove(lane, executor_result.FILE)
    return Before({file: mark(lane, file) for file in (executor_result.FILE, *handoff.FILES)})


async def keep(before: Before, home: Path) -> None:
    """Store it in the activity's folder."""
    await asyncio.to_thread(replace, home, FILE, msgspec.json.encode(before))


async def kept(home: Path) -> Before | None:
    """What was stored there; None if nothing was, or if it is damaged."""
    data = await asyncio.to_thread(look, home, FILE)
    try:
        return msgspec.json.decode(data, type=Before) if isinstance(data, bytes) else None
    except msgspec.DecodeError:
        return None
