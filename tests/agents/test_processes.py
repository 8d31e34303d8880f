"""Processes, real ones."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from treadle.agents.processes import Process, descendants, holding, holds, lacks, lives, look, send


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
    it = look(process.pid)
    assert it is not None
    return it


def test_a_process_is_known_by_its_start_too(sleeper: subprocess.Popen[bytes]) -> None:
    it = found(sleeper)
    assert it.parent == os.getpid()
    assert lives(it)
    assert not lives(it._replace(start=it.start + 1))
    assert it in descendants(os.getpid())


def test_a_signal_reaches_exactly_the_process_that_is_meant(sleeper: subprocess.Popen[bytes]) -> None:
    it = found(sleeper)
    send(it._replace(start=it.start - 1), signal.SIGKILL)
    assert sleeper.poll() is None
    assert lives(it)
    send(it, signal.SIGKILL)
    assert sleeper.wait(10) == -signal.SIGKILL
    assert not lives(it)
    send(it, signal.SIGKILL)


def test_a_zombie_does_not_live(sleeper: subprocess.Popen[bytes]) -> None:
    it = found(sleeper)
    sleeper.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
    assert look(it.pid) is None
    assert not lives(it)


def test_a_mark_is_compared_as_a_whole(sleeper: subprocess.Popen[bytes]) -> None:
    it, mark = found(sleeper), f"MARK_OF_A_TEST={os.getpid()} ) x"
    assert holding(mark) == [it]
    assert holds(it, mark)
    assert not holding(mark[:-1])
    assert not holding(f"X{mark}")
    assert not holds(it._replace(start=1), mark)


def test_this_process_and_its_parents_are_never_among_the_marked() -> None:
    with open("/proc/self/environ", "rb") as file:  # noqa: PTH123 - a file of the system
        mine = file.read().split(b"\0")[0].decode()
    assert os.getpid() not in {it.pid for it in holding(mine)}
    assert os.getppid() not in {it.pid for it in holding(mine)}


def test_a_system_that_cannot_look_after_processes_is_told() -> None:
    assert lacks() == ""
    assert "need Linux" in lacks(system=object())
    assert "need Linux" in lacks(table="/nowhere/self/stat")
