"""Driving a run of a project in this process, up to its end or its next rest."""

from contextlib import suppress

import msgspec

from treadle.config.project import Project
from treadle.engines.baseline import is_needed, take_baseline
from treadle.engines.containers import container_of
from treadle.engines.local import Changed, Host
from treadle.engines.parts import telling
from treadle.engines.pinned import pinned
from treadle.engines.result import result_of
from treadle.engines.surroundings import Hear, ProjectSurroundings, hear_nothing
from treadle.engines.waiting import rests
from treadle.errors import PortError
from treadle.kernel.lifecycle import ROOT
from treadle.kernel.state import State
from treadle.ports import Progress
from treadle.runtime.desk import Desk
from treadle.runtime.loop import Rests, ended
from treadle.runtime.tools import Tools
from treadle.store.owner import is_alive, me, parse
from treadle.store.records import Run
from treadle.store.sqlite import Store
from treadle.views.baseline import counts
from treadle.views.result import is_good, told


class Driver:
    """Drives runs of a project. Without `starts_agents` it goes on only until an agent, a person or a time is due."""

    def __init__(
        self,
        project: Project,
        store: Store,
        *,
        starts_agents: bool = True,
        hear: Hear = hear_nothing,
        tools: Tools | None = None,
    ) -> None:
        self._project, self._store, self._starts_agents, self._hear = project, store, starts_agents, hear
        self._surroundings = ProjectSurroundings(project, store, starts_agents=starts_agents, hear=hear, tools=tools)
        self._host = Host(store, self._surroundings)

    async def to_rest(self, run: str, changed: Changed | None = None) -> State:
        """Drive until only people could move the run; a `PortError` if another process drives it."""
        settings = pinned(self._store.run(run))
        at_rest = rests(self._project.runs / run, settings, starts_agents=self._starts_agents)
        return await self._drive(run, at_rest, changed)

    async def to_end(self, run: str, changed: Changed | None = None) -> State:
        """Drive until the run has ended, however long people take."""
        return await self._drive(run, ended, changed)

    async def _drive(self, run: str, at_rest: Rests, changed: Changed | None) -> State:
        record = self._store.run(run)
        if record.outcome:
            return self._store.load(run).state
        await self._surroundings.prepare(record)
        await self._take_baseline(record)
        before, notifier = self._store.load(run).state, self._surroundings.world(record).notifier
        async with telling(run, before, notifier) as tell:

            def moved(desk: Desk) -> None:
                tell(desk.protocol, desk.state)
                if changed:
                    changed(desk)

            state = await self._host.drive(run, at_rest, moved)
        if state.outcome:
            await self._finish(record, state)
        return state

    async def _take_baseline(self, record: Run) -> None:
        """Run the tests on the base commit, unless that is known, or an agent has worked already."""
        settings, history = pinned(record), self._store.load(record.id)
        has_begun = any(inst.slots for inst in history.state.insts.values())
        protocol = self._store.protocol(record.protocol)
        if not self._starts_agents or has_begun or not is_needed(protocol, settings.config):
            return
        commit = await self._surroundings.start_of(record)
        if settings.baseline is not None and settings.baseline.commit == commit:
            return
        self._hear(
            record.id, f"{ROOT}:", Progress(note=f"baseline: running the tests of the base commit {commit[:12]}")
        )
        container = await container_of(self._project, record)
        found = await take_baseline(self._project, self._store, protocol, settings.config, commit, container)
        self._store.note_settings(record.id, {**record.settings, "baseline": msgspec.to_builtins(found)})
        self._hear(record.id, f"{ROOT}:", Progress(note=f"baseline: {counts(found)}"))

    async def _finish(self, run: Run, state: State) -> None:
        """Give the lanes back and tell people; the run has ended, whatever comes of that."""
        world, outcome = self._surroundings.world(run), state.outcome
        what = "done" if is_good(outcome) else "failed"
        with suppress(PortError):
            await self._surroundings.settle(state)
        with suppress(PortError):  # lanes that could not be given back are left to `treadle gc`
            await world.workspace.close(run.id)
        with suppress(PortError):
            found = await result_of(self._project, self._store.run(run.id))
            where = [line for line in told(run.id, found, good=is_good(outcome)) if line[0] != " "] if found else []
            await world.notifier.notify(run.id, what, "; ".join((f"ended with {outcome}", *where)))


def driver_of(run: Run) -> int:
    """The other process that drives a run, on this machine or another; 0 if nobody does.

    This process may still have a lease that it could not give back, because the disk was full.
    """
    owner = parse(run.owner)
    return owner.pid if owner and owner != me() and is_alive(owner) is not False else 0
