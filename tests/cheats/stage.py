"""Plays one agent in a real run: real git, real tests, the real host; what comes before it is played only once.

All cases of a process work at the same path, so that what was measured of a tree holds for each of them.
"""

import asyncio
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec
from ruamel.yaml import YAML

from tests.cheats.cases import HERE, Case
from tests.git.place import git, write
from treadle.agents.command import Command
from treadle.agents.script_reading import load_script
from treadle.agents.scripted import Scripted
from treadle.config.load import load_settings
from treadle.config.project import Project
from treadle.engines.local import Host
from treadle.engines.opening import opened_store
from treadle.engines.starting import Wanted, start
from treadle.engines.surroundings import ProjectSurroundings
from treadle.kernel.commands import RunAgent
from treadle.kernel.events import Checked, Failed
from treadle.kernel.replay import decode_event
from treadle.kernel.state import State
from treadle.ports import Abilities, Ended, Runner, Session, Watch, Work
from treadle.protocol.load import load
from treadle.runtime.desk import Desk
from treadle.runtime.dispatch import Dispatch
from treadle.runtime.world import World
from treadle.store.records import Run
from treadle.store.sqlite import Store

RUN: Final = "basket"
_SETTINGS: Final = ("toolchain.kind=pytest", f"toolchain.test={sys.executable} -m pytest", "toolchain.timeout=30")
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

    @property
    def refusals(self) -> list[Told]:
        return [one for one in self.told if one.refused]


class Cast(msgspec.Struct, frozen=True):
    """`ports.Runner`: the agent of a case at its step, and honest ones at all others."""

    own: Runner
    others: Runner
    step: str
    abilities: Abilities = Abilities()

    def _of(self, work: Work) -> Runner:
        return self.own if work.step == self.step else self.others

    async def start(self, work: Work, watch: Watch) -> Session:
        return await self._of(work).start(work, watch)

    async def attach(self, work: Work, watch: Watch) -> Session | None:
        return await self._of(work).attach(work, watch)

    async def harvest(self, work: Work) -> Ended | None:
        return await self._of(work).harvest(work)


class Playing(msgspec.Struct, frozen=True):
    """`engines.local.Surroundings` of a project, with a cast of ours."""

    real: ProjectSurroundings
    runner: Runner

    def world(self, run: Run) -> World:
        return replace(self.real.world(run), runner_of=lambda _role: self.runner)

    def dispatch(self, run: Run, desk: Desk, world: World) -> Dispatch:
        return self.real.dispatch(run, desk, world)


class Theatre:
    """The place where cases are played, and the starting points that have been prepared for them."""

    def __init__(self, folder: Path) -> None:
        self._root, self._kept, self._measured = folder / "repository", folder / "starts", folder / "measured"

    def play(self, case: Case, *, to_the_end: bool = False) -> Played:
        """Play a case from where its step begins, until it is refused or accepted (or the run is at its end)."""
        self._restore(case.world, case.step)
        before = self._users_own()
        with opened_store(Project(self._root)) as store:
            known = len(list(store.events(RUN)))
            rests = _is_over if to_the_end else _is_answered(case.step, store.load(RUN).state)
            state = asyncio.run(self._drive(store, _cast(case), rests))
            told = _told(store, known)
        if case.file.suffix != ".py":  # what a program may have touched is not believed
            _add(Project(self._root).local / "measured", self._measured)
        after = self._users_own()
        touched = tuple(
            f"{name} was {before[name]} and is {after[name]}" for name in before if before[name] != after[name]
        )
        return Played(state.outcome, told, touched)

    def _restore(self, world: str, step: str) -> None:
        kept = self._kept / f"{world}.{step}"
        if not kept.exists():
            self._prepare(world, step)
        shutil.rmtree(self._root, ignore_errors=True)
        shutil.copytree(kept, self._root, symlinks=True)
        _add(self._measured, Project(self._root).local / "measured")

    def _prepare(self, world: str, step: str) -> None:
        """Play the honest agents of a world up to a step."""
        shutil.rmtree(self._root, ignore_errors=True)
        self._root.mkdir(parents=True)
        git(self._root, "init", "-q", "-b", "main")
        write(self._root, YAML(typ="safe").load(HERE / "worlds" / world / "files.yaml"))
        git(self._root, "add", "-A")
        git(self._root, "commit", "-q", "-m", "Start")
        project = Project(self._root)
        wanted = Wanted(
            config=load_settings(None, {}, _SETTINGS).config("v3"),
            spec=(self._root / "spec.yaml").read_text(),
            file="spec.yaml",
            name=RUN,
            agents=("manual",),
        )
        with opened_store(project, create=True) as store:
            start(project, store, load("v3"), wanted)
            state = asyncio.run(self._drive(store, _honest(world), _is_at(step)))
            assert not _is_over(state), f"{world} does not come to {step}: {_told(store, 0)}"
        shutil.copytree(self._root, self._kept / f"{world}.{step}", symlinks=True)

    async def _drive(self, store: Store, runner: Runner, rests: Rests) -> State:
        real = ProjectSurroundings(Project(self._root), store)
        await real.prepare(store.run(RUN))
        return await Host(store, Playing(real, runner)).drive(RUN, rests)

    def _users_own(self) -> dict[str, str]:
        """Branches, index and files of the user."""
        listed = git(self._root, "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/main", "refs/tags")
        return {"status": git(self._root, "status", "--porcelain"), "refs": listed}


def _add(folder: Path, to: Path) -> None:
    """Add what one folder has to another."""
    if folder.exists():
        shutil.copytree(folder, to, dirs_exist_ok=True)


def _honest(world: str) -> Runner:
    return Scripted.load(HERE / "worlds" / world / "agents.yaml")


def _cast(case: Case) -> Runner:
    own: Runner
    if case.file.suffix == ".py":
        own = Command.parse(f"{sys.executable} -I {case.file}", root=HERE)
    else:
        own = Scripted(script=load_script(case.file))
    return Cast(own, _honest(case.world), case.step)


def _is_at(step: str) -> Rests:
    def at(state: State) -> bool:
        jobs = [act.command for act in state.acts.values() if act.phase == "running"]
        return _is_over(state) or any(isinstance(job, RunAgent) and job.step == step for job in jobs)

    return at


def _is_answered(step: str, start: State) -> Rests:
    """Some exit of the step has been taken, or refused, since a run stood so."""
    before = start.seq

    def answered(state: State) -> bool:
        slots = [(name, slot) for inst in state.insts.values() for name, slot in inst.slots.items()]
        return bool(state.asks) or any(slot.seq > before and name.startswith(f"{step}.") for name, slot in slots)

    return answered


def _is_over(state: State) -> bool:
    """The run has ended, somebody was refused, or a person is asked."""
    refused = any("!" in name for inst in state.insts.values() for name in inst.slots)
    return bool(state.seq) and (bool(state.outcome or state.asks) or refused)


def _told(store: Store, known: int) -> tuple[Told, ...]:
    """What was said to agents from some event on."""
    told: list[Told] = []
    for _, body in list(store.events(RUN))[known:]:
        event = decode_event(body)
        if isinstance(event, Failed):
            told.append(
                Told(event.act, True, str(store.payloads.get(event.detail_ref)) if event.detail_ref else event.why)
            )
        elif isinstance(event, Checked):
            told.append(_checked(store, event))
    return tuple(told)


def _checked(store: Store, event: Checked) -> Told:
    """What refused, for the agent; what was noted besides, for whoever reviews."""
    refusing: list[str] = []
    noted: list[str] = []
    for one in event.results:
        evidence = store.payloads.get(one.report_ref)
        assert isinstance(evidence, dict)
        is_refusal = not one.ok and not evidence.get("advisory")
        (refusing if is_refusal else noted).append(f"### {one.check}\n{evidence['report']}")
    return Told(event.act, bool(refusing), "\n".join(refusing), "\n".join(noted))
