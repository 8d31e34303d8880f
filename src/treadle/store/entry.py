"""What one event adds to the store: itself, and how it changes the outbox and the timers."""

from typing import Final, NamedTuple

import msgspec

from treadle.kernel.commands import Cancel, CancelTimer, Command, Done, Nudge, SetTimer
from treadle.kernel.events import Checked, Event, Exited, Failed, Replied, TimerFired
from treadle.kernel.replay import encode_event, link
from treadle.kernel.state import State

_NOT_KEPT: Final = (SetTimer, CancelTimer, Nudge, Done)
"""Timers have a table of their own, the end is the run's outcome, and a reminder missed is not worth repeating."""


class Entry(NamedTuple):
    """One row of the log with all that goes with it."""

    seq: int
    id: str
    body: bytes
    chain: bytes
    opened: tuple[tuple[str, bytes], ...]
    """Commands that are now open, by their id in the outbox."""
    closed: tuple[str, ...]
    set: tuple[tuple[str, int], ...]
    """Timers, and when they are due."""
    unset: tuple[str, ...]


def entry(last: bytes, state: State, event: Event, commands: tuple[Command, ...]) -> Entry:
    """The row for an event that led to this state and these commands."""
    body = encode_event(event)
    timers = [command for command in commands if isinstance(command, SetTimer)]
    dropped = [command.id for command in commands if isinstance(command, CancelTimer)]
    return Entry(
        seq=state.seq,
        id=event.id,
        body=body,
        chain=link(last, body),
        opened=tuple(
            (address(command), msgspec.json.encode(command))
            for command in commands
            if not isinstance(command, _NOT_KEPT)
        ),
        closed=_closed(state, event, commands),
        set=tuple((command.id, command.due) for command in timers),
        unset=(*dropped, event.timer) if isinstance(event, TimerFired) else tuple(dropped),
    )


def address(command: Command) -> str:
    """A command's key in the outbox; a cancellation does not take the place of what it cancels."""
    return f"{command.id}!cancel" if isinstance(command, Cancel) else command.id


def _closed(state: State, event: Event, commands: tuple[Command, ...]) -> tuple[str, ...]:
    ended = [command.id for command in commands if isinstance(command, Cancel)]
    match event:
        case Exited(act=id_) | Checked(act=id_) | Failed(act=id_) if id_ not in state.acts:
            ended.append(id_)
        case Replied(ask=id_) if id_ not in state.asks:
            ended.append(id_)
        case _:
            pass
    return tuple(ended)
