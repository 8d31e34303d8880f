"""How a run stands, as far as a sentence about it can depend on it."""

from collections.abc import Collection

import msgspec

from treadle.engines.waiting import Waiting
from treadle.kernel.commands import RunAgent
from treadle.kernel.lifecycle import ROOT
from treadle.kernel.state import State
from treadle.protocol.model import base_of


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """A run that has not ended."""

    run: str
    waiting: Waiting
    names: dict[str, str]
    """Instance → what people call it: the story's id, and nothing for the run as a whole."""
    driven: bool = False
    """Somebody drives it, or is about to."""
    at_work: tuple[str, ...] = ()
    """Who is at work, in words."""
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
    jobs = [act.command for id_, act in sorted(state.acts.items()) if id_ not in by_people]
    return tuple(working(names.get(job.inst, ""), job) for job in jobs if isinstance(job, RunAgent))


def working(name: str, job: RunAgent) -> str:
    """`US-005 impl (attempt 3 of 5)`."""
    tried = f" (attempt {job.attempt} of {job.attempts})" if job.attempt > 1 else ""
    return f"{name} {base_of(job.step)}".strip() + tried
