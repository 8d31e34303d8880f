"""The open work of people and agents that a run waits for, its next timer, and the rule by which a driver stops."""

from collections.abc import Collection
from pathlib import Path

from treadle.agents.contract import has_answer
from treadle.engines.run_settings import RunSettings
from treadle.kernel.commands import RunAgent
from treadle.kernel.state import Activity, State
from treadle.ports import Work
from treadle.runtime.dispatch import home_of, load_work
from treadle.runtime.loop import IDLE_TIMERS, Rests


def works_in_hand(state: State, settings: RunSettings, folder: Path) -> tuple[Work, ...]:
    """Return the open work of people as agents; `folder` is the run's folder."""
    jobs = jobs_of_people(state, settings).values()
    return tuple(work for job in jobs if (work := load_work(home_of(folder, job))))


def is_handed_out(state: State, settings: RunSettings, folder: Path) -> bool:
    """Whether people have received all their work; the driver may still be about to hand some out."""
    return len(works_in_hand(state, settings, folder)) == len(jobs_of_people(state, settings))


def jobs_of_people(state: State, settings: RunSettings) -> dict[str, RunAgent]:
    """Return the running jobs of people as agents, by activity."""
    return {id_: job for id_, job in running_agents(state).items() if settings.is_by_person(job)}


def running_agents(state: State) -> dict[str, RunAgent]:
    """Return the running jobs of agents, people included, by activity."""
    jobs = {id_: act.command for id_, act in sorted(state.acts.items()) if act.phase == "running"}
    return {id_: job for id_, job in jobs.items() if isinstance(job, RunAgent)}


def next_due(state: State, people: Collection[str]) -> int:
    """Return when the next timer decides something, in milliseconds since the epoch; 0: never."""
    return min((due for id_, due in state.timers.items() if _decides(id_, people)), default=0)


def rest_rule(folder: Path, settings: RunSettings, *, starts_agents: bool) -> Rests:
    """Return when to stop driving: with agents, once only people could move the run; without, once others could."""

    def is_left(act: Activity) -> bool:
        job = act.command
        if act.phase == "held":  # it waits for a timer, which keeps a driver here, or for a person
            return True
        if act.phase != "running" or not isinstance(job, RunAgent):
            return False
        if not settings.is_by_person(job):
            return not starts_agents
        work = load_work(home_of(folder, job))
        return work is not None and not has_answer(work)

    def at_rest(state: State) -> bool:
        if not state.seq or not all(is_left(act) for act in state.acts.values()):
            return False
        return not starts_agents or not any(_decides(id_, state.acts) for id_ in state.timers)

    return at_rest


def _decides(timer: str, people: Collection[str]) -> bool:
    """Whether a timer will decide something; a person who works as an agent has no timeout."""
    return not timer.endswith(IDLE_TIMERS) and timer not in people
