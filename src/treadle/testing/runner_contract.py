"""The contract of runners, as a test suite for each of them, Treadle's own and yours.

A `Bench` makes a runner behave in certain ways; `clauses(bench)` returns the parts of the contract that these
behaviours can test. Each is called with the bench and an empty folder, and fails by an assertion.
"""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, Literal, Protocol, get_args

import msgspec

from treadle.agents.contract import has_answer
from treadle.agents.files import MAX_FINAL
from treadle.agents.processes import Process, find_process, processes_with
from treadle.agents.program import KeeperFiles
from treadle.ports import Ended, Progress, Runner, Watch, Work

Behaviour = Literal["answers", "works", "leaves", "floods", "dumps"]
"""Answers: prints `hello` and answers. Works: appends its pid to `pids` in the lane (if it is a process), then goes on
until it is ended. Leaves: starts processes that try to outlive it, appends their pids to `pids`, and ends. Floods:
prints more than the limit, and ends. Dumps: writes its environment to `environment.json` in the lane.
"""

DISK: Final = 20 << 20
PATIENCE: Final = 60.0


class Bench(Protocol):
    """Makes one kind of runner show a behaviour."""

    @property
    def behaviours(self) -> tuple[Behaviour, ...]:
        """The behaviours that this kind of runner supports."""
        ...

    def lane(self, folder: Path) -> Path:
        """Make a lane in a folder."""
        ...

    def runner(self, behaviour: Behaviour, work: Work) -> Runner:
        """Return a new runner with an agent of this behaviour."""
        ...

    async def help(self, behaviour: Behaviour, work: Work) -> None:
        """Do the part that must happen from outside, once the agent has started."""
        ...


class Stage(msgspec.Struct, frozen=True):
    """A bench, an activity, and its reported progress."""

    bench: Bench
    behaviour: Behaviour
    work: Work
    heard: list[Progress]

    @property
    def watch(self) -> Watch:
        return self.heard.append

    def runner(self) -> Runner:
        return self.bench.runner(self.behaviour, self.work)

    async def played(self) -> Ended:
        """Start the agent, and wait until it ends."""
        session = await self.runner().start(self.work, self.watch)
        await self.bench.help(self.behaviour, self.work)
        return await asyncio.wait_for(session.wait(), PATIENCE)

    def pids(self) -> list[int]:
        path = self.work.lane / "pids"
        return [int(line) for line in path.read_text().splitlines()] if path.exists() else []

    def left(self) -> list[Process]:
        """The processes of this activity that still live."""
        myself = find_process(os.getpid())
        # A program with a pid namespace of its own knows itself by a number that another process has out here.
        since = myself.start if myself else 0
        named = [found for pid in self.pids() if (found := find_process(pid)) and found.start >= since]
        return [
            *named,
            *processes_with(KeeperFiles.of(self.work).mark),
            *processes_with(KeeperFiles.of(again(self.work)).mark),
        ]


Check = Callable[[Stage], Awaitable[None]]


class Clause(msgspec.Struct, frozen=True):
    """One part of the contract."""

    behaviour: Behaviour
    check: Check

    @property
    def name(self) -> str:
        return f"{self.check.__name__}-{self.behaviour}"

    def hold(self, bench: Bench, folder: Path) -> None:
        """Put a runner to the test."""
        stage = Stage(bench, self.behaviour, make_work(folder, bench.lane(folder)), [])
        asyncio.run(asyncio.wait_for(self.check(stage), 3 * PATIENCE))


def make_work(folder: Path, lane: Path, act: str = "root:tests#1.1", **changes: object) -> Work:
    """An activity to put a runner to the test with."""
    work = Work(
        run="run-1",
        act=act,
        retry=0,
        step="tests",
        role="tdd",
        mode="write",
        attempt=1,
        lane=lane,
        home=folder / "home",
        prompt="Do it.",
        token=f"token of {folder}",
        env={"TREADLE_EXTRA": "extra"},
    )
    work.bundle.mkdir(parents=True, exist_ok=True)
    (work.bundle / "prompt.md").write_text(work.prompt)
    return msgspec.structs.replace(work, **changes)


def again(work: Work) -> Work:
    """The same activity, issued again after its agent was lost."""
    return msgspec.structs.replace(work, retry=work.retry + 1, token=f"{work.token}, again")


def clauses(bench: Bench) -> list[Clause]:
    """The parts of the contract that a bench can put to the test."""
    return [clause for clause in CONTRACT if clause.behaviour in bench.behaviours]


async def until(condition: Callable[[], bool], what: str) -> None:
    """Wait for something that has to happen."""
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.01)
    assert condition(), what


async def knows_nothing_before_the_start(stage: Stage) -> None:
    assert await stage.runner().harvest(stage.work) is None
    assert await stage.runner().attach(stage.work, stage.watch) is None


async def starts_and_ends(stage: Stage) -> None:
    ended = await stage.played()
    assert ended.how == "done", ended
    assert not stage.left()


async def answers_before_it_ends(stage: Stage) -> None:
    await stage.played()
    assert has_answer(stage.work)


async def reports_progress(stage: Stage) -> None:
    await stage.played()
    assert stage.heard, "nothing was heard of it"
    assert all(len(progress.text) <= MAX_FINAL for progress in stage.heard)


async def is_harvested_after_its_end(stage: Stage) -> None:
    ended = await stage.played()
    found = await stage.runner().harvest(stage.work)
    assert found == ended
    assert await stage.runner().attach(stage.work, stage.watch) is None


async def a_further_try_starts_afresh(stage: Stage) -> None:
    await stage.played()
    assert await stage.runner().harvest(again(stage.work)) is None
    assert await stage.runner().attach(again(stage.work), stage.watch) is None


async def may_be_started_again_in_the_same_home(stage: Stage) -> None:
    first = await stage.played()
    assert (await stage.played()).how == first.how
    assert not stage.left()


async def cancel_ends_it(stage: Stage) -> None:
    session = await stage.runner().start(stage.work, stage.watch)
    waiting = asyncio.ensure_future(session.wait())
    await stage.bench.help(stage.behaviour, stage.work)
    assert not waiting.done()
    await session.cancel()
    assert (await asyncio.wait_for(waiting, PATIENCE)).how == "lost"
    assert not stage.left()
    await session.cancel()
    assert (await asyncio.wait_for(session.wait(), PATIENCE)).how == "lost"


async def goes_on_when_nobody_waits(stage: Stage) -> None:
    session = await stage.runner().start(stage.work, stage.watch)
    waiting = asyncio.ensure_future(session.wait())
    await stage.bench.help(stage.behaviour, stage.work)
    waiting.cancel()
    await asyncio.wait([waiting])
    waiting = asyncio.ensure_future(session.wait())
    done, _ = await asyncio.wait([waiting], timeout=0.05)
    assert not done, "it has ended with the one that waited for it"
    await session.cancel()
    await asyncio.wait_for(waiting, PATIENCE)


async def is_found_again_if_it_survives(stage: Stage) -> None:
    session = await stage.runner().start(stage.work, stage.watch)
    await stage.bench.help(stage.behaviour, stage.work)
    found = await stage.runner().attach(stage.work, stage.watch)
    assert (found is not None) == stage.runner().abilities.survives
    if found:
        assert await stage.runner().harvest(stage.work) is None, "it still works"
        await found.cancel()
    await session.cancel()
    await asyncio.wait_for(session.wait(), PATIENCE)
    assert not stage.left()


async def is_never_joined_by_a_second_one(stage: Stage) -> None:
    first = await stage.runner().start(stage.work, stage.watch)
    await stage.bench.help(stage.behaviour, stage.work)
    second = await stage.runner().start(stage.work, stage.watch)
    await stage.bench.help(stage.behaviour, stage.work)
    assert len([pid for pid in stage.pids() if find_process(pid)]) <= 1
    for session in (first, second):
        await session.cancel()
        await asyncio.wait_for(session.wait(), PATIENCE)
    assert not stage.left()


async def a_further_try_ends_the_one_before(stage: Stage) -> None:
    await stage.runner().start(stage.work, stage.watch)
    await stage.bench.help(stage.behaviour, stage.work)
    before = stage.left()
    session = await stage.runner().start(again(stage.work), stage.watch)
    assert not {process for process in before if process in stage.left()}
    await session.cancel()
    await asyncio.wait_for(session.wait(), PATIENCE)


async def leaves_no_process_behind(stage: Stage) -> None:
    ended = await stage.played()
    assert ended.how == "done"
    assert stage.pids(), "it has started no process"
    assert not stage.left()


async def keeps_a_bounded_amount(stage: Stage) -> None:
    ended = await stage.played()
    assert 0 < len(ended.final) <= MAX_FINAL
    kept = sum(path.stat().st_size for path in stage.work.home.rglob("*") if path.is_file())
    assert kept <= DISK


async def passes_the_contract_and_no_secrets(stage: Stage) -> None:
    await stage.played()
    env = json.loads((stage.work.lane / "environment.json").read_text())
    work = stage.work
    assert env["TREADLE_BUNDLE"] == str(work.bundle)
    assert env["TREADLE_OUT"] == str(work.out)
    named = ("RUN", "ACT", "STEP", "ROLE", "MODE", "ATTEMPT", "TOKEN", "EXTRA")
    given = (work.run, work.act, work.step, work.role, work.mode, str(work.attempt), work.token, "extra")
    assert tuple(env[f"TREADLE_{name}"] for name in named) == given
    assert "SECRET_OF_THE_USER" not in env


def _all(behaviour: Behaviour, *checks: Check) -> list[Clause]:
    return [Clause(behaviour, check) for check in checks]


CONTRACT: Final = (
    *(Clause(behaviour, knows_nothing_before_the_start) for behaviour in get_args(Behaviour)),
    *_all(
        "answers",
        starts_and_ends,
        answers_before_it_ends,
        reports_progress,
        is_harvested_after_its_end,
        a_further_try_starts_afresh,
        may_be_started_again_in_the_same_home,
    ),
    *_all(
        "works",
        cancel_ends_it,
        goes_on_when_nobody_waits,
        is_found_again_if_it_survives,
        is_never_joined_by_a_second_one,
        a_further_try_ends_the_one_before,
    ),
    *_all("leaves", leaves_no_process_behind),
    *_all("floods", keeps_a_bounded_amount),
    *_all("dumps", passes_the_contract_and_no_secrets),
)
