"""A process that drives a run and may be killed at any of its points; `tests.runtime.nursery` has it forked.

Started again with the same root, it goes on with the same run. A point is passed before and after everything that
leaves a trace: a turn of the store, a lane, a bundle, an agent's work, a check, an effect, the reading of an answer.
"""

import asyncio
import json
import os
import signal
import sys
import traceback
from functools import cache
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any

from tests import fakes
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
from treadle.engines.driver import Driver, Surroundings
from treadle.kernel.commands import RunEffect
from treadle.kernel.events import Replied, RunStarted, Signalled
from treadle.kernel.state import State
from treadle.kernel.waits import awaits_go
from treadle.ports import Case, Outcome
from treadle.prompts import bundle
from treadle.protocol.answers.inputs import load_input
from treadle.protocol.digest import digest
from treadle.protocol.items import Json, canonical
from treadle.protocol.load import BUILT_IN, load
from treadle.protocol.model import Protocol
from treadle.runtime import agent
from treadle.runtime.desk import Desk
from treadle.runtime.dispatch import Dispatch, folder_name
from treadle.runtime.loop import awaits_only_people
from treadle.runtime.world import RunWorld, SystemClock
from treadle.store.records import Run
from treadle.store.sqlite import Store

RUN = "r"
PATIENCE = 120
"""Seconds after which a victim that does not end is ended."""


class Points:
    """Counts the points that are passed, and ends the process at the one it was told."""

    def __init__(self, fatal: int) -> None:
        self._fatal, self.passed = fatal, 0

    def pass_(self) -> None:
        self.passed += 1
        if self.passed == self._fatal:
            os.kill(os.getpid(), signal.SIGKILL)

    def guard(self, owner: Any, name: str) -> None:
        """Make a function a point, before and after."""
        call = getattr(owner, name)

        async def waited(*args: Any, **kwargs: Any) -> Any:
            self.pass_()
            result = await call(*args, **kwargs)
            self.pass_()
            return result

        def called(*args: Any, **kwargs: Any) -> Any:
            self.pass_()
            result = call(*args, **kwargs)
            self.pass_()
            return result

        setattr(owner, name, waited if iscoroutinefunction(call) else called)


class OnceEffects:
    """Effects that, like a compare-and-swap, are done by whoever comes first; the others find them done."""

    def __init__(self, root: Path, journal: Journal, points: Points) -> None:
        self._folder, self._points = root / "effects", points
        self._smooth = SmoothEffects(journal)
        self._folder.mkdir(exist_ok=True)

    async def perform(self, job: RunEffect, case: Case) -> Outcome:
        done = self._folder / folder_name(f"{case.state.run}/{job.id}")
        self._points.pass_()
        if done.exists():
            exits = case.protocol.graphs[job.graph].steps[job.step].exits
            found = json.loads(done.read_bytes())
            assert found["exit"] in exits
            return Outcome(exit=found["exit"], fields=found["fields"])
        outcome = await self._smooth.perform(job, case)
        part = done.with_suffix(".part")
        part.write_bytes(canonical({"exit": outcome.exit, "fields": outcome.fields}))
        part.rename(done)
        self._points.pass_()
        return outcome


class PointedSurroundings(Surroundings):
    """A believing world whose every port is a point."""

    def __init__(self, root: Path, store: Store, protocol: Protocol, whims: float, points: Points) -> None:
        self._root, self._store, self._protocol, self._points = root, store, protocol, points
        self._journal = Journal(root / "journal")
        self._runner = Improvised(protocol, self._journal, whims=whims)

    def world(self, run: Run) -> RunWorld:  # noqa: ARG002
        workspace, checks = PlainWorkspace(self._root, self._journal), BelievingChecks(self._journal)
        self._points.guard(workspace, "open")
        self._points.guard(checks, "verify")
        return RunWorld(
            clock=SystemClock(),
            payloads=self._store.payloads,
            agents=SingleAgent(self._runner),
            workspace=workspace,
            checks=checks,
            effects=OnceEffects(self._root, self._journal, self._points),
            notifier=RecordingNotifier(),
        )

    def dispatch(self, run: Run, desk: Desk, world: RunWorld) -> Dispatch:
        return Dispatch(desk, world, self._root / "runs" / run.id, {})


async def main(root: Path, protocol: Protocol, given: str, whims: float, fatal: int) -> None:
    points = Points(fatal)
    for owner, name in ((Store, "append"), (bundle, "write"), (agent, "read_answer"), (fakes, "put_answer")):
        points.guard(owner, name)
    store = Store(root / "store.db", create=True)
    if not store.runs():
        begin(store, protocol, given)
    driver = Driver(store, PointedSurroundings(root, store, protocol, whims, points))
    state = await driver.drive(RUN, rests=awaits_only_people)
    while not state.outcome:
        people(store, protocol, state)
        state = await driver.drive(RUN, rests=awaits_only_people)
    sys.stdout.write(json.dumps({"points": points.passed, "result": essence(state)}))
    store.close()


def begin(store: Store, protocol: Protocol, given: str) -> None:
    now = SystemClock().now()
    item = load_input(protocol, given, "given.yaml", store.payloads.put).item
    start = RunStarted(id="start", ts=now, run=RUN, protocol=digest(protocol), input=item)
    run = Run(
        id=RUN,
        name=RUN,
        protocol="",
        settings={},
        created=now,
        changed=now,
        seq=0,
        acts=0,
        asks=0,
        outcome="",
        owner="",
    )
    store.create(run, protocol, start)


def people(store: Store, protocol: Protocol, state: State) -> None:
    """Answer what is open and let go what waits, the same way whenever it is asked."""
    for ask, choice in decide(protocol, state).items():
        store.post(RUN, Replied(id=f"{ask}!reply", ts=state.now, ask=ask, choice=choice, actor="somebody"))
    for inst in state.insts.values():
        if inst.live and (step := awaits_go(protocol, state, inst)):
            visit = inst.visits.get(step, 0)
            store.post(
                RUN, Signalled(id=f"{inst.id}!go:{step}:{visit}", ts=state.now, inst=inst.id, name="go", step=step)
            )


def essence(state: State) -> dict[str, Json]:
    """What a run came to, without the times and the order of what is parallel."""
    return {
        "outcome": state.outcome,
        "insts": {
            inst.id: {
                "outcome": inst.outcome,
                "last": dict(inst.last),
                "visits": dict(inst.visits),
                "spent": dict(inst.spent),
                "slots": {name: slot.ref for name, slot in inst.slots.items()},
            }
            for inst in state.insts.values()
        },
    }


@cache
def protocol_of(name: str) -> tuple[Protocol, str]:
    folder = BUILT_IN / name
    return load(folder), (folder / "example.yaml").read_text(encoding="utf-8")


def hatch(root: str, name: str, whims: float, fatal: int, out: str, err: str) -> int:
    """Fork a victim and wait for it; its exit code, or the signal that ended it as a negative number."""
    protocol, given = protocol_of(name)
    child = os.fork()
    if not child:
        signal.alarm(PATIENCE)
        for path, stream in ((out, 1), (err, 2)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
        code = 1
        try:
            asyncio.run(main(Path(root), protocol, given, whims, fatal))
            sys.stdout.flush()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    for line in sys.stdin:
        sys.stdout.write(f"{hatch(*json.loads(line))}\n")
        sys.stdout.flush()
