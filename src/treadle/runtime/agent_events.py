"""What an agent's end is in the log: its claim, or why there is none."""

import re
from typing import Any, Final

import msgspec

from treadle.kernel.commands import RunAgent
from treadle.kernel.events import Exited, Failed, Outages, Unavailable, Usage
from treadle.kernel.state import State
from treadle.ports import Ended
from treadle.prompts.report import report
from treadle.protocol.answers.answer import Claim
from treadle.protocol.items import Json
from treadle.protocol.model import Protocol
from treadle.results.handoff import NOTES
from treadle.results.read import Reading, owed, unsaid
from treadle.results.ways import Ways
from treadle.runtime.budgets import Breach
from treadle.runtime.envelope import envelope_of
from treadle.runtime.own_fields import own_fields
from treadle.runtime.world import World, event_id

_SURROGATES: Final = re.compile("[\ud800-\udfff]")
"""What stands in a text for bytes that are none; no file or message can hold it."""
_REPLACED: Final = "\N{REPLACEMENT CHARACTER}"
_SHOWN: Final = 500
_OUTPUT: Final = 4000
_LONGEST_NAME: Final = 100


class Told(msgspec.Struct, frozen=True):
    """What an agent has told: how it ended, what was read of its answer, and how it could have answered."""

    job: RunAgent
    ended: Ended
    reading: Reading
    ways: Ways


def claim(told: Told, made: Claim, protocol: Protocol, state: State, world: World) -> Exited:
    """The answer, with the fields that are the orchestrator's own."""
    job = told.job
    own = own_fields(protocol, made.exit, job, state, world.payloads)
    return Exited(
        id=event_id(job, "exited"),
        ts=world.clock.now(),
        act=job.id,
        envelope=envelope_of(protocol, made.exit, {**_with_notes(told, made), **own}, world.payloads),
        channel=told.reading.channel,
        actor=world.agent_of(job) or _name(told.reading.by),
        usage=told.ended.usage,
    )


def _name(person: str) -> str:
    """A person's name on one line; it comes from a file that others may have written."""
    return "".join(char for char in person if char.isprintable())[:_LONGEST_NAME]


def failure(told: Told, changed: tuple[str, ...], world: World) -> Failed:
    """No claim: who was refused something is blocked; else the program is to blame if it broke, and the agent if it
    just did not answer properly.
    """
    job, ended, reading = told.job, told.ended, told.reading
    broke = ended.how != "done" or (bool(ended.code) and not reading.problems)
    is_blocked = bool(ended.refused) and ended.how != "lost"
    is_told = broke and bool(ended.detail)
    refused = [f"it was refused {what}" for what in ended.refused]
    agent, person = (
        "\n".join([*([] if is_told else _unanswered(reading, silence)), *_words(ended), *refused])
        for silence in (owed(told.ways), unsaid(told.ways))
    )
    detail: dict[str, Json] = {
        **report(agent, "\n".join([person, *_last_words(ended)])),
        **({NOTES: reading.notes} if reading.notes else {}),
        **({"files_changed": list(changed)} if changed else {}),
        "code": ended.code,
        "output": _written(ended.final[-_OUTPUT:]),
    }
    return Failed(
        id=event_id(job, "failed"),
        ts=world.clock.now(),
        act=job.id,
        why="blocked" if is_blocked else "crash" if broke else "invalid",
        detail_ref=world.payloads.put(detail),
        usage=ended.usage,
    )


def outage(told: Told, why: Outages, world: World) -> Unavailable:
    """The service that an agent needs is not to be had for now."""
    job, ended = told.job, told.ended
    return Unavailable(
        id=event_id(job, "unavailable"),
        ts=world.clock.now(),
        act=job.id,
        why=why,
        wait=ended.wait,
        grant=f"step:{job.id}" if why == "budget" else "",
        detail_ref=world.payloads.put({"report": _written(ended.detail)}),
        usage=ended.usage,
    )


def spent(job: RunAgent, breach: Breach, usage: Usage, world: World) -> Unavailable:
    """What it may use is used up."""
    return Unavailable(
        id=event_id(job, "unavailable"),
        ts=world.clock.now(),
        act=job.id,
        why="budget",
        grant=breach.grant,
        detail_ref=world.payloads.put({"report": breach.words}),
        usage=usage,
    )


def ignored(reading: Reading) -> list[str]:
    """What was there and did not count: an agent that thinks it has answered must learn that it has not."""
    return [f"an answer that was there does not count: {warning}" for warning in reading.warnings]


def _with_notes(told: Told, made: Claim) -> dict[str, Any]:
    """What an agent has claimed; what it has left to its successor beside that is part of it, if there is room."""
    notes = told.reading.notes
    has_room = notes and NOTES in told.ways.fields(made.exit) and not made.fields.get(NOTES)
    return {**made.fields, **({NOTES: notes} if has_room else {})}


def _words(ended: Ended) -> list[str]:
    return [ended.detail] if ended.detail else []


def _last_words(ended: Ended) -> list[str]:
    """What it said instead of an answer, for a person, where nothing else tells."""
    lines = [] if ended.detail else [line.strip() for line in ended.final.splitlines() if line.strip()]
    return [f"its last words: {_written(lines[-1][:_SHOWN])}"] if lines else []


def _unanswered(reading: Reading, silence: str) -> list[str]:
    """Why there is no claim; the first line is all that a line of the run has room for."""
    return [*reading.problems, *ignored(reading)] if reading.problems else [*ignored(reading), silence]


def _written(text: str) -> str:
    """A text that any file and message can hold."""
    return _SURROGATES.sub(_REPLACED, text)
