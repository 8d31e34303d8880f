"""Real programs, most of them hostile, under the runner for commands."""

import asyncio
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.refusals import refused
from treadle.agents import program
from treadle.agents.command import CommandRunner
from treadle.agents.contract import clean_environment
from treadle.agents.processes import find_process, send
from treadle.agents.program import KeeperFiles, Patience, ProgramPlace, start_program
from treadle.errors import PortError, TreadleError
from treadle.ports import Ended, Progress, Work
from treadle.testing.runner_contract import (
    PATIENCE,
    Behaviour,
    Clause,
    Stage,
    clauses,
    make_work,
    until,
)

HOSTILE = Path(__file__).with_name("hostile.py")
QUICK = Patience(answered=0.1, asked=0.3, output=1 << 20)


def command(name: str, patience: Patience = QUICK, **more: Any) -> CommandRunner:
    argv = (sys.executable, "-I", "-S", str(HOSTILE), name)
    return CommandRunner(argv=argv, root=Path("/"), patience=patience, **more)


class CommandBench:
    behaviours: tuple[Behaviour, ...] = ("answers", "works", "leaves", "floods", "dumps")

    def lane(self, folder: Path) -> Path:
        lane = folder / "lane"
        lane.mkdir()
        return lane

    def runner(self, behaviour: Behaviour, work: Work) -> CommandRunner:  # noqa: ARG002
        return command(behaviour)

    async def help(self, behaviour: Behaviour, work: Work) -> None:
        if behaviour == "works":
            await until((work.lane / "pids").exists, "it works")


BENCH = CommandBench()


def stage_in(folder: Path) -> Stage:
    return Stage(BENCH, "works", make_work(folder, BENCH.lane(folder)), [])


def played(name: str, folder: Path) -> tuple[Ended, Stage]:
    stage = stage_in(folder)
    return played_in(stage, name), stage


def played_in(stage: Stage, name: str) -> Ended:
    async def play() -> Ended:
        session = await command(name).start(stage.work, stage.watch)
        return await asyncio.wait_for(session.wait(), PATIENCE)

    return asyncio.run(play())


@pytest.mark.parametrize("clause", clauses(BENCH), ids=lambda clause: clause.name)
def test_contract(clause: Clause, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_USER", "hunter2")
    clause.hold(BENCH, tmp_path)


@pytest.mark.parametrize(
    ("name", "how", "code", "detail"),
    [
        ("says_nothing", "done", 0, ""),
        ("ends_with_three", "done", 3, "code 3"),
        ("closes_its_output", "done", 7, "code 7"),
        ("kills_itself", "lost", -9, "SIGKILL; its last words: last words"),
        ("kills_its_keeper", "lost", None, "without a trace"),
        ("leaves_the_deaf", "done", 0, ""),
    ],
)
def test_each_end_of_a_program_is_reported(name: str, how: str, code: int | None, detail: str, tmp_path: Path) -> None:
    ended, stage = played(name, tmp_path)
    assert (ended.how, ended.code) == (how, code)
    assert detail in ended.detail
    assert not stage.left()


@pytest.mark.parametrize("introduced", [True, False])
def test_a_program_that_kills_its_keeper_early_is_lost(
    introduced: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spawn = program._spawn_keeper

    def spawn_and_look_late(work: Work, kept: KeeperFiles, *args: Any) -> int:
        pid = spawn(work, kept, *args)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        if not introduced:
            (kept.folder / "keeper").unlink(missing_ok=True)
        return pid

    monkeypatch.setattr(program, "_spawn_keeper", spawn_and_look_late)
    ended, stage = played("kills_its_keeper", tmp_path)
    assert (ended.how, ended.code) == ("lost", None)
    assert not stage.left()


def test_output_that_is_no_text(tmp_path: Path) -> None:
    ended, stage = played("says_no_text", tmp_path)
    assert "café" in ended.final
    assert stage.heard == [Progress("\ufffd\ufffd\ufffd red  café")]


def test_input_is_empty_and_the_lane_is_the_current_folder(tmp_path: Path) -> None:
    ended, stage = played("reads", tmp_path)
    assert ended.final == f"input: '', session: True, folder: {stage.work.lane}\n"


def test_a_file_can_be_its_input(tmp_path: Path) -> None:
    stage, said = stage_in(tmp_path), tmp_path / "said"
    said.write_text("words\n" * 50_000)

    async def play() -> Ended:
        place = ProgramPlace(stdin=said)
        argv = ("/usr/bin/env", "wc", "-l")
        session = await start_program(stage.work, argv, clean_environment(), stage.watch, QUICK, place=place)
        return await asyncio.wait_for(session.wait(), PATIENCE)

    assert asyncio.run(play()).final == "50000\n"


def test_a_flood_costs_little_memory(tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss  # the largest so far, of other tests' too
    ended, stage = played("floods_much", tmp_path)
    assert ended.final.endswith("the end\n")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 40_000
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < max(children + 1, 180_000)
    kept = sum(path.stat().st_size for path in KeeperFiles.of(stage.work).folder.iterdir())
    assert kept <= QUICK.output + 10_000


@pytest.mark.parametrize("limit", [0, 1, pytest.param(1000, marks=pytest.mark.soak), 10_000, 200_000])
def test_kept_output_stays_within_its_limit(limit: int, tmp_path: Path) -> None:
    stage = stage_in(tmp_path)

    async def play() -> Ended:
        patience = Patience(answered=0.1, asked=0.3, output=limit)
        session = await command("floods_much", patience).start(stage.work, stage.watch)
        return await asyncio.wait_for(session.wait(), PATIENCE)

    ended = asyncio.run(play())
    kept = sum(path.stat().st_size for path in KeeperFiles.of(stage.work).folder.glob("stdout*"))
    assert limit // 4 <= kept <= limit
    assert ended.final.endswith("the end\n") or limit < 10


def test_a_program_that_stays_after_its_answer_is_ended(tmp_path: Path) -> None:
    ended, stage = played("answers_and_stays", tmp_path)
    assert ended.how == "done"
    assert stage.pids()
    assert not stage.left()


@pytest.mark.parametrize("name", ["ignores_term", "leaves_and_stays", "stops_its_keeper"])
def test_cancel_ends_programs_that_resist(name: str, tmp_path: Path) -> None:
    stage = stage_in(tmp_path)

    async def play() -> Ended:
        session = await command(name).start(stage.work, stage.watch)
        wanted = 1 if name == "ignores_term" else 4
        await until(lambda: len(stage.pids()) >= wanted, "it has started")
        await session.cancel()
        return await asyncio.wait_for(session.wait(), PATIENCE)

    assert asyncio.run(play()).how == "lost"
    assert not stage.left()
    assert asyncio.run(command(name).harvest(stage.work)) is None, "what was stopped has to be started again"


def test_of_several_simultaneous_starts_only_one_works(tmp_path: Path) -> None:
    stage = stage_in(tmp_path)

    async def play() -> None:
        runners = [command("works") for _ in range(3)]
        starts = (runner.start(stage.work, stage.watch) for runner in runners)
        found = await asyncio.gather(*starts, return_exceptions=True)
        sessions = [session for session in found if not isinstance(session, BaseException)]
        assert all(isinstance(other, PortError) and other.retryable for other in found if other not in sessions)
        await until(lambda: len([pid for pid in stage.pids() if find_process(pid)]) == 1, "one of them works")
        for session in sessions:
            await session.cancel()

    asyncio.run(play())
    assert not stage.left()


def test_a_start_that_is_cancelled_leaves_a_program_that_can_be_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage, spawn, runner = stage_in(tmp_path), program._spawn_keeper, command("works")

    async def play() -> None:
        starting = asyncio.ensure_future(runner.start(stage.work, stage.watch))

        def spawn_and_cancel(*args: Any) -> int:
            starting.cancel()
            return spawn(*args)

        monkeypatch.setattr(program, "_spawn_keeper", spawn_and_cancel)
        with pytest.raises(asyncio.CancelledError):
            await starting
        session = await runner.attach(stage.work, stage.watch)
        assert session is not None
        await session.cancel()

    asyncio.run(play())
    assert not stage.left()


DRIVER = """
import asyncio, sys
from pathlib import Path
from tests.agents.test_command import command, make_work
async def drive():
    work = make_work(Path(sys.argv[1]), Path(sys.argv[1], "lane"))
    session = await command(sys.argv[2]).start(work, lambda progress: None)
    sys.stdout.write("started\\n")
    sys.stdout.flush()
    await session.wait()
asyncio.run(drive())
"""


def drive_and_kill(name: str, folder: Path, stage: Stage, pids: int) -> None:
    """Another process of ours starts the agent and is killed while the agent works."""
    root = Path(__file__).parents[2]
    driver = [sys.executable, "-c", DRIVER, str(folder), name]
    with subprocess.Popen(driver, cwd=root, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"started\n"
        asyncio.run(until(lambda: len(stage.pids()) >= pids, "it works"))
        process.kill()


def test_it_survives_the_death_of_our_process_and_is_reattached(tmp_path: Path) -> None:
    stage = stage_in(tmp_path)
    drive_and_kill("works", tmp_path, stage, 1)

    async def go_on() -> Ended:
        session = await command("works").attach(stage.work, stage.watch)
        assert session is not None
        assert stage.left(), "it lives"
        assert await session.nudge("Emit a decision.")
        os.kill(stage.pids()[0], signal.SIGTERM)
        ended = await asyncio.wait_for(session.wait(), PATIENCE)
        assert not await session.nudge("Too late.")
        return ended

    ended = asyncio.run(go_on())
    assert (ended.how, ended.code) == ("lost", -signal.SIGTERM)
    assert stage.heard == [Progress("hello")]
    assert (stage.work.bundle / "nudge.md").read_text() == "Emit a decision."


def test_its_exit_code_survives_the_death_of_our_process(tmp_path: Path) -> None:
    stage = stage_in(tmp_path)
    drive_and_kill("works", tmp_path, stage, 1)
    os.kill(stage.pids()[0], signal.SIGINT)
    kept = KeeperFiles.of(stage.work)
    asyncio.run(until(lambda: not kept.is_locked(), "its keeper has ended"))
    ended = asyncio.run(command("works").harvest(stage.work))
    assert ended is not None
    assert ended.code is not None
    assert ended.final == "hello\n"
    assert asyncio.run(command("works").attach(stage.work, stage.watch)) is None


def test_an_orphan_of_a_killed_keeper_ends_before_the_next_start(tmp_path: Path) -> None:
    stage = stage_in(tmp_path)
    drive_and_kill("works", tmp_path, stage, 1)
    keeper = KeeperFiles.of(stage.work).keeper()
    assert keeper
    send(keeper, signal.SIGKILL)

    async def go_on() -> None:
        await until(lambda: not KeeperFiles.of(stage.work).is_locked(), "the keeper is gone")
        assert await command("works").attach(stage.work, stage.watch) is None
        assert await command("works").harvest(stage.work) is None
        orphan = stage.pids()[0]
        assert find_process(orphan)
        session = await command("says_nothing").start(stage.work, stage.watch)
        assert not find_process(orphan)
        await session.wait()

    asyncio.run(go_on())


def test_a_pid_in_a_file_without_a_lock_is_no_keeper(tmp_path: Path) -> None:
    stage = stage_in(tmp_path)
    with subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"]) as stranger:
        found = find_process(stranger.pid)
        assert found
        kept = KeeperFiles.of(stage.work)
        kept.folder.mkdir(parents=True)
        (kept.folder / "keeper").write_text(f"{found.pid} {found.start}")
        assert kept.keeper() is None
        played_in(stage, "says_nothing")
        assert find_process(stranger.pid) == found
        stranger.kill()


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    stage = stage_in(tmp_path)
    with refused("agent.missing", "'no-such-agent'", "PATH") as caught:
        asyncio.run(CommandRunner.parse("no-such-agent", root=tmp_path).start(stage.work, stage.watch))
    assert isinstance(caught.value, PortError)
    assert not caught.value.retryable
    (tmp_path / "agent.py").write_text("")
    with refused("agent.missing", "chmod +x"):
        asyncio.run(CommandRunner.parse("./agent.py", root=tmp_path).start(stage.work, stage.watch))


def test_a_program_that_cannot_be_executed_has_failed(tmp_path: Path) -> None:
    stage = stage_in(tmp_path)
    (tmp_path / "agent").write_text("#!/no/such/interpreter\n")
    (tmp_path / "agent").chmod(0o755)

    async def play() -> Ended:
        session = await CommandRunner.parse("./agent", root=tmp_path).start(stage.work, stage.watch)
        return await asyncio.wait_for(session.wait(), PATIENCE)

    ended = asyncio.run(play())
    assert ended.how == "failed"
    assert "started" in ended.detail


def test_a_path_names_the_program_of_the_checkout_and_not_of_the_lane(tmp_path: Path) -> None:
    stage = stage_in(tmp_path)
    for folder, word in ((tmp_path, "checkout"), (stage.work.lane, "lane")):
        (folder / "agent").write_text(f"#!/bin/sh\necho {word}\n")
        (folder / "agent").chmod(0o755)

    async def play() -> Ended:
        session = await CommandRunner.parse("./agent 'a b'", root=tmp_path).start(stage.work, stage.watch)
        return await asyncio.wait_for(session.wait(), PATIENCE)

    assert asyncio.run(play()).final == "checkout\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [("agent 'open", "no closing quotation; check its quotes"), ("", "needs a program"), ("''", "needs a program")],
)
def test_a_malformed_command_is_refused(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(TreadleError, match=message):
        CommandRunner.parse(text, root=tmp_path)


def test_a_command_is_not_expanded_by_a_shell(tmp_path: Path) -> None:
    assert CommandRunner.parse("agent $HOME '*' ~ `id`", root=tmp_path).argv == ("agent", "$HOME", "*", "~", "`id`")
