"""What an agent has answered. The channels are asked in order; the first that holds something counts.

A lower channel that contradicts is recorded, never obeyed; what belongs to another activity counts as absent.
"""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from typing import Literal

import msgspec

from treadle.ports import Work
from treadle.protocol.answers.answer import Claim
from treadle.results import emit, executor_result, final_message, handoff, notes
from treadle.results.faulty import Faulty, Stale
from treadle.results.fence import fence_of
from treadle.results.files import look, replace
from treadle.results.prepare import HANDED, Before
from treadle.results.ways import Ways

Channel = Literal["", "mcp", "emit", "executor-result", "handoff", "final", "legacy"]


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a session: a claim, or problems in words for the agent, or (no channel) no answer at all."""

    claim: Claim | None = None
    problems: tuple[str, ...] = ()
    channel: Channel = ""
    by: str = ""
    """The person who handed the claim in, as far as the answer names one."""
    warnings: tuple[str, ...] = ()
    """What was there and did not count, for the log."""
    notes: str = ""
    """What the agent left for its successor."""


Taken = tuple[Channel, Claim | Faulty]
Found = tuple[Channel, Claim | Faulty | Stale]


async def read(work: Work, ways: Ways, before: Before, final: str = "", *, legacy: bool = False) -> Reading:
    """Read an activity's answer; may be asked again, with the same result."""
    return await asyncio.to_thread(_read, work, ways, before, final, legacy)


async def take(work: Work) -> None:
    """Note that an activity's answer has been taken, so that a later one is refused instead of silently lost."""
    with suppress(OSError):  # a courtesy to the agent; that the claim is taken stands in the log
        await asyncio.to_thread(replace, work.home, f"{work.out.name}/{emit.TAKEN}", work.token.encode())


def owed(ways: Ways) -> str:
    """What to tell an agent that has not answered."""
    choices = " or ".join(ways.exits)
    return f"you have not said how this step ended; call emit_exit, or run `treadle emit FILE`: it ends with {choices}"


def unsaid(ways: Ways) -> str:
    """The same, for a person."""
    return f"the agent has not said how the step ended: with {' or '.join(ways.exits)}"


def _read(work: Work, ways: Ways, before: Before, final: str, legacy: bool) -> Reading:
    first: Taken | None = None
    warnings: list[str] = []
    emitted, by = _emitted(work, ways)
    for channel, found in [*emitted, *_channels(work, ways, before, final, legacy)]:
        if isinstance(found, Stale):
            warnings.append(f"{channel}: ignored: {found.why}")
        elif first is None:
            first = channel, found
        elif isinstance(found, Claim) and (against := _contradiction(first, found)):
            warnings.append(f"{channel}: {against}")
    channel, taken = first or ("", None)
    claim = taken if isinstance(taken, Claim) else None
    return Reading(
        claim=claim,
        problems=taken.problems if isinstance(taken, Faulty) else (),
        channel=channel,
        by=by,
        warnings=tuple(warnings),
        notes=_notes(work, before, ways, claim),
    )


def _channels(work: Work, ways: Ways, before: Before, final: str, legacy: bool) -> Iterator[Found]:
    if (data := _changed(work, before, executor_result.FILE, ways)) is not None:
        yield "executor-result", data if isinstance(data, Faulty) else executor_result.parse(data, ways)
    for file in handoff.FILES:
        if (data := _changed(work, before, file, ways)) is not None:
            held = data if isinstance(data, Faulty) else _handed_over(data, ways, work, file)
            if held is not None:
                yield "handoff", held
    if (said := final_message.parse(final, ways)) is not None:
        yield "final", said
    if legacy:
        yield from _grepped(work, ways, before)


def _handed_over(data: bytes, ways: Ways, work: Work, file: str) -> Claim | Faulty | Stale | None:
    return handoff.parse(data, ways, work.step, work.attempt, file, _inst(work))


def _inst(work: Work) -> str:
    return work.act.partition(":")[0]


def _emitted(work: Work, ways: Ways) -> tuple[list[Found], str]:
    """What lies in the file of the first channel, and the person who put it there."""
    data = look(work.home, f"{work.out.name}/{emit.FILE}", emit.FILE, ways.limit + emit.ENVELOPE)
    if data is None:
        return [], ""
    found = data if isinstance(data, Faulty) else emit.parse(data, ways, fence_of(work))
    if isinstance(found, tuple):
        claim, emitted = found
        return [(emitted.via, claim)], emitted.by
    return [("emit", found)], ""


def _grepped(work: Work, ways: Ways, before: Before) -> Iterator[Found]:
    for file in handoff.FILES:
        data = _changed(work, before, file, ways)
        found = handoff.parse_legacy(data, ways, file) if isinstance(data, bytes) else None
        if found is not None:
            yield "legacy", found


def _changed(work: Work, before: Before, file: str, ways: Ways) -> bytes | Faulty | None:
    return None if before.unchanged(work.lane, file) else look(work.lane, file, limit=ways.limit)


def _contradiction(first: Taken, other: Claim) -> str:
    channel, taken = first
    if isinstance(taken, Claim) and taken.key == other.key:
        return ""
    said = f"said {taken.key}" if isinstance(taken, Claim) else "holds an answer that cannot be taken"
    return f"says {other.key}, but {channel} {said} and counts"


def _notes(work: Work, before: Before, ways: Ways, claim: Claim | None) -> str:
    """The agent's own words: by its tool, in its claim, or as the body of the hand-over that it wrote."""
    by_tool = look(work.home, f"{work.out.name}/{notes.FILE}")
    if isinstance(by_tool, bytes) and by_tool:
        return by_tool.decode(errors="replace")[: notes.MAX_NOTES]
    if claim and isinstance(words := claim.fields.get(handoff.NOTES), str):
        return words[: notes.MAX_NOTES]
    for file in handoff.FILES:
        data = _changed(work, before, file, ways)
        if isinstance(data, bytes) and data and not handoff.is_foreign(data, _inst(work)):
            return _own_words(work, data)[: notes.MAX_NOTES]
    return ""


def _own_words(work: Work, data: bytes) -> str:
    """The body of a hand-over without what stood there before, if it was only added to."""
    body, found = handoff.split(data.decode(errors="replace")).body, look(work.home, HANDED)
    before = handoff.split(found.decode(errors="replace")).body if isinstance(found, bytes) else ""
    return body.removeprefix(before).strip() if before else body
