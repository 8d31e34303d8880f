"""Plays one agent in a real run: real git, real tests, the real host; what comes before it is played only once.

All cases of a process work at the same path, so that what was measured of a tree holds for each of them.
"""

import asyncio
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import msgspec
from ruamel.yaml import YAML

from tests.cheats.cases import HERE, Case
from tests.fakes import SingleAgent
from tests.git.place import git, write
from tests.sql import sql
from treadle.agents.command import CommandRunner
from treadle.agents.script import load_script
from treadle.agents.scripted import Scripted
from treadle.config.project import Project
from treadle.config.settings import load_settings
from treadle.engines.driver import Driver, Surroundings
from treadle.engines.start import StartRequest, inspect_request, start_run
from treadle.engines.surroundings import ProjectSurroundings
from treadle.kernel.commands import RunAgent
from treadle.kernel.events import Checked, Exited, Failed
from treadle.kernel.replay import decode_event
from treadle.kernel.state import State
from treadle.ports import Abilities, Ended, Runner, Session, Watch, Work
from treadle.protocol.load import load
from treadle.runtime.desk import Desk
from treadle.runtime.dispatch import Dispatch
from treadle.runtime.world import RunWorld
from treadle.store.records import Run
from treadle.store.sqlite import Store, opened_store

RUN: Final = "basket"
_SETTINGS: Final = (
    *("toolchain.kind=pytest", f"toolchain.test={sys.executable} -m pytest", "toolchain.timeout=30"),
    "workspace.box=off",  # what the checks find is asked here, and not what the kernel would have refused first
)
_OURS: Final = ("refs/heads/treadle/", "refs/treadle/")
Rests = Callable[[State], bool]


class Told(msgspec.Struct, frozen=True):
    """What one activity was told."""

    act: str
    refused: bool
    text: str
    """The report of the checks that refused, or why no answer was found."""
    advice: str = ""
    """What advisory checks have to say to whoever reviews."""


class Played(msgspec.Struct, frozen=True):
    """How a case came out."""

    outcome: str
    told: tuple[Told, ...]
    touched: tuple[str, ...]
    """What of the user's own is not as it was."""
    strangers: tuple[str, ...] = ()
    """Commits of the run that are not by the orchestrator, or have another time or a message of somebody else's."""

    @property
    def refusals(self) -> list[Told]:
        return [one for one in self.told if one.refused]


class Cast(msgspec.Struct, frozen=True):
    """`ports.Runner`: the agent of a case at its step, and honest ones at all others."""

    own: Runner
    others: Runner
    step: str
    instance: str
    abilities: Abilities = Abilities()

    def _of(self, work: Work) -> Runner:
        is_own = work.step == self.step and work.act.startswith(f"{self.instance}:")
        return self.own if is_own else self.others

    async def start(self, work: Work, watch: Watch) -> Session:
        return await self._of(work).start(work, watch)

    async def attach(self, work: Work, watch: Watch) -> Session | None:
        return await self._of(work).attach(work, watch)

    async def harvest(self, work: Work) -> Ended | None:
        return await self._of(work).harvest(work)


@dataclass(frozen=True)
class Playing(Surroundings):
    """The surroundings of a project, with a cast of ours."""

    real: ProjectSurroundings
    runner: Runner

    async def prepare(self, run: Run) -> None:
        await self.real.open(run)

    def world(self, run: Run) -> RunWorld:
        world = self.real.world(run)
        return replace(world, agents=SingleAgent(self.runner, world.agents))

    def dispatch(self, run: Run, desk: Desk, world: RunWorld) -> Dispatch:
        return self.real.dispatch(run, desk, world)


class Theatre:
    """The place where cases are played, and the starting points that have been prepared for them."""

    def __init__(self, folder: Path) -> None:
        self._root, self._kept, self._measured = folder / "repository", folder / "starts", folder / "measured"
        self._key = os.urandom(32)  # the same for all, or nothing that one case has measured would hold for another

    def play(self, case: Case, *, to_the_end: bool = False) -> Played:
        """Play a case from where its step begins, until it is refused or accepted (or the run is at its end)."""
        self._restore(case)
        before = self._users_own()
        with opened_store(Project(self._root)) as store:
            known = len(list(store.events(RUN)))
            start = store.load(RUN).state
            rests = _is_answered(case, start) if not to_the_end else _has_ended if case.expects else _is_over
            state = asyncio.run(self._drive(store, _cast(case), rests))
            told = _told(store, known)
        if case.file.suffix != ".py":  # what a program may have touched is not believed
            _add(Project(self._root).local / "measured", self._measured)
        after = self._users_own()
        touched = tuple(
            f"{name} was {before[name]} and is {after[name]}" for name in before if before[name] != after[name]
        )
        return Played(state.outcome, told, touched, self._strangers(start.started // 1000))

    def _restore(self, case: Case) -> None:
        kept = self._kept / f"{case.world}.{case.step}.{case.instance.replace('/', '+')}"
        if not kept.exists():
            self._prepare(case, kept)
        shutil.rmtree(self._root, ignore_errors=True)
        shutil.copytree(kept, self._root, symlinks=True)
        _add(self._measured, Project(self._root).local / "measured")

    def _prepare(self, case: Case, kept: Path) -> None:
        """Play the honest agents of a world up to a step."""
        world = case.world
        shutil.rmtree(self._root, ignore_errors=True)
        self._root.mkdir(parents=True)
        git(self._root, "init", "-q", "-b", "main")
        write(self._root, YAML(typ="safe").load(HERE / "worlds" / world / "files.yaml"))
        git(self._root, "add", "-A")
        git(self._root, "commit", "-q", "-m", "Start")
        project = Project(self._root)
        wanted = StartRequest(
            config=load_settings(None, {}, _SETTINGS).config("v3"),
            spec=(self._root / "spec.yaml").read_text(),
            file="spec.yaml",
            name=RUN,
            agents=("manual",),
        )
        with opened_store(project, create=True) as store:
            sql(store.path, "INSERT INTO keys VALUES ('files', ?)", self._key)
            start_run(store, inspect_request(project, load("v3"), wanted))
            state = asyncio.run(self._drive(store, _honest(world), _is_at(case)))
            assert not _is_over(state), f"{world} does not come to {case.step}: {_told(store, 0)}"
        shutil.copytree(self._root, kept, symlinks=True)

    async def _drive(self, store: Store, runner: Runner, rests: Rests) -> State:
        real = ProjectSurroundings(Project(self._root), store)
        return await Driver(store, Playing(real, runner)).drive(RUN, rests=rests)

    def _users_own(self) -> dict[str, str]:
        """Branches, index and files of the user, and how git works there."""
        folder = self._root / ".git"
        listed = git(self._root, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        hooks = sorted(path for path in (folder / "hooks").glob("*") if path.suffix != ".sample")
        settings = [folder / "config", folder / "HEAD", *sorted((folder / "info").glob("*")), *hooks]
        return {
            "status": git(self._root, "status", "--porcelain"),
            "refs": "\n".join(line for line in listed if not line.startswith(_OURS)),
            "settings": "\n".join(f"{path.name}: {path.read_text()}" for path in settings),
        }

    def _strangers(self, started: int) -> tuple[str, ...]:
        """Commits of the run with anything of somebody else's in them."""
        words = ("--format=%an <%ae> %at, %cn <%ce> %ct: %s", "--glob=refs/heads/treadle", "--glob=refs/treadle")
        listed = git(self._root, "log", *words, "--not", "main").splitlines()
        ours = [f"Treadle <treadle@localhost> {at}, Treadle <treadle@localhost> {at}: " for at in (0, started)]
        return tuple(line for line in listed if not line.startswith(tuple(ours)) or "forged" in line)


def _add(folder: Path, to: Path) -> None:
    """Add what one folder has to another."""
    if folder.exists():
        shutil.copytree(folder, to, dirs_exist_ok=True)


def _honest(world: str) -> Runner:
    return Scripted(script=load_script(HERE / "worlds" / world / "agents.yaml"))


def _cast(case: Case) -> Runner:
    own: Runner
    if case.file.suffix == ".py":
        own = CommandRunner.parse(f"{sys.executable} -I {case.file}", root=HERE)
    else:
        own = Scripted(script=load_script(case.file))
    return Cast(own, _honest(case.world), case.step, case.instance)


def _is_at(case: Case) -> Rests:
    def at(state: State) -> bool:
        jobs = [act.command for act in state.acts.values() if act.phase == "running"]
        wanted = (case.step, case.instance)
        return _is_over(state) or any(isinstance(job, RunAgent) and (job.step, job.inst) == wanted for job in jobs)

    return at


def _is_answered(case: Case, start: State) -> Rests:
    """Some exit of the step has been taken, or refused, since a run stood so."""
    before, step = start.seq, case.until or case.step

    def answered(state: State) -> bool:
        own = state.insts.get(case.instance)
        slots = own.slots.items() if own else ()
        return _asks(state) or any(slot.seq > before and name.startswith(f"{step}.") for name, slot in slots)

    return answered


def _asks(state: State) -> bool:
    """Whether a person is asked; what a child asks its parent is answered by agents."""
    return any(ask.command for ask in state.asks.values())


def _has_ended(state: State) -> bool:
    """The run has ended, or a person is asked."""
    return bool(state.seq) and (bool(state.outcome) or _asks(state))


def _is_over(state: State) -> bool:
    """The run has ended, somebody was refused, or a person is asked."""
    refused = any("!" in name for inst in state.insts.values() for name in inst.slots)
    return _has_ended(state) or (bool(state.seq) and refused)


def _told(store: Store, known: int) -> tuple[Told, ...]:
    """What was said to agents from some event on."""
    told: list[Told] = []
    for _, body in list(store.events(RUN))[known:]:
        event = decode_event(body)
        if isinstance(event, Failed):
            told.append(
                Told(event.act, True, str(store.payloads.get(event.detail_ref)) if event.detail_ref else event.why)
            )
        elif isinstance(event, Checked) or (isinstance(event, Exited) and event.envelope.type == "MergeRejected"):
            told.append(_checked(store, event))
    return tuple(told)


def _checked(store: Store, event: Checked | Exited) -> Told:
    """What refused, for the agent; what was noted besides, for whoever reviews."""
    refusing: list[str] = []
    noted: list[str] = []
    for one in event.results:
        evidence = store.payloads.get(one.report_ref)
        assert isinstance(evidence, dict)
        is_refusal = not one.ok and not evidence.get("advisory")
        (refusing if is_refusal else noted).append(f"### {one.check}\n{evidence['report']}")
    return Told(event.act, bool(refusing), "\n".join(refusing), "\n".join(noted))
