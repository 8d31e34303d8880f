"""The world of a story: a small real repository, real tests, the real host with its gates; agents and a person follow
the story.

Worlds that are made in one folder work at the same path, so that what was measured of a tree holds for each of them.
"""

import asyncio
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from tests.end_to_end.cast import Cast, Part, holds
from tests.end_to_end.ending import RUN, End
from tests.fakes import SingleAgent
from tests.git.place import git, write
from tests.sql import sql
from treadle.config.project import Project
from treadle.config.settings import load_settings
from treadle.engines.client import Client
from treadle.engines.driver import Driver, Surroundings
from treadle.engines.start import StartRequest, inspect_request, start_run
from treadle.engines.surroundings import ProjectSurroundings
from treadle.kernel.state import State
from treadle.kernel.waits import awaits_go
from treadle.ports import Clock
from treadle.protocol.load import load_source
from treadle.protocol.model import Protocol, base_of
from treadle.runtime.desk import Desk
from treadle.runtime.dispatch import Dispatch
from treadle.runtime.loop import awaits_only_people
from treadle.runtime.world import RunWorld as Ports
from treadle.store.records import Run
from treadle.store.sqlite import Store, opened_store

_SETTINGS: Final = ("toolchain.kind=pytest", f"toolchain.test={sys.executable} -m pytest", "toolchain.timeout=120")
_PATIENCE: Final = 240
"""Seconds without an event after which a story is given up."""
_GLANCE: Final = 0.02
PYPROJECT: Final = '[project]\nname = "it"\nversion = "0"\n\n[tool.pytest.ini_options]\npythonpath = ["src"]\n'


class Answer(msgspec.Struct, frozen=True):
    """What a person says to a question."""

    choice: str
    note: str = ""
    after: tuple[str, ...] = ()
    """What must be so before it is said, see `cast.holds`."""


class Move(msgspec.Struct, frozen=True):
    """What a person does unasked, e.g. `Move(("root/a:tests#1.1",), lambda client: client.abort(RUN, at="root/a"))`."""

    after: tuple[str, ...]
    act: Callable[[Client], object]


Said = str | tuple[str, str] | Answer
Answers = Mapping[str, Said | list[Said]]
"""Question by place (`root/a:stuck`) → the answer, or one for each time it is asked."""


class World:
    """Where a story takes place; it is told by `agent` and played by `run`."""

    def __init__(
        self,
        folder: Path,
        *,
        protocol: str = "v3",
        files: Mapping[str, str],
        spec: Mapping[str, Any] | str,
        honest: Iterable[Part] = (),
        clock: Clock | None = None,
        conversations: bool = False,
        settings: tuple[str, ...] = (),
        rules: str = "",
    ) -> None:
        self._folder, self.root = folder, folder / "repository"
        self._protocol, self._clock, self._settings = protocol, clock, settings
        self._spec = spec if isinstance(spec, str) else msgspec.json.encode(spec).decode()
        self.cast = Cast(conversations)
        self.cast.others += honest
        shutil.rmtree(self.root, ignore_errors=True)
        self.root.mkdir(parents=True)
        git(self.root, "init", "-q", "-b", "main")
        write(self.root, {".gitignore": "__pycache__/\n", "pyproject.toml": PYPROJECT, **files})
        self._rules = self.root / ".ai" / "step-rules.yaml" if rules else None
        write(self.root, {".ai/step-rules.yaml": rules} if rules else {})
        git(self.root, "add", "-A")
        git(self.root, "commit", "-q", "-m", "Start")

    def agent(self, step: str, instance: str = "root", **turn: Any) -> None:
        """The next turn of a step (keys as in a script, and `after`, `reminded`); then the honest agents play."""
        self.cast.own.append(Part.of(step, instance, **turn))

    def as_usual(self, step: str, instance: str = "root", after: str | tuple[str, ...] = ()) -> None:
        """The next turn of a step is the honest agent's first one, when something is so."""
        usual = next(it for it in self.cast.others if it.step == step and fnmatchcase(instance, it.instance))
        conditions = (after,) if isinstance(after, str) else after
        self.cast.own.append(msgspec.structs.replace(usual, instance=instance, after=conditions))

    def run(self, answers: Answers | None = None, moves: Iterable[Move] = (), *, goes: bool = True) -> End:
        """Play the story until it ends, or until nobody has anything more to say.

        A step that a person starts is let go as soon as it waits for it, unless the story says so itself.
        """
        project = Project(self.root)
        with opened_store(project, create=True) as store:
            self._share(project, store)
            wanted = StartRequest(
                config=load_settings(None, {}, (*_SETTINGS, *self._settings)).config(self._protocol),
                spec=self._spec,
                file="spec.yaml",
                name=RUN,
                agents=("command:true",),  # the cast plays in its place; nobody reminds or hurries a person
            )
            protocol = load_source(self._protocol, rules=self._rules).protocol
            start_run(store, inspect_request(project, protocol, wanted))
            starts: _Starts = partial(_to_go, protocol) if goes else lambda _: {}
            person = _Person(self.cast, Client(project, store), answers or {}, list(moves), starts)
            asyncio.run(self._play(project, store, person))
            self._keep(project)
            return End.of(project, store, self.cast)

    def go_on(self, answers: Answers | None = None) -> End:
        """Play on, after something has happened to the run outside of the story."""
        project = Project(self.root)
        with opened_store(project) as store:
            person = _Person(self.cast, Client(project, store), answers or {}, [], lambda _: {})
            asyncio.run(self._play(project, store, person))
            return End.of(project, store, self.cast)

    async def _play(self, project: Project, store: Store, person: "_Person") -> None:
        real = ProjectSurroundings(project, store)
        driver = Driver(store, _Playing(real, self.cast, self._clock))
        speaking = asyncio.create_task(person.attend())

        def changed(desk: Desk) -> None:
            self.cast.state = desk.state

        driving = asyncio.create_task(driver.drive(RUN, changed, person.rests))
        try:
            await self._moving({driving, speaking})
            if not driving.done():
                await speaking  # which has failed
            await driving
        finally:
            for task in (driving, speaking):
                task.cancel()
            await asyncio.gather(driving, speaking, return_exceptions=True)
        await real.integrate_last(store.load(RUN).state)

    async def _moving(self, tasks: "set[asyncio.Task[Any]]") -> None:
        """Until one of them is done, as long as the run moves."""
        while not any(task.done() for task in tasks):
            before = self.cast.state.seq
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED, timeout=_PATIENCE)
            moves = self.cast.state.seq > before or any(task.done() for task in tasks)
            assert moves, f"the story does not move: {_stands(self.cast.state)}"

    def _share(self, project: Project, store: Store) -> None:
        """The same key for all worlds of a folder, or nothing that one has measured would hold for another."""
        key = self._folder / "key"
        if not key.exists():
            key.write_bytes(os.urandom(32))
        sql(store.path, "INSERT INTO keys VALUES ('files', ?)", key.read_bytes())
        _add(self._folder / "measured", project.local / "measured")

    def _keep(self, project: Project) -> None:
        _add(project.local / "measured", self._folder / "measured")


class _Person:
    """Answers what is asked, as `treadle answer` does, and acts by himself when it is time."""

    def __init__(self, cast: Cast, client: Client, answers: Answers, moves: list[Move], starts: "_Starts") -> None:
        self._cast, self._client, self._moves, self._starts = cast, client, moves, starts
        self._left = {
            place: list(map(_said, said if isinstance(said, list) else [said])) for place, said in answers.items()
        }
        self._done: set[str] = set()

    async def attend(self) -> None:
        while True:
            state = self._cast.state
            for id_, place in _asked(state).items():
                left = self._left.get(place)
                if id_ not in self._done and left and _all(state, left[0].after):
                    answer = left.pop(0)
                    self._done.add(id_)
                    self._client.answer(RUN, answer.choice, ask=id_, note=answer.note)
            for visit, (inst, step) in self._starts(state).items():
                if visit not in self._done:
                    self._done.add(visit)
                    self._client.go(RUN, step, at=inst)
            for move in [move for move in self._moves if _all(state, move.after)]:
                self._moves.remove(move)
                move.act(self._client)
            await asyncio.sleep(_GLANCE)

    def rests(self, state: State) -> bool:
        asked = _asked(state)
        speaks = any(id_ in self._done or self._left.get(place) for id_, place in asked.items())
        return awaits_only_people(state) and not speaks and not self._moves and not self._starts(state)


@dataclass(frozen=True)
class _Playing(Surroundings):
    """The surroundings of a project, with the cast of a story."""

    real: ProjectSurroundings
    cast: Cast
    clock: Clock | None

    async def prepare(self, run: Run) -> None:
        await self.real.open(run)

    def world(self, run: Run) -> Ports:
        ports = self.real.world(run)
        ports = replace(ports, agents=SingleAgent(self.cast, ports.agents))
        return replace(ports, clock=self.clock) if self.clock else ports

    def dispatch(self, run: Run, desk: Desk, world: Ports) -> Dispatch:
        return self.real.dispatch(run, desk, world)


_Starts = Callable[[State], Mapping[str, tuple[str, str]]]


def _to_go(protocol: Protocol, state: State) -> dict[str, tuple[str, str]]:
    """What a person would start: visit → instance and step."""
    waiting = [
        (inst, step) for inst in state.insts.values() if inst.live and (step := awaits_go(protocol, state, inst))
    ]
    return {f"{inst.id}:{step}#{inst.visits.get(step, 0)}": (inst.id, step) for inst, step in waiting}


def _said(said: Said) -> Answer:
    if isinstance(said, Answer):
        return said
    return Answer(said) if isinstance(said, str) else Answer(*said)


def _asked(state: State) -> dict[str, str]:
    """The open questions to people: id → place."""
    return {id_: f"{ask.inst}:{base_of(ask.step)}" for id_, ask in state.asks.items() if ask.command}


def _all(state: State, conditions: tuple[str, ...]) -> bool:
    return all(holds(state, what) for what in conditions)


def _stands(state: State) -> str:
    return f"at work: {', '.join(state.acts)}; asked: {', '.join(state.asks)}"


def _add(folder: Path, to: Path) -> None:
    if folder.exists():
        shutil.copytree(folder, to, dirs_exist_ok=True)
