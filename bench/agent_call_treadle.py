"""Calls of an agent by Treadle: runs of a protocol with one step in a project, and how long each part of them takes."""

import asyncio
import os
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import msgspec

from treadle.agents.one_shot import OneShot
from treadle.config.project import Project
from treadle.config.secrets import Redaction
from treadle.config.settings import load_settings
from treadle.engines.driver import Driver, Surroundings
from treadle.engines.start import StartRequest, inspect_request, start_run
from treadle.engines.surroundings import ProjectSurroundings
from treadle.kernel.commands import RunAgent
from treadle.ports import Abilities, Ended, Runner, Session, Watch, Work
from treadle.protocol.load import load
from treadle.runtime.desk import Desk
from treadle.runtime.dispatch import AgentTools, Dispatch
from treadle.runtime.loop import awaits_only_people
from treadle.runtime.world import AgentDirectory, RunWorld
from treadle.store.records import Run
from treadle.store.sqlite import Store

PROTOCOL = load(Path(__file__).with_name("one_call"))
_GIT = ("git", "-c", "user.name=User", "-c", "user.email=user@localhost")


class Parts(msgspec.Struct, frozen=True):
    """Seconds of a call."""

    sent: float
    """Lane, bundle, tools: until the runner is told to start."""
    started: float
    """HOME and keeper: until the program is known to be there."""
    worked: float
    """Until the program has ended and its stream is read."""
    claimed: float
    """Until its claim is in the log."""

    @property
    def total(self) -> float:
        return self.sent + self.started + self.worked + self.claimed


class Call(msgspec.Struct, frozen=True):
    """A call that was made: how long it took, and what a script needs to make the same one."""

    parts: Parts
    work: Work
    runner: OneShot


class Watched:
    """A runner, and the session that it starts, that note when they are asked and when they have answered."""

    def __init__(self, runner: OneShot) -> None:
        self.runner = runner
        self.times = [time.perf_counter()]
        self.work: Work | None = None
        self._session: Session | None = None

    @property
    def abilities(self) -> Abilities:
        return self.runner.abilities

    async def start(self, work: Work, watch: Watch) -> Session:
        if self.work:
            raise AssertionError("the agent was told to go on, so it has not answered")
        self.work = work
        self.note()
        self._session = await self.runner.start(work, watch)
        self.note()
        return self

    async def attach(self, work: Work, watch: Watch) -> Session | None:
        return await self.runner.attach(work, watch)

    async def harvest(self, work: Work) -> Ended | None:
        return await self.runner.harvest(work)

    async def wait(self) -> Ended:
        ended = await self._at_work().wait()
        self.note()
        return ended

    async def nudge(self, text: str) -> bool:
        return await self._at_work().nudge(text)

    async def cancel(self) -> None:
        await self._at_work().cancel()

    def note(self) -> None:
        self.times.append(time.perf_counter())

    def call(self) -> Call:
        if self.work is None:
            raise AssertionError("nobody was called")
        return Call(Parts(*(b - a for a, b in zip(self.times, self.times[1:], strict=False))), self.work, self.runner)

    def _at_work(self) -> Session:
        if self._session is None:
            raise AssertionError("nobody was called")
        return self._session


class NotedAgents(AgentDirectory):
    """The agents of a project; notes the one that is called."""

    def __init__(self, real: AgentDirectory) -> None:
        self._real = real
        self.watched: Watched | None = None

    def runner_of(self, job: RunAgent) -> Runner:
        runner = self._real.runner_of(job)
        if not isinstance(runner, OneShot):
            raise TypeError(f"{runner} is no program that is started once")
        self.watched = Watched(runner)
        return self.watched

    def name_of(self, job: RunAgent) -> str:
        return self._real.name_of(job)

    def model_of(self, role: str, tier: int) -> str:
        return self._real.model_of(role, tier)

    def secrets(self) -> Redaction:
        return self._real.secrets()


class Noted(Surroundings):
    """The surroundings of a project whose one call is watched."""

    def __init__(self, real: ProjectSurroundings) -> None:
        self.real = real
        self.agents: NotedAgents | None = None

    @property
    def watched(self) -> Watched | None:
        return self.agents.watched if self.agents else None

    async def prepare(self, run: Run) -> None:
        await self.real.open(run)

    def world(self, run: Run) -> RunWorld:
        world = self.real.world(run)
        self.agents = NotedAgents(world.agents)
        return replace(world, agents=self.agents)

    def dispatch(self, run: Run, desk: Desk, world: RunWorld) -> Dispatch:
        return self.real.dispatch(run, desk, world)

    def changed(self, desk: Desk) -> None:
        if desk.state.outcome and self.watched:
            self.watched.note()


class Caller:
    """Calls one agent, each time in a run of its own."""

    def __init__(self, project: Project, store: Store, tools: AgentTools, agent: str) -> None:
        self._project, self._store, self._tools, self._agent = project, store, tools, agent

    def call(self, name: str, box: str = "off") -> Call:
        wanted = StartRequest(
            config=load_settings(None, {}, (f"workspace.box={box}",)).config(PROTOCOL.name),
            spec='{"name": "a line"}',
            file="order.json",
            name=name,
            agents=(self._agent,),
        )
        start_run(self._store, inspect_request(self._project, PROTOCOL, wanted))
        return asyncio.run(self._drive(name))

    async def _drive(self, name: str) -> Call:
        real = ProjectSurroundings(self._project, self._store, tools=self._tools)
        noted = Noted(real)
        state = await Driver(self._store, noted).drive(name, noted.changed, awaits_only_people)
        if state.outcome != "Done" or noted.watched is None:
            raise AssertionError(f"{name} ended as {state.outcome}: {list(state.acts.values())}")
        return noted.watched.call()


def lay_out(root: Path) -> None:
    """A repository with a file in it."""
    root.mkdir(parents=True)
    (root / "README.md").write_text("A place for notes.\n")
    (root / "notes").mkdir()
    (root / "notes" / "first.txt").write_text("one\n")
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "Start")):
        subprocess.run([*_GIT, *words], cwd=root, check=True, env=os.environ | {"GIT_CONFIG_GLOBAL": os.devnull})
