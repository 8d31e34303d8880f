"""Programs that are waited for."""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Iterator

import pytest

from treadle.engines.driver import watch_children


@pytest.fixture(autouse=True)
def _own_watcher() -> Iterator[None]:
    yield
    if sys.version_info < (3, 12):
        asyncio.set_child_watcher(asyncio.ThreadedChildWatcher())


async def _waiting() -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec("sh", "-c", "read _; exit 3", stdin=asyncio.subprocess.PIPE)


async def _ended() -> tuple[int, list[str]]:
    """How a program ended, and the threads that waited for it."""
    child = await _waiting()
    waiting = [thread.name for thread in threading.enumerate() if thread.name.startswith("waitpid")]
    await child.communicate(b"now\n")
    return child.returncode or 0, waiting


def test_no_thread_waits_for_a_program() -> None:
    watch_children()
    assert asyncio.run(_ended()) == (3, [])


def test_without_handles_a_thread_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    watch_children()
    assert asyncio.run(_ended())[0] == 3


def test_a_loop_in_another_thread_has_programs_of_its_own() -> None:
    watch_children()
    found: list[tuple[int, list[str]]] = []
    thread = threading.Thread(target=lambda: found.append(asyncio.run(_ended())))
    thread.start()
    assert asyncio.run(_ended()) == (3, [])
    thread.join()
    assert found == [(3, [])]


def test_a_program_that_another_waiter_has_reaped_counts_as_ended() -> None:
    async def main() -> int:
        child = await _waiting()
        os.kill(child.pid, signal.SIGKILL)
        os.waitpid(child.pid, 0)
        return await child.wait()

    watch_children()
    assert asyncio.run(main()) == 255
