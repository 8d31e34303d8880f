"""The world's own account of what it has been asked to do and has not done yet.

It is kept from commands and events alone, so it can be held against what the kernel says is outstanding.
"""

from treadle.kernel.commands import (
    AskHuman,
    Cancel,
    CancelTimer,
    Command,
    Done,
    RunAgent,
    RunChecks,
    RunEffect,
    SetTimer,
)
from treadle.kernel.events import Checked, Event, Exited, Failed, Replied, TimerFired, Unavailable
from treadle.kernel.reduce import outstanding
from treadle.kernel.state import State

Open = RunAgent | RunEffect | RunChecks | AskHuman


class Ledger:
    """Open jobs and questions, and set timers, by id."""

    def __init__(self) -> None:
        self.open: dict[str, Open] = {}
        self.timers: dict[str, SetTimer] = {}
        self.done: Done | None = None
        self.unverified: set[str] = set()
        """Instances whose merge was refused because criteria are not verified, and that no person has decided about."""
        self.unasked: list[str] = []
        """Merges that were tried again without such a decision."""

    def enter(self, event: Event, commands: tuple[Command, ...]) -> None:
        """Strike out what the event answers, then note what the commands ask for."""
        self._strike(event)
        for command in commands:
            self._note(command)

    def _strike(self, event: Event) -> None:
        match event:
            case Exited(act=act, envelope=envelope) if isinstance(job := self.open.get(act), RunAgent | RunEffect):
                if isinstance(job, RunEffect) and envelope.key == "MergeRejected.Unverified":
                    self.unverified.add(job.inst)
                del self.open[act]
            case Replied(ask=ask) if isinstance(asked := self.open.get(ask), AskHuman):
                self.unverified.discard(asked.inst)
            case Checked(act=act) if isinstance(self.open.get(act), RunChecks):
                del self.open[act]
            case Failed(act=act):
                self.open.pop(act, None)
            case Unavailable(act=act) if isinstance(self.open.get(act), RunAgent):
                del self.open[act]
            case TimerFired(timer=timer):
                self.timers.pop(timer, None)

    def _note(self, command: Command) -> None:
        match command:
            case RunAgent() | RunEffect() | RunChecks() | AskHuman():
                self.open[command.id] = command
                if isinstance(command, RunEffect) and command.effect == "merge" and command.inst in self.unverified:
                    self.unasked.append(f"unverified: {command.id} merges again, and no person was asked")
            case SetTimer():
                self.timers[command.id] = command
            case CancelTimer(id=id_):
                self.timers.pop(id_, None)
            case Cancel(id=id_):
                self.open.pop(id_, None)
            case Done():
                self.open, self.timers, self.done = {}, {}, command

    def differences(self, state: State) -> list[str]:
        """Where this account and the state's own list of open commands disagree."""
        mine = [self.done] if self.done else [*self.open.values(), *self.timers.values()]
        theirs = outstanding(state)
        if self.unasked:
            return self.unasked
        if len(mine) == len(theirs) and {_name(c): c for c in mine} == {_name(c): c for c in theirs}:
            return []
        known = {_name(command) for command in mine}
        listed = {_name(command) for command in theirs}
        lost = [f"{name} was asked for and is not outstanding" for name in sorted(known - listed)]
        made = [f"{name} is outstanding and was never asked for" for name in sorted(listed - known)]
        return lost + made or ["an open command is not the one that was issued"]


def _name(command: Command) -> str:
    return f"{type(command).__name__} {command.id}"
