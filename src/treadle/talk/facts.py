"""How a run stands, as far as a sentence about it can depend on it."""

from collections.abc import Collection, Mapping

import msgspec

from treadle.engines.waiting import Waiting
from treadle.kernel.commands import RunAgent
from treadle.kernel.lifecycle import ROOT
from treadle.kernel.state import State
from treadle.protocol.model import base_of
from treadle.views.moment import moment, plain


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """A run that has not ended."""

    run: str
    waiting: Waiting
    names: dict[str, str]
    """Instance → what people call it: the story's id, and nothing for the run as a whole."""
    driven: bool = False
    """Somebody drives it, or is about to."""
    at_work: tuple[str, ...] = ()
    """Who is at work, in words; if nobody drives the run, who would be."""
    overdue: Mapping[str, str] = {}
    """Of these, whose time is up, and since when."""
    unbegun: tuple[str, ...] = ()
    """Instances below the root in which nothing has been done yet, in the order of what was given."""

    def called(self, inst: str, step: str) -> str:
        """A place in words: `US-005 impl`."""
        return " ".join(part for part in (self.names.get(inst, inst), base_of(step)) if part)


def names_of(state: State) -> dict[str, str]:
    """What people call the instances of a run: by their keys, from the first that has one."""
    found: dict[str, str] = {}
    for inst in sorted(state.insts.values(), key=lambda inst: inst.n):
        above = found.get(inst.parent, "")
        found[inst.id] = " ".join(part for part in (above, inst.key) if part) if inst.parent else ""
    return found


def story_of(inst: str) -> str:
    """The story that an instance belongs to: itself, or the one that its team works on."""
    return "/".join(inst.split("/")[:2])


def unbegun(state: State) -> tuple[str, ...]:
    """The parts of a run, its stories, that have not begun."""
    parts = sorted((inst for inst in state.insts.values() if inst.parent == ROOT), key=lambda inst: inst.n)
    return tuple(inst.id for inst in parts if inst.live and not inst.last)


def at_work(state: State, by_people: Collection[str] = ()) -> tuple[str, ...]:
    """The agents that are at work, each with its story, step and attempt; but for what people have in hand."""
    names = names_of(state)
    return tuple(working(names.get(job.inst, ""), job) for job in jobs(state, by_people))


def overdue(state: State, late: Collection[str], by_people: Collection[str] = ()) -> dict[str, str]:
    """Those of them whose time is up, which whoever drives the run would have noticed, and since when."""
    names = names_of(state)
    found = [job for job in jobs(state, by_people) if job.id in late]
    return {working(names.get(job.inst, ""), job): plain(moment(state.timers[job.id])) for job in found}


def jobs(state: State, by_people: Collection[str] = ()) -> list[RunAgent]:
    """What agents are to do at the moment; but for what people have in hand."""
    found = [act.command for id_, act in sorted(state.acts.items()) if id_ not in by_people]
    return [job for job in found if isinstance(job, RunAgent)]


def working(name: str, job: RunAgent) -> str:
    """`US-005 impl (attempt 3 of 5)`."""
    tried = f" (attempt {job.attempt} of {job.attempts})" if job.attempt > 1 else ""
    return f"{name} {base_of(job.step)}".strip() + tried
