"""A run's log, folded into the history that people ask for: times, activities, questions, statements and failures."""

from collections.abc import Callable
from typing import Final, Literal, NamedTuple, Self

import msgspec

from treadle.kernel.commands import ActivityCommand, AskHuman, Cancel, Command, RunAgent, RunChecks, RunEffect
from treadle.kernel.events import (
    Checked,
    Event,
    Exited,
    Failed,
    Idle,
    Reopened,
    Replied,
    SessionStarted,
    Signalled,
    TimerFired,
    Unavailable,
    Upgraded,
    Usage,
    Vouched,
)
from treadle.kernel.instances import ROOT
from treadle.kernel.replay import Move, apply_next
from treadle.kernel.state import Ask, State
from treadle.protocol.model import CheckRef, Protocol, tag_of

Start = Literal["new", "went on", "branched off"]
"""The start of an activity's conversation: new, continued from another, or forked from another."""


class ActivityRecord(msgspec.Struct, frozen=True, kw_only=True):
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
    stop_ref: str = ""
    """A reference to the details of the event that stopped it."""
    usage: Usage = Usage()
    nudges: int = 0
    session: str = ""
    held: bool = False
    """Its agent's service is out."""


class QuestionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A question to a person, from when it was put to when it was settled."""

    command: AskHuman
    began: int
    state: State
    """The run as it was then: from that the question is worded."""
    by: str = ""
    """The activity that led to the question when it ended; empty if none did."""
    ended: int = 0
    settled: Event | None = None
    """The event that settled it: an answer, a timeout, or the end of an enclosing instance."""


class Statement(NamedTuple):
    """A person's word, as it was recorded."""

    seq: int
    ts: int
    choice: str
    who: str = ""
    inst: str = ""
    step: str = ""
    ask: str = ""
    note_ref: str = ""


AGENT_FAILURES: Final = ("crash", "blocked", "store")
TIMEOUT: Final = "!timeout"


class Snapshot(NamedTuple):
    """The run as it was when an agent failed and its activity ended."""

    at: int
    act: str
    cause: str
    detail_ref: str
    state: State


class Chronicle:
    """A fold over the events of a run; its fields show the run after the last event applied."""

    def __init__(self, find: Callable[[str], Protocol]) -> None:
        self._find = find
        self.protocol: Protocol | None = None
        """None until the run has started."""
        self.state = State()
        self.deeds: dict[str, ActivityRecord] = {}
        self.asked: dict[str, QuestionRecord] = {}
        self.put: dict[str, int] = {}
        """Question, to a person or to the parent → when it was put."""
        self._open: set[str] = set()
        self._led: dict[tuple[str, str, int], str] = {}
        """A visit, by instance and step → the activity that led to it by its end."""
        self.born: dict[str, int] = {}
        self.gone: dict[str, int] = {}
        self.before_end: dict[str, State] = {}
        """Instance → the run as it was before the event that ended it."""
        self.times: dict[int, int] = {}
        """The number of an event → when it happened."""
        self.settled: dict[str, int] = {}
        """Activity → the number of the last event that was about it."""
        self.statements: list[Statement] = []
        self.vouched = 0
        """The number of the last event by which a person let the result pass as it is; 0: there is none."""
        self.snapshots: list[Snapshot] = []
        self._below: dict[str, list[ActivityRecord]] = {}
        """Instance → the activities there and below; built by the first question after an event."""

    @classmethod
    def at(cls, protocol: Protocol, state: State) -> Self:
        """Return the chronicle of a run with an unread log: its open activities and questions, and no times.

        A step's timeout tells when its activity was started last.
        """
        found = cls(lambda _: protocol)
        found.protocol, found.state = protocol, state
        for id_, act in state.acts.items():
            job = act.command
            step = protocol.graphs[job.graph].steps.get(job.step)
            began = job.due - 1000 * step.timeout if job.due and step else 0
            found.deeds[id_] = ActivityRecord(command=job, began=began)
        asked = {id_: ask.command for id_, ask in state.asks.items() if ask.command}
        found.asked = {id_: QuestionRecord(command=it, began=0, state=state) for id_, it in asked.items()}
        return found

    def take(self, body: bytes) -> Move:
        """Apply the next event of the log."""
        move = apply_next(self._find, self.protocol, self.state, body)
        self.protocol, self.state = move.protocol, move.state
        act = getattr(move.event, "act", "")
        cause = act or getattr(move.event, "timer", "")
        if cause in self.deeds:
            # Note where the end of an activity leads: before anything begins there, a signal may be served.
            id_ = self.deeds[cause].command.inst
            before, inst = move.before.insts[id_].visits, move.state.insts[id_]
            for step in [frame.step for frame in inst.frames if inst.visits.get(frame.step) != before.get(frame.step)]:
                self._led[id_, step, inst.visits[step]] = cause
        for command in move.commands:
            self._record_command(command, cause if cause in self.deeds else "", getattr(move.event, "detail_ref", ""))
        self._close_questions(move)
        if act in self.deeds:
            self.deeds[act] = self._update(self.deeds[act], move.event)
        self._record_instances(move)
        self._record_event(move)
        self._below = {}
        return move

    def below(self, inst: str) -> list[ActivityRecord]:
        """Return the activities of an instance and of all below it, the earliest first."""
        if not self._below:
            for deed in self.deeds.values():
                names = deed.command.inst.split("/")
                for depth in range(1, len(names) + 1):
                    self._below.setdefault("/".join(names[:depth]), []).append(deed)
        return self._below.get(inst, [])

    def _record_event(self, move: Move) -> None:
        """Record the time of an event, the activity it was about, a person's statement, or an agent's failure."""
        seq, ts = move.state.seq, move.event.ts
        self.times[seq] = ts
        act, cause, detail = "", "", ""
        match event := move.event:
            case Exited() | Checked() | Failed():
                self.settled[event.act] = seq
                if isinstance(event, Failed) and event.why in AGENT_FAILURES:
                    act, cause, detail = event.act, f"!{event.why}", event.detail_ref
            case TimerFired():
                act, cause = event.timer, TIMEOUT
            case Replied():
                asked = move.before.asks.get(event.ask, Ask("", ""))
                self.statements.append(
                    Statement(seq, ts, event.choice, event.actor, asked.inst, asked.step, event.ask, event.note_ref)
                )
            case Signalled():
                self.statements.append(
                    Statement(seq, ts, event.name, inst=event.inst, step=event.step, note_ref=event.data_ref)
                )
            case Upgraded():
                self.statements.append(Statement(seq, ts, f"moves the run to the protocol {event.protocol[:19]}"))
            case Reopened():
                choice = "reopens the run, because the branch has moved"
                self.statements.append(Statement(seq, ts, choice, event.actor, ROOT))
            case Vouched():
                self.vouched = seq
                choice = "accepts the result as it is"
                self.statements.append(Statement(seq, ts, choice, event.actor, ROOT, note_ref=event.note_ref))
            case _:
                pass
        # Only a failure that ends the activity counts; otherwise the agent is tried again.
        if cause and act in move.before.acts and act not in move.state.acts:
            self.snapshots.append(Snapshot(move.state.now, act, cause, detail, move.before))

    def _record_command(self, command: Command, by: str, detail_ref: str) -> None:
        """Record a command: a new activity, checks of a claim, a question, or the end of an activity."""
        now = self.state.now
        match command:
            case RunChecks(id=id_, checks=checks) if command.exit and id_ in self.deeds:
                self._replace(id_, checks=checks)
            case RunAgent(id=id_) | RunEffect(id=id_) | RunChecks(id=id_):
                if id_ in self.deeds:  # issued again, after a crash or an outage
                    self._replace(id_, command=command, held=False)
                else:
                    checks = command.checks if isinstance(command, RunChecks) else ()
                    start: Start = "new"
                    if isinstance(command, RunAgent) and command.session:
                        start = "branched off" if command.fork else "went on"
                    self.deeds[id_] = ActivityRecord(command=command, start=start, began=now, checks=checks)
            case AskHuman(id=id_):
                inst = self.state.insts.get(command.inst)
                visit = inst.visits.get(command.step, 0) if inst else -1
                led_by = self._led.get((command.inst, command.step, visit), "") or by
                self.asked[id_] = QuestionRecord(command=command, began=now, state=self.state, by=led_by)
                self._open.add(id_)
            case Cancel(id=id_, why=why) if id_ in self.deeds:
                left = self._left(self.deeds[id_]) if why == "timeout" else ""
                self._replace(id_, ended=now, stopped=why, left=left, stop_ref=detail_ref)
            case _:
                pass

    def _close_questions(self, move: Move) -> None:
        if move.before.asks is not self.state.asks:
            self.put = {id_: self.put.get(id_, self.state.now) for id_ in self.state.asks}
        for id_ in [id_ for id_ in self._open if id_ not in self.state.asks]:
            self._open.remove(id_)
            self.asked[id_] = msgspec.structs.replace(self.asked[id_], ended=self.state.now, settled=move.event)

    def _update(self, deed: ActivityRecord, event: Event) -> ActivityRecord:
        """Return an activity after an event about it, and close it if the state no longer has it."""
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
        if deed.ended or deed.command.id in self.state.acts:
            return deed
        key, job = deed.claim.envelope.key if deed.claim else "", deed.command
        slot = self.state.insts[job.inst].slots.get(f"{job.step}.{tag_of(key)}")
        # The last event accepted the claim if it wrote the claim's slot.
        accepted = key if slot is not None and slot.seq == self.state.seq else ""
        return change(deed, ended=self.state.now, left=self._left(deed), accepted=accepted)

    def _left(self, deed: ActivityRecord) -> str:
        return self.state.insts[deed.command.inst].last.get(deed.command.step, "")

    def _replace(self, act: str, **fields: object) -> None:
        self.deeds[act] = msgspec.structs.replace(self.deeds[act], **fields)

    def _record_instances(self, move: Move) -> None:
        """Record created and ended instances; scan for them only if the counters changed."""
        before, state = move.before, move.state
        if state.created != before.created:
            self.born |= {id_: state.now for id_ in state.insts if id_ not in self.born}
        if state.live > before.live:  # a run that had ended goes on
            self.gone = {id_: at for id_, at in self.gone.items() if state.insts[id_].outcome}
        if state.created - state.live != before.created - before.live:
            gone = [id_ for id_, it in state.insts.items() if it.outcome and id_ not in self.gone]
            self.gone |= dict.fromkeys(gone, state.now)
            self.before_end |= dict.fromkeys((id_ for id_ in gone if id_ in before.insts), before)
