"""Runs of the built-in protocols, driven for real in a world that believes almost everything, for tests of readers."""

import asyncio
import atexit
import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from tests.fakes import (
    BelievingChecks,
    Improvised,
    Journal,
    PlainWorkspace,
    RecordingNotifier,
    SingleAgent,
    SmoothEffects,
    decide,
)
from treadle.config.settings import load_settings
from treadle.engines.driver import Driver, Surroundings
from treadle.engines.run_settings import RunSettings
from treadle.kernel.commands import RunChecks
from treadle.kernel.events import CheckResult, Replied, RunStarted, Signalled, Usage
from treadle.kernel.state import State
from treadle.kernel.waits import awaits_go
from treadle.ports import Case, Ended, Session, Verdict, Watch, Work
from treadle.protocol.answers.inputs import load_input
from treadle.protocol.digest import digest
from treadle.protocol.load import BUILT_IN, load
from treadle.protocol.model import Protocol
from treadle.runtime.desk import Desk
from treadle.runtime.dispatch import Dispatch
from treadle.runtime.loop import awaits_only_people
from treadle.runtime.world import RunWorld, SystemClock
from treadle.store.records import Run
from treadle.store.sqlite import Store

USED: Final = Usage(1000, 200, 0.25)
"""What every agent uses."""
EVIL: Final = "\x1b]0;owned\x07\x1b[2Jgone \u202e\ud800"
"""A report that would like to act on a terminal."""
_STOPS: Final = 50
_SHELF: Final = TemporaryDirectory(prefix="treadle-recorded-")
atexit.register(_SHELF.cleanup)


class _Metered:
    """A session that says what it has used."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def wait(self) -> Ended:
        return msgspec.structs.replace(await self._session.wait(), usage=USED)

    async def nudge(self, text: str) -> bool:
        return await self._session.nudge(text)

    async def cancel(self) -> None:
        await self._session.cancel()


class _Agents(Improvised):
    async def start(self, work: Work, watch: Watch) -> Session:
        return _Metered(await super().start(work, watch))


class _Checks(BelievingChecks):
    """Refuses first attempts at steps whose claims are checked, as often as it is told to."""

    def __init__(self, journal: Journal, refuses: int) -> None:
        super().__init__(journal)
        self._left = refuses

    async def verify(self, job: RunChecks, case: Case) -> Verdict:
        if not job.checks or not job.exit or not self._left:
            return await super().verify(job, case)
        self._left -= 1
        report = case.payloads.put({"said": EVIL})
        results = tuple(CheckResult(check.name, number > 0, report) for number, check in enumerate(job.checks))
        return Verdict(results=results, report="mend it", fingerprint="f")


class _Around(Surroundings):
    def __init__(self, root: Path, store: Store, protocol: Protocol, refuses: int, whims: float) -> None:
        self._root, self._store, self._journal = root, store, Journal(root / "journal")
        self._runner = _Agents(protocol, self._journal, whims=whims)
        self._checks = _Checks(self._journal, refuses)

    def world(self, run: Run) -> RunWorld:  # noqa: ARG002
        return RunWorld(
            clock=SystemClock(),
            payloads=self._store.payloads,
            agents=SingleAgent(self._runner),
            workspace=PlainWorkspace(self._root, self._journal),
            checks=self._checks,
            effects=SmoothEffects(self._journal),
            notifier=RecordingNotifier(),
        )

    def dispatch(self, run: Run, desk: Desk, world: RunWorld) -> Dispatch:
        return Dispatch(desk, world, self._root / ".treadle" / "local" / "runs" / run.id, {})


def project(root: Path) -> Store:
    """A folder with a project and an empty store in it."""
    local = root / ".treadle" / "local"
    local.mkdir(parents=True)
    return Store(local / "store.db", create=True)


def add_run(store: Store, name: str, protocol: Protocol) -> None:
    """A run that nobody has taken up yet."""
    example = (BUILT_IN / protocol.name / "example.yaml").read_text(encoding="utf-8")
    given = load_input(protocol, example, "example.yaml", store.payloads.put)
    now = SystemClock().now()
    pinned = RunSettings(
        protocol=protocol.name,
        config=load_settings(None, {}).config(protocol.name),
        agents=dict.fromkeys(protocol.roles, "manual"),
    )
    settings = msgspec.to_builtins(pinned)
    record = Run(
        id=name, name=name, protocol="", settings=settings, created=now, changed=now, seq=0, acts=0, asks=0, outcome="",
        owner="",
    )  # fmt: skip
    start = RunStarted(id="start", ts=now, run=name, protocol=digest(protocol), input=given.item)
    store.create(record, protocol, start)


def drive(
    root: Path,
    store: Store,
    name: str,
    protocol: Protocol,
    *,
    refuses: int = 0,
    whims: float = 0.0,
    stops: int = _STOPS,
) -> State:
    """Drive a run until it ends, or until people would have had to help more often than they are willing to."""
    around = _Around(root, store, protocol, refuses, whims)

    async def on() -> State:
        driver = Driver(store, around)
        for number in range(stops + 1):
            state = await asyncio.wait_for(driver.drive(name, rests=awaits_only_people), 60)
            if state.outcome or number == stops:
                return state
            _help(store, name, protocol, state, number)
        raise AssertionError(name)

    return asyncio.run(on())


def _help(store: Store, name: str, protocol: Protocol, state: State, number: int) -> None:
    for ask, choice in decide(protocol, state, number).items():
        note = store.payloads.put(f"note {number}")
        store.post(name, Replied(id=f"{ask}!{number}", ts=state.now, ask=ask, choice=choice, note_ref=note, actor="me"))
    for inst in state.insts.values():
        if inst.live and (step := awaits_go(protocol, state, inst)):
            store.post(name, Signalled(id=f"{inst.id}go{number}", ts=state.now, inst=inst.id, name="go", step=step))


def record(
    root: Path, name: str = "r", of: str = "v3", *, refuses: int = 0, whims: float = 0.0, stops: int = _STOPS
) -> State:
    """A project with one run of a built-in protocol in it; its state in the end."""
    folder, state = _recorded(name, of, refuses, whims, stops)
    shutil.copytree(folder, root, dirs_exist_ok=True)
    return state


@cache
def _recorded(name: str, of: str, refuses: int, whims: float, stops: int) -> tuple[Path, State]:
    """Driven once, copied for every test that wants it."""
    root = Path(_SHELF.name) / f"{name} {of} {refuses} {whims} {stops}"
    root.mkdir()
    store, protocol = project(root), load(of)
    add_run(store, name, protocol)
    state = drive(root, store, name, protocol, refuses=refuses, whims=whims, stops=stops)
    store.close()
    return root, state
