"""How a run stands: its instances as a tree, what is being done, what it asks people, what it has used."""

from collections.abc import Collection, Mapping
from typing import Literal

import msgspec

from treadle.kernel.commands import AskHuman, RunAgent
from treadle.kernel.lifecycle import ROOT
from treadle.kernel.state import Instance, State
from treadle.protocol.drawing.table import who
from treadle.protocol.model import Protocol
from treadle.simulate.waits import awaits_go
from treadle.views.advice import Advice
from treadle.views.asking import Asked, asked
from treadle.views.baseline import Baseline
from treadle.views.branches import Branch, forest
from treadle.views.chronicle import Chronicle, Deed
from treadle.views.moment import moment, seconds
from treadle.views.outage import Out, outage
from treadle.views.result import Result
from treadle.views.used import Used, used
from treadle.views.yours import Yours

Condition = Literal["new", "works", "asks", "waits", "paused", "ended"]
"""A run is new until a driver takes it up; it asks if only a person can move it, and waits if only time can.

Somebody who is an agent is a person too; a run that was paused as a whole is paused, whatever else it does.
"""


class Pinned(msgspec.Struct, frozen=True, kw_only=True):
    """The protocol that holds for a run."""

    name: str
    version: str
    digest: str


class Busy(msgspec.Struct, frozen=True, kw_only=True):
    """An activity that is being done."""

    id: str
    instance: str
    step: str
    who: str
    phase: Literal["running", "verifying", "held"]
    """Held: its agent's service is out, and it starts again when that is over."""
    claim: str
    """The exit that it claims, while that is being verified."""
    attempt: int
    retry: int
    """How often it was lost and started again."""
    nudges: int
    began: str
    elapsed: float
    due: str
    """When its time is up; empty if it is in a person's hands, for nothing hurries people."""
    overdue: bool
    """Its time is up; whoever drives the run notices that at once."""


class Startable(msgspec.Struct, frozen=True, kw_only=True):
    """A step that waits for a person's `go`."""

    instance: str
    step: str
    title: str = ""
    """What the protocol calls the step."""


class Ceilings(msgspec.Struct, frozen=True, kw_only=True):
    """What the run may use before a person is asked; 0: without limit."""

    cost: float
    tokens: int
    """In and out."""
    wall: int
    """Seconds."""
    granted: int
    """How often cost, tokens and time have been granted; the first time is the start."""
    instances: int
    created: int
    """Instances so far."""
    agents: int
    """Agents at once."""


class Timer(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happens by itself, unless something else does before."""

    id: str
    due: str


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """A run at a moment: `treadle status RUN --json`."""

    schema: Literal[1] = 1
    run: str
    name: str
    protocol: Pinned | None
    """None until the run has started."""
    level: int
    """0: people are the agents; 1: every agent waits for a person's `go`; 2: it goes by itself."""
    status: Condition
    outcome: str
    driver: str
    """Who drives it; empty: nobody does."""
    events: int
    began: str
    changed: str
    elapsed: float
    """Seconds since it began, until now or its end."""
    instances: tuple[Branch, ...]
    activities: tuple[Busy, ...]
    questions: tuple[Asked, ...]
    starts: tuple[Startable, ...]
    yours: tuple[Yours, ...]
    """Activities whose agent is a person."""
    timers: tuple[Timer, ...]
    outage: Out | None
    """None unless an agent's service is out."""
    usage: Used
    limits: Ceilings | None
    strays: int
    """Answers and messages that were not obeyed."""
    untold: tuple[str, ...]
    """Why people could not be told of the run, each reason once."""
    edited: tuple[str, ...]
    """Files that show the run, and that somebody has changed: what of them is not so."""
    advice: tuple[Advice, ...]
    """What checks advise of what was accepted."""
    result: Result | None
    """None until the run has ended, and if it has changed nothing."""
    baseline: Baseline | None = None
    """How the tests ended on the base commit; None if no check needs them."""


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about a run besides its history."""

    run: str
    name: str = ""
    level: int | None = None
    """As it was started; None: what its history says, which does not tell whether people are the agents."""
    driver: str = ""
    strays: int = 0
    untold: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    yours: tuple[Yours, ...] = ()
    questions: Mapping[str, str] = {}
    """How each question is worded."""
    outage: str = ""
    """What is said about a service that is out."""
    advice: tuple[Advice, ...] = ()
    result: Result | None = None
    baseline: Baseline | None = None


def status(chronicle: Chronicle, known: Known, now: int) -> Status:
    """How a run stands at a moment."""
    state, protocol = chronicle.state, chronicle.protocol
    end = state.now if state.outcome else max(now, state.now)
    questions = tuple(asked(chronicle, it.id, known.questions.get(it.id, ""), end) for it in _open(state))
    starts = _starts(protocol, state) if protocol else ()
    yours = {work.id for work in known.yours}
    return Status(
        run=known.run,
        name=known.name,
        protocol=Pinned(name=protocol.name, version=protocol.version, digest=state.protocol) if protocol else None,
        level=state.level if known.level is None else known.level,
        status=condition(protocol, state, yours),
        outcome=state.outcome,
        driver=known.driver,
        events=state.seq,
        began=moment(state.started),
        changed=moment(state.now),
        elapsed=seconds(state.started, end),
        instances=forest(chronicle, protocol, end, yours) if protocol else (),
        activities=tuple(_busy(chronicle.deeds[id_], state, protocol, end, yours) for id_ in sorted(state.acts)),
        questions=questions,
        starts=starts,
        yours=known.yours,
        timers=tuple(Timer(id=id_, due=moment(due)) for id_, due in sorted(state.timers.items()) if id_ not in yours),
        outage=outage(state, known.outage),
        usage=used(state.usage),
        limits=_limits(protocol, state) if protocol else None,
        strays=known.strays,
        untold=known.untold,
        edited=known.edited,
        advice=known.advice,
        baseline=known.baseline,
        result=known.result,
    )


def condition(protocol: Protocol | None, state: State, yours: Collection[str] = ()) -> Condition:
    """How a run stands, in a word; `yours` are the activities that lie in a person's hands."""
    if state.outcome or not state.seq:
        return "ended" if state.outcome else "new"
    if ROOT in state.insts and state.insts[ROOT].paused:
        return "paused"
    at_work = [id_ for id_, act in state.acts.items() if act.phase != "held"]
    if any(id_ not in yours for id_ in at_work):
        return "works"
    return "asks" if at_work or _open(state) or (protocol and _starts(protocol, state)) else "waits"


def _open(state: State) -> list[AskHuman]:
    found = [state.asks[id_].command for id_ in sorted(state.asks)]
    return [command for command in found if command is not None]


def _starts(protocol: Protocol, state: State) -> tuple[Startable, ...]:
    live = sorted((inst for inst in state.insts.values() if inst.live and inst.frames), key=lambda inst: inst.n)
    waiting = [(it, step) for it in live if (step := awaits_go(protocol, state, it))]
    return tuple(Startable(instance=it.id, step=step, title=_title(protocol, it, step)) for it, step in waiting)


def _title(protocol: Protocol, inst: Instance, step: str) -> str:
    return protocol.graphs[inst.graph].steps[step].title


def _limits(protocol: Protocol, state: State) -> Ceilings:
    limits = protocol.limits
    return Ceilings(
        cost=limits.cost * state.allowances,
        tokens=limits.tokens * state.allowances,
        wall=limits.wall,
        granted=state.allowances,
        instances=limits.instances,
        created=state.created,
        agents=limits.agents,
    )


def _busy(deed: Deed, state: State, protocol: Protocol | None, now: int, yours: Collection[str]) -> Busy:
    job, act = deed.command, state.acts[deed.command.id]
    role = f"{job.role}:{job.mode}" if isinstance(job, RunAgent) and job.mode else ""
    due = 0 if job.id in yours else state.timers.get(job.id, 0)
    return Busy(
        id=job.id,
        instance=job.inst,
        step=job.step,
        who=role or (who(protocol.graphs[job.graph].steps[job.step]) if protocol else ""),
        phase=act.phase,
        claim=act.claim.key if act.claim else "",
        attempt=job.attempt,
        retry=job.retry,
        nudges=act.nudges,
        began=moment(deed.began),
        elapsed=seconds(deed.began, now),
        due=moment(due),
        overdue=0 < due <= now,
    )
