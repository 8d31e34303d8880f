"""The channels of an answer: prepared before an agent starts, read in order after it ends.

The first channel with content counts. A contradiction from a lower channel is recorded, never obeyed; an answer for
another activity counts as absent.
"""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal

import msgspec

from treadle.ports import Work
from treadle.protocol.answers.claim import Claim
from treadle.results import emit, executor_result, final_message, handoff
from treadle.results.exits import StepExits
from treadle.results.intake import Faulty, Stale, file_mark, read_file, remove_file, replace_file

BEFORE_FILE: Final = "before.json"
HANDED_ON_FILE: Final = "handed-on.md"
"""A copy of the hand-over that the agent finds in its lane; it is not the agent's own answer."""


class Before(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The files that may become answers, before the agent starts: path → mark, empty if the file is absent."""

    marks: dict[str, str] = {}

    def unchanged(self, lane: Path, file: str) -> bool:
        """Whether a file is the same as before the session."""
        return file_mark(lane, file) == self.marks.get(file, "")


async def prepare_lane(lane: Path) -> Before:
    """Delete `.ai/executor-result` and record the hand-over files as they are."""

    def prepare() -> Before:
        remove_file(lane, executor_result.FILE)
        return Before({file: file_mark(lane, file) for file in (executor_result.FILE, *handoff.FILES)})

    return await asyncio.to_thread(prepare)


async def save_before(before: Before, home: Path) -> None:
    """Store the record in the activity's folder."""
    await asyncio.to_thread(replace_file, home, BEFORE_FILE, msgspec.json.encode(before))


async def load_before(home: Path) -> Before | None:
    """Load the record stored by `save_before`; None if it is missing or damaged."""
    data = await asyncio.to_thread(read_file, home, BEFORE_FILE)
    try:
        return msgspec.json.decode(data, type=Before) if isinstance(data, bytes) else None
    except msgspec.DecodeError:
        return None


# Read an agent's answer.

Channel = emit.Via | Literal[""]
"""Empty: there is no answer."""


class SessionAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of a session: a claim, or problems to report to the agent, or (empty channel) no answer at all."""

    claim: Claim | None = None
    problems: tuple[str, ...] = ()
    channel: Channel = ""
    by: str = ""
    """The person handing in the claim, if the answer names one."""
    warnings: tuple[str, ...] = ()
    """Answers that did not count, for the log."""
    notes: str = ""
    """The agent's notes for its successor."""


ChannelAnswer = tuple[Channel, Claim | Faulty | Stale]


async def read_answer(
    work: Work, step_exits: StepExits, before: Before, final: str = "", *, legacy: bool = False
) -> SessionAnswer:
    """Read an activity's answer; repeated calls give the same result."""
    return await asyncio.to_thread(_read, work, step_exits, before, final, legacy)


async def mark_taken(work: Work) -> None:
    """Mark an activity's answer as collected, so that a later answer is refused instead of silently lost."""
    with suppress(OSError):  # only a courtesy to the agent: the log records the claim
        await asyncio.to_thread(replace_file, work.home, f"{work.out.name}/{emit.TAKEN}", work.token.encode())


def missing_answer_hint(step_exits: StepExits) -> str:
    """Return the hint for an agent that has not answered."""
    choices = " or ".join(step_exits.exits)
    return f"you have not handed in an exit: call emit_exit, or run `treadle emit FILE`, with {choices}"


def missing_answer_reason(step_exits: StepExits) -> str:
    """Return the reason for people that an agent has not answered."""
    return f"the agent handed in no exit; the step expects {' or '.join(step_exits.exits)}"


def _read(work: Work, step_exits: StepExits, before: Before, final: str, legacy: bool) -> SessionAnswer:
    channel: Channel = ""
    taken: Claim | Faulty | None = None
    warnings: list[str] = []
    emitted, by = _emitted(work, step_exits)
    for other, found in [*emitted, *_channels(work, step_exits, before, final, legacy)]:
        if isinstance(found, Stale):
            warnings.append(f"{other}: ignored: {found.why}")
        elif taken is None:
            channel, taken = other, found
        elif isinstance(found, Claim) and not (isinstance(taken, Claim) and taken.key == found.key):
            counts = taken.key if isinstance(taken, Claim) else "it is invalid"
            warnings.append(
                f"{other}: answers {found.key}, which is ignored; the answer by {channel} counts ({counts})"
            )
    claim = taken if isinstance(taken, Claim) else None
    return SessionAnswer(
        claim=claim,
        problems=taken.problems if isinstance(taken, Faulty) else (),
        channel=channel,
        by=by,
        warnings=tuple(warnings),
        notes=_notes(work, before, step_exits, claim),
    )


def _emitted(work: Work, step_exits: StepExits) -> tuple[list[ChannelAnswer], str]:
    """Read the answer file of the first channel; also return the person handing it in."""
    data = read_file(work.home, f"{work.out.name}/{emit.FILE}", emit.FILE, step_exits.limit + emit.ENVELOPE)
    if data is None:
        return [], ""
    found = data if isinstance(data, Faulty) else emit.parse(data, step_exits, work)
    if isinstance(found, tuple):
        claim, emitted = found
        return [(emitted.via, claim)], emitted.by
    return [("emit", found)], ""


def _channels(work: Work, step_exits: StepExits, before: Before, final: str, legacy: bool) -> Iterator[ChannelAnswer]:
    if (data := _changed(work, before, executor_result.FILE, step_exits)) is not None:
        yield "executor-result", data if isinstance(data, Faulty) else executor_result.parse(data, step_exits)
    handovers = {file: data for file in handoff.FILES if (data := _changed(work, before, file, step_exits)) is not None}
    for file, data in handovers.items():
        if isinstance(data, Faulty):
            yield "handoff", data
        elif (answer := handoff.parse(data, step_exits, work.step, work.attempt, file, _inst(work))) is not None:
            yield "handoff", answer
    if (last := final_message.parse(final, step_exits)) is not None:
        yield "final", last
    for file, data in handovers.items() if legacy else ():
        old = handoff.parse_legacy(data, step_exits, file) if isinstance(data, bytes) else None
        if old is not None:
            yield "legacy", old


def _notes(work: Work, before: Before, step_exits: StepExits, claim: Claim | None) -> str:
    """Return the agent's notes: by its tool, in its claim, or in the body of the hand-over that it wrote."""
    by_tool = read_file(work.home, f"{work.out.name}/{emit.NOTES_FILE}")
    if isinstance(by_tool, bytes) and by_tool:
        return by_tool.decode(errors="replace")[: emit.MAX_NOTES]
    if claim and isinstance(words := claim.fields.get(handoff.NOTES), str):
        return words[: emit.MAX_NOTES]
    for file in handoff.FILES:
        data = _changed(work, before, file, step_exits)
        if isinstance(data, bytes) and data and not handoff.is_foreign(data, _inst(work)):
            body = handoff.split(data.decode(errors="replace")).body
            # An agent may only append to the text that it found in its lane; then the new part is its own.
            found = read_file(work.home, HANDED_ON_FILE)
            earlier = handoff.split(found.decode(errors="replace")).body if isinstance(found, bytes) else ""
            return (body.removeprefix(earlier).strip() if earlier else body)[: emit.MAX_NOTES]
    return ""


def _changed(work: Work, before: Before, file: str, step_exits: StepExits) -> bytes | Faulty | None:
    return None if before.unchanged(work.lane, file) else read_file(work.lane, file, limit=step_exits.limit)


def _inst(work: Work) -> str:
    return work.act.partition(":")[0]
