"""A dead process never looks alive, whoever has its number now."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from treadle.store.owner import Owner, _start, is_alive, me, parse

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc")


@pytest.fixture
def child() -> "Iterator[subprocess.Popen[bytes]]":
    process = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def owner_of(pid: int) -> Owner:
    return me()._replace(pid=pid, start=_start(pid))


def test_this_process_is_alive_and_survives_being_written_down() -> None:
    assert is_alive(me()) is True
    assert parse(str(me())) == me()


def test_another_process_is_alive_until_it_ends(child: "subprocess.Popen[bytes]") -> None:
    owner = owner_of(child.pid)
    assert is_alive(owner) is True
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert is_alive(owner) is False, "a zombie is dead"
    child.wait()
    assert is_alive(owner) is False


@pytest.mark.parametrize(
    "changes",
    [{"start": "1"}, {"start": ""}, {"boot": "another"}, {"pid": 2**22 + 1, "start": "1"}],
    ids=["a recycled number", "no start", "before a reboot", "no such process"],
)
def test_who_is_dead_on_this_machine(changes: dict[str, object]) -> None:
    assert is_alive(me()._replace(**changes)) is False  # type: ignore[arg-type]


def test_of_another_machine_nothing_is_known() -> None:
    assert is_alive(me()._replace(host="elsewhere")) is None


@pytest.mark.parametrize("text", ["", "a|b|c", "a|b|x|d", "a|b|-1|d", "a|b|1|d|e"])
def test_what_is_no_owner_is_nobody(text: str) -> None:
    assert parse(text) is None
