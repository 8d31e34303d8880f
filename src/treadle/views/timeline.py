"""The log of a run, one line for each event: what happened, and what followed from it."""

from collections.abc import Sequence
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
from treadle.protocol.model import Protocol
from treadle.views.evidence_records import Find, anything, codes, payload
from treadle.views.moment import moment, plain
from treadle.views.outage import WORDS
from treadle.views.refusal import first_words, words_of, words_of_effect

_FAILURES: Final = {
    "crash": "broke",
    "invalid": "gave no valid answer",
    "blocked": "was not allowed to work",
    "store": "could not be recorded",
}


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """A command that an event led to."""

    type: str
    id: str


class Happened(msgspec.Struct, frozen=True, kw_only=True):
    """One event of a run's log: `treadle log --json` prints one on each line."""

    schema: Literal[1] = 1
    run: str
    seq: int
    """Its number in the log, from 1."""
    time: str
    """ISO 8601, UTC."""
    type: str
    text: str
    """What happened and what followed, for people."""
    code: str = ""
    """What broke or is out of reach; [Codes](codes.md) lists them. Empty for everything else."""
    event: Event
    """The event itself, as it was recorded."""
    orders: tuple[Order, ...]
    """What was to be done about it, in order."""
    codes: tuple[str, ...] = ()
    """Of checks that failed: the kinds of problems that they found."""


def happened(made: Move, find: Find | None = None) -> Happened:
    """An event with its consequences; where payloads can be looked up, also why an effect ended as it did."""
    kinds = _codes(made.event, find) if find else ()
    return Happened(
        run=made.state.run,
        seq=made.state.seq,
        time=moment(made.event.ts),
        type=type(made.event).__name__,
        text=told(made, _why(made.event, find) if find else "", kinds),
        code=_code(made.event, find),
        event=made.event,
        orders=tuple(Order(type=type(command).__name__, id=command.id) for command in made.commands),
        codes=kinds,
    )


def line(one: Happened) -> str:
    """An event on one line."""
    code = f" [{one.code}]" if one.code else ""
    return f"{one.seq:5}  {one.time[:10]} {one.time[11:19]}  {one.text}{code}"


def told(made: Move, why: str = "", kinds: Sequence[str] = ()) -> str:
    """What happened, why if that is known, with which codes, and what followed from it."""
    followed = [text for command in made.commands if (text := _followed(command, made.protocol))]
    event = _event(made) + (f": {why}" if why else "") + (f" [{', '.join(kinds)}]" if kinds else "")
    return " → ".join([event, *([", ".join(followed)] if followed else [])])


def _why(event: Event, find: Find) -> str:
    """What an effect says about its end, or what broke; empty for everything else."""
    match event:
        case Exited(channel="effect", envelope=envelope) if envelope.payload_ref:
            return first_words(words_of_effect(payload(find, envelope.payload_ref)))
        case Failed(detail_ref=ref) | Unavailable(detail_ref=ref) if ref:
            return first_words(words_of(anything(find, ref)))
    return ""


def _codes(event: Event, find: Find) -> tuple[str, ...]:
    results = event.results if isinstance(event, Checked | Exited) else ()
    failed = [one.report_ref for one in results if not one.ok and not one.skipped]
    return tuple(dict.fromkeys(code for ref in failed for code in codes(anything(find, ref))))


def _code(event: Event, find: Find | None) -> str:
    """The code of the error that ended an activity; older logs have only the kind of its end."""
    match event:
        case Failed(why=why, detail_ref=ref):
            details = anything(find, ref) if find and ref else None
            code = details.get("error") if isinstance(details, dict) else None
            return code if isinstance(code, str) else f"activity.{why}"
        case Unavailable(why=why):
            return f"outage.{why}"
    return ""


def _event(made: Move) -> str:
    match event := made.event:
        case RunStarted():
            return "the run starts"
        case SessionStarted():
            anew = ", begun anew: this agent cannot branch off from another" if event.is_new else ""
            return f"{event.act} has a conversation that can be resumed{anew}"
        case Exited():
            return f"{event.act} claims {event.envelope.key}" + (f" ({event.channel})" if event.channel else "")
        case Checked():
            return f"{event.act} is checked: {_found(event, made.before)}"
        case Failed():
            return f"{event.act} {_FAILURES[event.why]}"
        case Unavailable():
            return f"{event.act} is held up: {WORDS[event.why]}"
        case TimerFired(timer=timer) if timer == OUTAGE:
            return "the wait for an agent's service is over"
        case TimerFired():
            return f"the time of {event.timer} is up"
        case Idle():
            return f"{event.act} has been silent for {event.idle_s} s"
        case Replied():
            who = f"a person ({event.actor})" if event.actor else "a person"
            return f"{who} answers {event.ask}: {event.choice}"
        case Signalled():
            where = f"{event.inst}:{event.step}" if event.step else event.inst
            who = f"a person ({event.actor})" if event.actor else "a person"
            if event.name == "level":
                return f"{who} sets the run to level {event.item}"
            return f"{who} says {event.name} to {where}{f' for {event.item}' if event.item else ''}"
        case Vouched():
            who = f"a person ({event.actor})" if event.actor else "a person"
            return f"{who} accepts the result as it is, though criteria are not verified"
        case Reopened():
            who = f"a person ({event.actor})" if event.actor else "a person"
            return f"{who} takes the run up again, for its branch has moved"
    return f"the run moves to protocol {event.protocol[:19]}"


def _found(event: Checked, before: State) -> str:
    """What the checks found: those that refuse, and apart from them what the others note."""
    asked = before.acts[event.act].checks if event.act in before.acts else ()
    advisory = {check.name for check in asked if check.advisory}
    told = {result.check for result in event.results}
    failed = [result.check for result in event.results if not result.ok]
    refused = [name for name in failed if name not in advisory]
    silent = [check.name for check in asked if check.name not in told | advisory]
    verdict = f"{', '.join(refused)} failed" if refused else f"{', '.join(silent)} did not run" if silent else ""
    noted = ", ".join(name for name in failed if name in advisory)
    return (verdict or "all is well") + (f"; noted: {noted}" if noted else "")


def _followed(command: Command, protocol: Protocol) -> str:
    match command:
        case RunAgent():
            again = f" again ({command.retry})" if command.retry else ""
            mode = f":{command.mode}" if command.mode else ""
            return f"{command.id} starts{again} as {command.role}{mode}{_tier(command, protocol)}"
        case RunEffect():
            return f"{command.id} starts ({command.effect})"
        case RunChecks(exit=""):
            return f"{command.id} checks {' '.join(check.name for check in command.checks)}"
        case RunChecks():
            return f"checking {' '.join(check.name for check in command.checks) or 'what can be computed'}"
        case AskHuman():
            return f"{command.id} asks{_title(command, protocol)}: {', '.join(command.choices)}"
        case Nudge():
            return f"{command.id} is reminded"
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


def _tier(command: RunAgent, protocol: Protocol) -> str:
    """The tier of a stronger model than a role begins with."""
    role = protocol.roles.get(command.role)
    if not command.tier or role is None:
        return ""
    return f" on tier {role.models[min(command.tier, len(role.models) - 1)]}"


def _title(command: AskHuman, protocol: Protocol) -> str:
    graph = protocol.graphs.get(command.graph)
    step = graph.steps.get(command.step) if graph else None
    return f" “{step.title}”" if step and step.title else ""
