"""Processes of agents: the table of processes, keepers, and output as it grows."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.test_command import HOSTILE, QUICK, CommandBench
from tests.enclosures.engines import FakeEngine, fake_engine
from tests.refusals import refused
from treadle.agents.command import CommandRunner
from treadle.agents.files import MAX_LINE, MAX_READ, Tail, end_of, last_line
from treadle.agents.processes import (
    Process,
    descendants,
    find_process,
    has_variable,
    is_running,
    missing_support,
    processes_with,
    send,
)
from treadle.agents.program import KeeperFiles, attach_program, harvest_program
from treadle.ports import Work
from treadle.testing.runner_contract import PATIENCE, Behaviour, Clause, Stage, again, clauses, make_work, until


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    program = [sys.executable, "-I", "-S", "-c", "import os, signal; os.write(1, b'.'); signal.pause()"]
    env = {"MARK_OF_A_TEST": f"{os.getpid()} ) x"}
    with subprocess.Popen(program, env=env, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.read(1) == b"."
        yield process
        process.kill()


def found(process: subprocess.Popen[bytes]) -> Process:
    it = find_process(process.pid)
    assert it is not None
    return it


def test_a_process_is_known_by_its_start_too(sleeper: subprocess.Popen[bytes]) -> None:
    it = found(sleeper)
    assert it.parent == os.getpid()
    assert is_running(it)
    assert not is_running(it._replace(start=it.start + 1))
    assert it in descendants(os.getpid())


def test_a_signal_reaches_only_a_process_with_the_same_start(sleeper: subprocess.Popen[bytes]) -> None:
    it = found(sleeper)
    send(it._replace(start=it.start - 1), signal.SIGKILL)
    assert sleeper.poll() is None
    assert is_running(it)
    send(it, signal.SIGKILL)
    assert sleeper.wait(10) == -signal.SIGKILL
    assert not is_running(it)
    send(it, signal.SIGKILL)


def test_a_zombie_does_not_live(sleeper: subprocess.Popen[bytes]) -> None:
    it = found(sleeper)
    sleeper.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
    assert find_process(it.pid) is None
    assert not is_running(it)


def test_a_mark_is_compared_as_a_whole(sleeper: subprocess.Popen[bytes]) -> None:
    it, mark = found(sleeper), f"MARK_OF_A_TEST={os.getpid()} ) x"
    assert processes_with(mark) == [it]
    assert has_variable(it, mark)
    assert not processes_with(mark[:-1])
    assert not processes_with(f"X{mark}")
    assert not has_variable(it._replace(start=1), mark)


def test_this_process_and_its_parents_are_never_among_the_marked() -> None:
    with open("/proc/self/environ", "rb") as file:  # noqa: PTH123 - a file of the system
        mine = file.read().split(b"\0")[0].decode()
    assert os.getpid() not in {it.pid for it in processes_with(mine)}
    assert os.getppid() not in {it.pid for it in processes_with(mine)}


def test_a_system_without_process_support_is_named() -> None:
    assert missing_support() == ""
    assert "need Linux" in missing_support(system=object())
    assert "need Linux" in missing_support(table="/nowhere/self/stat")


@pytest.fixture(scope="module")
def engine() -> Iterator[FakeEngine]:
    with fake_engine() as found:
        yield found


def command(engine: FakeEngine, name: str) -> CommandRunner:
    argv = (sys.executable, "-I", "-S", str(HOSTILE), name)
    return CommandRunner(argv=argv, root=Path("/"), patience=QUICK, enclosure=engine.container(mounts=(HOSTILE,)))


class ContainerBench(CommandBench):
    def __init__(self, engine: FakeEngine) -> None:
        self.engine = engine

    def runner(self, behaviour: Behaviour, work: Work) -> CommandRunner:  # noqa: ARG002
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
def test_each_end_of_a_program_is_reported(
    name: str, how: str, code: int, detail: str, tmp_path: Path, engine: FakeEngine
) -> None:
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
        lacking = CommandRunner(argv=("no-such-program",), root=tmp_path, enclosure=engine.container())
        lacking.ready()
        ended = await (await lacking.start(stage.work, stage.watch)).wait()
        assert (ended.how, ended.code) == ("failed", 127)
        assert "engine: no-such-program" in ended.detail

    asyncio.run(play())


def test_a_program_of_the_checkout_is_mounted_and_must_be_there(tmp_path: Path, engine: FakeEngine) -> None:
    stage = stage_in(tmp_path, engine)
    own = tmp_path / "agents" / "mine.sh"
    own.parent.mkdir()
    own.write_text("#!/bin/sh\necho $0 $1; cat ../secret 2>/dev/null\n")
    own.chmod(0o755)
    (tmp_path / "secret").write_text("not mounted\n")

    async def play() -> None:
        runner = CommandRunner(argv=("agents/mine.sh", "a b"), root=tmp_path, enclosure=engine.container())
        ended = await (await runner.start(stage.work, stage.watch)).wait()
        assert ended.final == f"{own} a b\n"

    asyncio.run(play())
    with refused("agent.missing", "'./gone'"):
        CommandRunner(argv=("./gone",), root=tmp_path, enclosure=engine.container()).ready()


def test_the_next_start_ends_a_container_with_a_killed_keeper(tmp_path: Path, engine: FakeEngine) -> None:
    """Its keeper and its client are gone, and with them everything that could be seen of it from here."""
    stage = stage_in(tmp_path, engine)
    kept = KeeperFiles.of(stage.work)

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
        assert find_process(stage.pids()[0]) is None
        await session.cancel()
        assert not engine.running()

    asyncio.run(play())


def test_a_missing_engine_is_an_error_and_starts_no_second_agent(tmp_path: Path) -> None:
    with fake_engine() as engine:
        stage = stage_in(tmp_path, engine)
        kept = KeeperFiles.of(stage.work)

        async def begin() -> None:
            await stage.runner().start(stage.work, stage.watch)
            await stage.bench.help("works", stage.work)
            keeper = kept.keeper()
            assert keeper is not None
            os.kill(keeper.pid, signal.SIGKILL)
            await until(lambda: kept.keeper() is None, "the keeper is gone")

        asyncio.run(begin())
        (engine.folder / "socket").unlink()
        with refused("agent.stuck", "container treadle-run-1-", "Cannot connect"):
            asyncio.run(stage.runner().start(again(stage.work), stage.watch))


def add(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_a_tail_follows_a_log_into_its_next_file(tmp_path: Path) -> None:
    path = tmp_path / "log"
    tail = Tail(path)
    assert tail.read() == b""
    add(path, b"one")
    assert tail.read() == b"one"
    assert tail.read() == b""
    add(path, b"two")
    path.replace(tmp_path / "log.old")
    add(path, b"three")
    assert tail.read() == b"twothree"
    tail.close()
    tail.close()


def test_a_tail_takes_a_bounded_amount_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "log"
    add(path, b"x" * (MAX_READ + 5))
    tail = Tail(path)
    assert [len(tail.read()) for _ in range(3)] == [MAX_READ, 5, 0]
    tail.close()


def test_pipes_links_and_folders_are_not_read_as_logs(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "link", "folder", "nothing"):
        assert Tail(tmp_path / name).read() == b""
        assert end_of(tmp_path / name) == b""


def test_a_log_that_is_replaced_by_a_link_is_left(tmp_path: Path) -> None:
    path = tmp_path / "log"
    add(path, b"one")
    tail = Tail(path)
    assert tail.read() == b"one"
    path.unlink()
    assert tail.read() == b""
    path.symlink_to("/etc/passwd")
    assert tail.read() == b""


def test_the_end_of_a_log_reaches_back_into_the_file_before(tmp_path: Path) -> None:
    add(tmp_path / "log.old", b"abc")
    add(tmp_path / "log", b"def")
    assert [end_of(tmp_path / "log", limit) for limit in (2, 3, 5, 9)] == [b"ef", b"def", b"bcdef", b"abcdef"]


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"", ""),
        (b"\n \n", ""),
        (b"one\ntwo\n\n", "two"),
        (b"10%\r20%\r30%", "30%"),
        (b"\x1b[1;31mred\x1b[0m\x07", "red"),
        (b"\x1b]0;title\x07text", "text"),
        ("a\u202eb\u200bc".encode(), "abc"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"x" * 5000, "x" * MAX_LINE),
    ],
)
def test_the_last_line(data: bytes, line: str) -> None:
    assert last_line(data) == line
