"""What a run that does not move waits for: questions, a person's go, a person's work, an agent, a time."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from treadle.agents.answer import answered
from treadle.engines.pinned import Pinned
from treadle.kernel.advance import is_out
from treadle.kernel.commands import RunAgent
from treadle.kernel.state import Activity, State
from treadle.ports import Payloads, Work
from treadle.prompts.question import Question, question
from treadle.protocol.model import Protocol
from treadle.runtime.dispatch import home_of, sent_work
from treadle.runtime.loop import Rests
from treadle.simulate.waits import awaits_go
from treadle.views.outage import held

_IDLE_TIMERS: Final = ("!remind", "!wall")
"""Timers that decide nothing: a reminder, and the run's time, which is over only once something runs."""


class Go(msgspec.Struct, frozen=True):
    """A step that starts with a person's `go`."""

    inst: str
    step: str
    title: str = ""
    """What the protocol calls the step."""


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that could move a run."""

    questions: tuple[Question, ...] = ()
    gos: tuple[Go, ...] = ()
    works: tuple[Work, ...] = ()
    """What people have in hand as agents."""
    paused: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    """Activities that programs are to do, or do."""
    outage: str = ""
    """Why agents are held up, and until when."""
    due: int = 0
    """When the next timer decides something, in milliseconds since the epoch; 0: none will."""

    @property
    def for_people(self) -> bool:
        return bool(self.questions or self.gos or self.works or self.paused)


def waiting_for(
    protocol: Protocol, state: State, settings: Pinned, folder: Path, payloads: Payloads, toolchain: Mapping[str, str]
) -> Waiting:
    """What could move a run; `folder` is that of the run."""
    asks = [ask.command for _, ask in sorted(state.asks.items()) if ask.command is not None]
    live = sorted((inst for inst in state.insts.values() if inst.live), key=lambda inst: inst.n)
    starts = [(inst, step) for inst in live if (step := awaits_go(protocol, state, inst))]
    gos = [Go(inst.id, step, protocol.graphs[inst.graph].steps[step].title) for inst, step in starts]
    jobs = [id_ for id_, act in sorted(state.acts.items()) if _is_agents(act)]
    people = _by_people(state, settings)
    return Waiting(
        questions=tuple(question(protocol, state, ask, payloads, toolchain) for ask in asks),
        gos=tuple(gos),
        works=works_in_hand(state, settings, folder),
        paused=tuple(inst.id for inst in live if inst.paused),
        agents=tuple(id_ for id_ in jobs if id_ not in people),
        outage=held(state) if is_out(state) else "",
        due=min((due for id_, due in state.timers.items() if _decides(id_, set(people))), default=0),
    )


def works_in_hand(state: State, settings: Pinned, folder: Path) -> tuple[Work, ...]:
    """What people have in hand as agents; `folder` is that of the run."""
    jobs = _by_people(state, settings)
    return tuple(work for id_ in sorted(jobs) if (work := sent_work(home_of(folder, jobs[id_]))))


def is_handed_out(state: State, settings: Pinned, folder: Path) -> bool:
    """Whether people have in hand all that is theirs; whoever drives the run may still be about to hand it out."""
    return len(works_in_hand(state, settings, folder)) == len(_by_people(state, settings))


def _by_people(state: State, settings: Pinned) -> dict[str, RunAgent]:
    jobs = {id_: act.command for id_, act in state.acts.items() if _is_agents(act)}
    return {id_: job for id_, job in jobs.items() if isinstance(job, RunAgent) and settings.is_by_person(job)}


def rests(folder: Path, settings: Pinned, *, starts_agents: bool) -> Rests:
    """When to stop driving: with agents, once only people could move the run; without, once only others could."""

    def is_left(act: Activity) -> bool:
        job = act.command
        if act.phase == "held":  # it waits for a timer, which keeps a driver here, or for a person
            return True
        if not _is_agents(act) or not isinstance(job, RunAgent):
            return False
        if not settings.is_by_person(job):
            return not starts_agents
        work = sent_work(home_of(folder, job))
        return work is not None and not answered(work)

    def at_rest(state: State) -> bool:
        if not state.seq or not all(is_left(act) for act in state.acts.values()):
            return False
        return not starts_agents or not any(_decides(id_, set(state.acts)) for id_ in state.timers)

    return at_rest


def _is_agents(act: Activity) -> bool:
    return isinstance(act.command, RunAgent) and act.phase == "running"


def _decides(timer: str, people: set[str]) -> bool:
    """Whether a timer will decide something; nobody hurries a person who works as an agent."""
    return not timer.endswith(_IDLE_TIMERS) and timer not in people
