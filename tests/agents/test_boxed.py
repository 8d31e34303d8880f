"""Programs in a box keep to the contract of agents, and how they ended is told as without one."""

import asyncio
import sys
from pathlib import Path

import msgspec
import pytest

from tests.agents.test_command import HOSTILE, QUICK
from tests.box import box_here
from treadle.agents.command import CommandRunner
from treadle.agents.program import KeeperFiles
from treadle.agents.registry import AgentSetup, parse_runner
from treadle.agents.scripted import Scripted
from treadle.enclosures.box import BubblewrapBox
from treadle.enclosures.port import OPEN, Enclosure
from treadle.ports import Ended, Work
from treadle.testing.runner_contract import PATIENCE, Behaviour, Clause, Stage, clauses, make_work, until


class BoxedBench(msgspec.Struct, frozen=True):
    box: Enclosure = OPEN
    behaviours: tuple[Behaviour, ...] = ("answers", "works", "leaves", "dumps")

    def lane(self, folder: Path) -> Path:
        lane = folder / "lane"
        lane.mkdir()
        return lane

    def runner(self, behaviour: Behaviour, work: Work) -> CommandRunner:  # noqa: ARG002
        argv = (sys.executable, "-I", "-S", str(HOSTILE), behaviour)
        return CommandRunner(argv=argv, root=Path("/"), patience=QUICK, enclosure=self.box)

    async def help(self, behaviour: Behaviour, work: Work) -> None:
        if behaviour == "works":
            await until((work.lane / "pids").exists, "it works")


@pytest.fixture
def box(monkeypatch: pytest.MonkeyPatch) -> BubblewrapBox:
    return box_here(monkeypatch)


@pytest.mark.parametrize("clause", clauses(BoxedBench()), ids=lambda clause: clause.name)
def test_contract(clause: Clause, box: BubblewrapBox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_USER", "hunter2")
    clause.hold(BoxedBench(box), tmp_path)


def command_of(bench: BoxedBench, name: str, work: Work) -> CommandRunner:
    command = bench.runner("works", work)
    return msgspec.structs.replace(command, argv=(*command.argv[:-1], name))


def played(name: str, box: BubblewrapBox, folder: Path, writes: tuple[str, ...] | None = None) -> tuple[Ended, Stage]:
    bench = BoxedBench(box)
    stage = Stage(bench, "works", make_work(folder, bench.lane(folder), writes=writes), [])

    async def play() -> Ended:
        session = await command_of(bench, name, stage.work).start(stage.work, stage.watch)
        return await asyncio.wait_for(session.wait(), PATIENCE)

    return asyncio.run(play()), stage


@pytest.mark.parametrize(
    ("name", "how", "code", "detail"),
    [
        ("says_nothing", "done", 0, ""),
        ("ends_with_three", "done", 3, "code 3"),
        ("kills_itself", "lost", -9, "SIGKILL; its last words: last words"),
        ("leaves_the_deaf", "done", 0, ""),
    ],
)
def test_each_end_of_a_program_is_reported(
    name: str, how: str, code: int, detail: str, box: BubblewrapBox, tmp_path: Path
) -> None:
    ended, stage = played(name, box, tmp_path)
    assert (ended.how, ended.code) == (how, code)
    assert detail in ended.detail
    assert not stage.left()
    assert KeeperFiles.of(stage.work).place.read_text() == box.name


def test_a_program_in_a_box_cannot_kill_its_keeper(box: BubblewrapBox, tmp_path: Path) -> None:
    """The parent of a program in there is the first process of the box, which no signal from inside can end."""
    bench = BoxedBench(box)
    stage = Stage(bench, "works", make_work(tmp_path, bench.lane(tmp_path)), [])

    async def play() -> Ended:
        session = await command_of(bench, "kills_its_keeper", stage.work).start(stage.work, stage.watch)
        await until(lambda: bool(stage.pids()), "it has begun")
        assert KeeperFiles.of(stage.work).keeper() is not None
        await session.cancel()
        return await asyncio.wait_for(session.wait(), PATIENCE)

    assert asyncio.run(play()).detail.endswith("on request")
    assert not stage.left()


def test_only_started_programs_get_a_box_and_scripted_agents_do_not(tmp_path: Path) -> None:
    (tmp_path / "play.yaml").write_text("agents: [{turns: [{exit: {type: Ok}}]}]\n")
    around = AgentSetup(root=tmp_path, enclosure=BubblewrapBox(program="bwrap"))
    played, started = parse_runner("scripted:play.yaml", around), parse_runner("command:true", around)
    assert isinstance(played, Scripted)
    assert isinstance(started, CommandRunner)
    assert (played.enclosure, started.enclosure) == (OPEN, around.enclosure)


def test_the_scope_of_the_activity_is_kept(box: BubblewrapBox, tmp_path: Path) -> None:
    ended, stage = played("works", box, tmp_path, writes=("src/**",))
    assert (ended.how, ended.code) == ("done", 1)
    assert "Read-only file system: 'pids'" in ended.detail
    assert sorted(path.name for path in stage.work.lane.iterdir()) == [".ai", "src"]
