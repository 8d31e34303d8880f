"""A run's log, folded into what people ask about it: when things began and ended, and the story of every activity."""

from collections.abc import Callable
from typing import Literal

import msgspec

from treadle.kernel.commands import ActivityCommand, AskHuman, Cancel, Command, RunAgent, RunChecks, RunEffect
from treadle.kernel.events import Checked, Event, Exited, Failed, Idle, SessionStarted, Unavailable, Usage
from treadle.kernel.replay import Move, move
from treadle.kernel.state import State
from treadle.protocol.model import CheckRef, Protocol, tag_of

Start = Literal["new", "went on", "branched off"]
"""How the conversation of an activity began: anew, as another one that goes on, or as a branch of another one."""


class Deed(msgspec.Struct, frozen=True, kw_only=True):
    """One activity, from its command to its end."""

    command: ActivityCommand
    """As it was issued last."""
    start: Start = "new"
    began: int
    ended: int = 0
    claim: Exited | None = None
    checks: tuple[CheckRef, ...] = ()
    checked: Checked | None = None
    failures: tuple[Failed, ...] = ()
    left: str = ""
    """The exit by which its step was left: its claim, or a system exit instead."""
    accepted: str = ""
    """The claim that was accepted, also where spent attempts became something else; empty if none was."""
    stopped: str = ""
    """Why it was stopped before its end."""
    found: str = ""
    """What was found of it then, as a reference."""
    usage: Usage = Usage()
    nudges: int = 0
    session: str = ""
    held: bool = False
    """Its agent's service is out."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A question to a person, from when it was put to when it was settled."""

    command: AskHuman
    began: int
    state: State
    """The run as it was then: from that the question is worded."""
    by: str = ""
    """The activity whose end led to it; empty if none did."""
    ended: int = 0
    settled: Event | None = None
    """What settled it: an answer, a time that was up, or an end of something around it."""


class Chronicle:
    """Takes the events of a run one by one; at any time it says how things stand."""

    def __init__(self, find: Callable[[str], Protocol]) -> None:
        self._find = find
        self.protocol: Protocol | None = None
        """None until the run has started."""
        self.state = State()
        self.deeds: dict[str, Deed] = {}
        self.asked: dict[str, Question] = {}
        self.put: dict[str, int] = {}
        """Question, to a person or to the parent → when it was put."""
        self._open: set[str] = set()
        self._led: dict[tuple[str, str, int], str] = {}
        """A visit, by instance and step → the activity whose end led to it."""
        self.born: dict[str, int] = {}
        self.gone: dict[str, int] = {}
        self.before_end: dict[str, State] = {}
        """Instance → the run as it was before the event that ended it."""

    def take(self, body: bytes) -> Move:
        """Apply the next event of the log."""
        made = move(self._find, self.protocol, self.state, body)
        self.protocol, self.state = made.protocol, made.state
        act = getattr(made.event, "act", "")
        cause = act or getattr(made.event, "timer", "")
        self._lead(made, cause)
        for command in made.commands:
            self._commanded(command, cause if cause in self.deeds else "", getattr(made.event, "detail_ref", ""))
        self._settle(made)
        if act in self.deeds:
            self.deeds[act] = self._told(self.deeds[act], made.event)
        self._census(made)
        return made

    def _lead(self, made: Move, cause: str) -> None:
        """Note where the end of an activity leads: before anything begins there, a signal may be served."""
        if cause not in self.deeds:
            return
        id_ = self.deeds[cause].command.inst
        before, inst = made.before.insts[id_].visits, made.state.insts[id_]
        for step in [frame.step for frame in inst.frames if inst.visits.get(frame.step) != before.get(frame.step)]:
            self._led[id_, step, inst.visits[step]] = cause

    def _led_to(self, command: AskHuman) -> str:
        inst = self.state.insts.get(command.inst)
        return self._led.get((command.inst, command.step, inst.visits.get(command.step, 0)), "") if inst else ""

    def _commanded(self, command: Command, by: str, found: str) -> None:
        now = self.state.now
        match command:
            case RunChecks(id=id_, checks=checks) if command.exit and id_ in self.deeds:
                self._change(id_, checks=checks)
            case RunAgent(id=id_) | RunEffect(id=id_) | RunChecks(id=id_):
                before = self.deeds.get(id_)
                checks = command.checks if isinstance(command, RunChecks) else ()
                deed = Deed(command=command, start=_start(command), began=now, checks=checks)
                self.deeds[id_] = msgspec.structs.replace(before, command=command, held=False) if before else deed
            case AskHuman(id=id_):
                self.asked[id_] = Question(command=command, began=now, state=self.state, by=self._led_to(command) or by)
                self._open.add(id_)
            case Cancel(id=id_, why=why) if id_ in self.deeds:
                left = self._left(self.deeds[id_]) if why == "timeout" else ""
                self._change(id_, ended=now, stopped=why, left=left, found=found)
            case _:
                pass

    def _settle(self, made: Move) -> None:
        if made.before.asks is not self.state.asks:
            self.put = {id_: self.put.get(id_, self.state.now) for id_ in self.state.asks}
        for id_ in [id_ for id_ in self._open if id_ not in self.state.asks]:
            self._open.remove(id_)
            self.asked[id_] = msgspec.structs.replace(self.asked[id_], ended=self.state.now, settled=made.event)

    def _told(self, deed: Deed, event: Event) -> Deed:
        change = msgspec.structs.replace
        match event:
            case Exited():
                deed = change(deed, claim=event, usage=deed.usage.plus(event.usage))
            case Checked():
                deed = change(deed, checked=event)
            case Failed():
                deed = change(deed, failures=(*deed.failures, event), usage=deed.usage.plus(event.usage))
            case Unavailable():
                deed = change(deed, usage=deed.usage.plus(event.usage), held=True)
            case Idle():
                deed = change(deed, nudges=deed.nudges + 1)
            case SessionStarted():
                deed = change(deed, session=event.session, start="new" if event.is_new else deed.start)
            case _:
                pass
        is_over = deed.command.id not in self.state.acts and not deed.ended
        if not is_over:
            return deed
        return change(deed, ended=self.state.now, left=self._left(deed), accepted=self._accepted(deed))

    def _left(self, deed: Deed) -> str:
        return self.state.insts[deed.command.inst].last.get(deed.command.step, "")

    def _accepted(self, deed: Deed) -> str:
        return accepted(self.state, deed.command, deed.claim.envelope.key) if deed.claim else ""

    def _change(self, act: str, **fields: object) -> None:
        self.deeds[act] = msgspec.structs.replace(self.deeds[act], **fields)

    def _census(self, made: Move) -> None:
        """Who was born, and who has ended; looked up only if somebody was or has."""
        before, state = made.before, made.state
        if state.created != before.created:
            self.born |= {id_: state.now for id_ in state.insts if id_ not in self.born}
        if state.live > before.live:  # a run that had ended goes on
            self.gone = {id_: at for id_, at in self.gone.items() if state.insts[id_].outcome}
        if state.created - state.live != before.created - before.live:
            gone = [id_ for id_, it in state.insts.items() if it.outcome and id_ not in self.gone]
            self.gone |= dict.fromkeys(gone, state.now)
            self.before_end |= dict.fromkeys((id_ for id_ in gone if id_ in before.insts), before)


def accepted(state: State, job: ActivityCommand, key: str) -> str:
    """What an activity has claimed, if the last event has made it an accepted exit."""
    slot = state.insts[job.inst].slots.get(f"{job.step}.{tag_of(key)}")
    return key if slot is not None and slot.seq == state.seq else ""


def _start(command: ActivityCommand) -> Start:
    if not isinstance(command, RunAgent) or not command.session:
        return "new"
    return "branched off" if command.fork else "went on"
