"""The log of a run, one line for each event with its consequences."""

from typing import Final, Literal

import msgspec

from treadle.kernel.advance import OUTAGE
from treadle.kernel.commands import (
    AskHuman,
    Cancel,
    CancelTimer,
    Command,
    Done,
    Notify,
    Nudge,
    RunAgent,
    RunChecks,
    RunEffect,
    SetTimer,
)
from treadle.kernel.events import (
    Checked,
    Event,
    Exited,
    Failed,
    Idle,
    Reopened,
    Replied,
    RunStarted,
    SessionStarted,
    Signalled,
    TimerFired,
    Unavailable,
    Vouched,
)
from treadle.kernel.replay import Move
from treadle.kernel.state import State
from treadle.protocol.model import Protocol, find_step
from treadle.views.evidence_records import Get, codes, read_payload, read_value
from treadle.views.tree import OUTAGE_WORDS
from treadle.views.words import effect_words, failure_code, first_words, moment, plain, report_words

_FAILURES: Final = {
    "crash": "crashed",
    "invalid": "gave no valid answer",
    "blocked": "was not allowed to work",
    "store": "could not be recorded",
}


class IssuedCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A command that an event led to."""

    type: str
    id: str


class LoggedEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event of a run's log: `treadle log --json` prints one on each line."""

    schema: Literal[1] = 1
    run: str
    seq: int
    """Its number in the log, from 1."""
    time: str
    """ISO 8601, UTC."""
    type: str
    text: str
    """The event and its consequences, for people."""
    code: str = ""
    """The code of a failure or an outage; [Codes](codes.md) lists them. Empty for other events."""
    event: Event
    """The event itself, as it was recorded."""
    orders: tuple[IssuedCommand, ...]
    """The commands that followed, in order."""
    codes: tuple[str, ...] = ()
    """Of checks that failed: the kinds of problems that they found."""


def describe_move(move: Move, get: Get) -> LoggedEvent:
    """Describe an event with its reason, its codes, and its consequences."""
    event, why, code, kinds = move.event, "", "", tuple[str, ...]()
    match event:
        case Exited(channel="effect", envelope=envelope) if envelope.payload_ref:
            why = first_words(effect_words(read_payload(get, envelope.payload_ref)))
        case Failed(why=cause, detail_ref=ref):
            details = read_value(get, ref)
            why, code = first_words(report_words(details)), failure_code(cause, details)
        case Unavailable(why=cause, detail_ref=ref):
            why, code = first_words(report_words(read_value(get, ref))), f"outage.{cause}"
        case _:
            pass
    if isinstance(event, Checked | Exited):
        refs = [one.report_ref for one in event.results if not one.ok and not one.skipped]
        kinds = tuple(dict.fromkeys(kind for ref in refs for kind in codes(read_value(get, ref))))
    words = _event_words(move) + (f": {why}" if why else "") + (f" [{', '.join(kinds)}]" if kinds else "")
    followed = ", ".join(filter(None, (_command_words(command, move.protocol) for command in move.commands)))
    return LoggedEvent(
        run=move.state.run,
        seq=move.state.seq,
        time=moment(event.ts),
        type=type(event).__name__,
        text=f"{words} → {followed}" if followed else words,
        code=code,
        event=event,
        orders=tuple(IssuedCommand(type=type(command).__name__, id=command.id) for command in move.commands),
        codes=kinds,
    )


def event_line(one: LoggedEvent) -> str:
    """Format an event on one line."""
    code = f" [{one.code}]" if one.code else ""
    return f"{one.seq:5}  {one.time[:10]} {one.time[11:19]}  {one.text}{code}"


def _event_words(move: Move) -> str:
    actor = getattr(move.event, "actor", "")
    person = f"a person ({actor})" if actor else "a person"
    match event := move.event:
        case RunStarted():
            return "the run starts"
        case SessionStarted():
            anew = ", begun anew: this agent cannot branch off from another" if event.is_new else ""
            return f"{event.act} has a conversation that can be resumed{anew}"
        case Exited():
            if event.channel == "effect":
                return f"{event.act} ends with {event.envelope.key}"
            return f"{event.act} claims {event.envelope.key}" + (f" ({event.channel})" if event.channel else "")
        case Checked():
            return f"{event.act} is checked: {_check_results(event, move.before)}"
        case Failed():
            return f"{event.act} {_FAILURES[event.why]}"
        case Unavailable():
            return f"{event.act} is held up: {OUTAGE_WORDS[event.why]}"
        case TimerFired(timer=timer) if timer == OUTAGE:
            return "the wait for an agent's service is over"
        case TimerFired():
            return f"{event.timer} has timed out"
        case Idle():
            return f"{event.act} has been silent for {event.idle_s} s"
        case Replied():
            return f"{person} answers {event.ask}: {event.choice}"
        case Signalled():
            where = f"{event.inst}:{event.step}" if event.step else event.inst
            if event.name == "level":
                return f"{person} sets the run to level {event.item}"
            return f"{person} sends {event.name} to {where}{f' for {event.item}' if event.item else ''}"
        case Vouched():
            return f"{person} accepts the result, although some criteria are not verified"
        case Reopened():
            return f"{person} reopens the run, because its branch has moved"
    return f"the run moves to protocol {event.protocol[:19]}"


def _check_results(event: Checked, before: State) -> str:
    """Describe the results of checks: refusals first, then the notes of advisory checks."""
    asked = before.acts[event.act].checks if event.act in before.acts else ()
    advisory = [check for check in asked if check.advisory]
    failed = [result for result in event.results if not result.ok and not result.skipped]
    advice = [result for result in failed if any(result.is_of(check) for check in advisory)]
    refused = [result.check for result in failed if result not in advice]
    silent = [
        check.name for check in asked if not check.advisory and not any(result.is_of(check) for result in event.results)
    ]
    verdict = f"{', '.join(refused)} failed" if refused else f"{', '.join(silent)} did not run" if silent else ""
    noted = ", ".join(result.check for result in advice)
    return (verdict or "passed") + (f"; noted: {noted}" if noted else "")


def _command_words(command: Command, protocol: Protocol) -> str:
    match command:
        case RunAgent():
            again = f" again ({command.retry})" if command.retry else ""
            mode = f":{command.mode}" if command.mode else ""
            role = protocol.roles.get(command.role)
            # Named only if it is a stronger model than the role begins with.
            tier = role.models[min(command.tier, len(role.models) - 1)] if command.tier and role else ""
            return f"{command.id} starts{again} as {command.role}{mode}{f' on tier {tier}' if tier else ''}"
        case RunEffect():
            return f"{command.id} starts ({command.effect})"
        case RunChecks(exit=""):
            return f"{command.id} checks {' '.join(check.name for check in command.checks)}"
        case RunChecks():
            return f"checking {' '.join(check.name for check in command.checks) or 'the fields that Treadle computes'}"
        case AskHuman():
            step = find_step(protocol, command.graph, command.step)
            title = f" “{step.title}”" if step and step.title else ""
            return f"{command.id} asks{title}: {', '.join(command.choices)}"
        case Nudge():
            return f"{command.id} gets a reminder"
        case Cancel(why="answered"):
            return ""
        case Cancel():
            return f"{command.id} is stopped ({command.why})"
        case SetTimer(id=id_) if id_ == OUTAGE:
            return f"the run waits until {plain(moment(command.due))}"
        case Notify(what="outage"):
            return ""
        case Notify():
            return f"{command.inst}: {command.what}" + (f" ({command.detail})" if command.detail else "")
        case Done():
            return f"the run ends: {command.outcome}"
        case SetTimer() | CancelTimer():
            return ""
