"""Programs in containers keep the same contract as those beside us, though nothing of them ends with their client."""

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.test_command import HOSTILE, QUICK, CommandBench
from tests.enclosures.engines import FakeEngine, fake_engine
from treadle.agents.command import Command
from treadle.agents.kept import Kept
from treadle.agents.process import attach_program, harvest_program
from treadle.agents.processes import look
from treadle.errors import PortError
from treadle.ports import Work
from treadle.testing.runner_contract import PATIENCE, Behaviour, Clause, Stage, again, clauses, make_work, until


@pytest.fixture(scope="module")
def engine() -> Iterator[FakeEngine]:
    with fake_engine() as found:
        yield found


def command(engine: FakeEngine, name: str) -> Command:
    argv = (sys.executable, "-I", "-S", str(HOSTILE), name)
    return Command(argv=argv, root=Path("/"), patience=QUICK, enclosure=engine.container(mounts=(HOSTILE,)))


class ContainerBench(CommandBench):
    def __init__(self, engine: FakeEngine) -> None:
        self.engine = engine

    def runner(self, behaviour: Behaviour, work: Work) -> Command:  # noqa: ARG002
        return command(self.engine, behaviour)


TELLING = "cancel_ends is_found_again leaves_no_process a_further_try_ends answers_before passes_the_contract".split()
"""What goes wrong in containers, if anything does; the rest of the contract takes its time."""
CLAUSES = [
    pytest.param(it, id=it.name, marks=[] if any(word in it.name for word in TELLING) else [pytest.mark.soak])
    for it in clauses(CommandBench())
]


@pytest.mark.parametrize("clause", CLAUSES)
def test_contract(clause: Clause, tmp_path: Path, engine: FakeEngine) -> None:
    clause.hold(ContainerBench(engine), tmp_path)
    assert not engine.running()


def stage_in(folder: Path, engine: FakeEngine) -> Stage:
    bench = ContainerBench(engine)
    return Stage(bench, "works", make_work(folder, bench.lane(folder)), [])


@pytest.mark.parametrize(
    ("name", "how", "code", "detail"),
    [
        ("ends_with_three", "done", 3, "code 3"),
        ("kills_itself", "lost", -9, "SIGKILL; its last words: last words"),
    ],
)
def test_how_a_program_may_end(name: str, how: str, code: int, detail: str, tmp_path: Path, engine: FakeEngine) -> None:
    stage = stage_in(tmp_path, engine)

    async def play() -> None:
        session = await command(engine, name).start(stage.work, stage.watch)
        ended = await asyncio.wait_for(session.wait(), PATIENCE)
        assert (ended.how, ended.code) == (how, code)
        assert detail in ended.detail

    asyncio.run(play())


def test_a_program_that_is_not_in_the_image_has_failed(tmp_path: Path, engine: FakeEngine) -> None:
    stage = stage_in(tmp_path, engine)

    async def play() -> None:
        lacking = Command(argv=("no-such-program",), root=tmp_path, enclosure=engine.container())
        lacking.ready()
        ended = await (await lacking.start(stage.work, stage.watch)).wait()
        assert (ended.how, ended.code) == ("failed", 127)
        assert "there is no such program in the image; its last words: engine: no-such-program" in ended.detail

    asyncio.run(play())


def test_a_program_of_the_checkout_is_mounted_and_must_be_there(tmp_path: Path, engine: FakeEngine) -> None:
    stage = stage_in(tmp_path, engine)
    own = tmp_path / "agents" / "mine.sh"
    own.parent.mkdir()
    own.write_text("#!/bin/sh\necho $0 $1; cat ../secret 2>/dev/null\n")
    own.chmod(0o755)
    (tmp_path / "secret").write_text("not mounted\n")

    async def play() -> None:
        runner = Command(argv=("agents/mine.sh", "a b"), root=tmp_path, enclosure=engine.container())
        ended = await (await runner.start(stage.work, stage.watch)).wait()
        assert ended.final == f"{own} a b\n"

    asyncio.run(play())
    with pytest.raises(PortError, match=r"there is no program '\./gone'"):
        Command(argv=("./gone",), root=tmp_path, enclosure=engine.container()).ready()


def test_a_container_whose_keeper_was_killed_is_ended_by_whoever_comes_next(tmp_path: Path, engine: FakeEngine) -> None:
    """Its keeper and its client are gone, and with them everything that could be seen of it from here."""
    stage = stage_in(tmp_path, engine)
    kept = Kept.of(stage.work)

    async def play() -> None:
        runner = stage.runner()
        await runner.start(stage.work, stage.watch)
        await stage.bench.help("works", stage.work)
        keeper = kept.keeper()
        assert keeper is not None
        os.kill(keeper.pid, signal.SIGKILL)
        await until(lambda: kept.keeper() is None, "the keeper is gone")
        assert engine.running()
        assert await attach_program(stage.work, stage.watch, QUICK) is None
        assert await harvest_program(stage.work, QUICK) is None
        later = again(stage.work)
        session = await runner.start(later, stage.watch)
        await until(lambda: len(stage.pids()) == 2, "the second one works")
        assert look(stage.pids()[0]) is None
        await session.cancel()
        assert not engine.running()

    asyncio.run(play())


def test_an_engine_that_is_gone_is_told_of_instead_of_starting_a_second_agent(tmp_path: Path) -> None:
    with fake_engine() as engine:
        stage = stage_in(tmp_path, engine)
        kept = Kept.of(stage.work)

        async def begin() -> None:
            await stage.runner().start(stage.work, stage.watch)
            await stage.bench.help("works", stage.work)
            keeper = kept.keeper()
            assert keeper is not None
            os.kill(keeper.pid, signal.SIGKILL)
            await until(lambda: kept.keeper() is None, "the keeper is gone")

        asyncio.run(begin())
        (engine.folder / "socket").unlink()
        with pytest.raises(PortError, match=r"container treadle-run-1-\w+ of an agent cannot be ended: Cannot connect"):
            asyncio.run(stage.runner().start(again(stage.work), stage.watch))
