"""One process answers many questions about objects, and is gone when nobody needs it."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from tests.git.place import git, repository, run
from treadle.config.project import Project, make_local
from treadle.errors import PortError
from treadle.git.objects import Objects
from treadle.git.repository import open_repository


async def opened(tmp_path: Path) -> tuple[Objects, str]:
    project = Project(repository(tmp_path))
    make_local(project)
    found = await open_repository(project)
    return Objects(found.own, found.objects), git(project.root, "rev-parse", "HEAD")


def process_of(objects: Objects) -> asyncio.subprocess.Process:
    assert objects._reading._process is not None
    return objects._reading._process


def test_objects_are_read_by_id_and_by_path(tmp_path: Path) -> None:
    async def story() -> None:
        objects, head = await opened(tmp_path)
        names = [head, f"{head}^{{tree}}", f"{head}:README.md", f"{head}:src", f"{head}:none", "nonsense", "f" * 40]
        found = await objects.read(names)
        assert [one and one.kind for one in found] == ["commit", "tree", "blob", "tree", None, None, None]
        assert found[2] is not None
        assert found[2].data == b"read me\n"
        first = process_of(objects).pid
        await objects.read([head])
        assert process_of(objects).pid == first, "the same process"
        with pytest.raises(PortError, match="git has no object"):
            await objects.read([f"{head}:a\nb"])

    run(story())


def test_many_ask_at_once_and_each_gets_its_own_answer(tmp_path: Path) -> None:
    async def story() -> None:
        objects, head = await opened(tmp_path)
        names = ["README.md", "src/app.py", "tests/test_app.py", "none"] * 25
        answers = await asyncio.gather(*(objects.read([f"{head}:{name}"]) for name in names))
        told = {name: one.data if one else None for name, [one] in zip(names, answers, strict=True)}
        assert told["README.md"] == b"read me\n"
        assert told["none"] is None
        assert all((one.data if one else None) == told[name] for name, [one] in zip(names, answers, strict=True))

    run(story())


def test_what_is_too_large_is_refused_and_the_next_question_is_answered(tmp_path: Path) -> None:
    async def story() -> None:
        objects, head = await opened(tmp_path)
        with pytest.raises(PortError, match="has 8 bytes, which is too much"):
            await objects.read([f"{head}:README.md"], most=7)
        with pytest.raises(PortError, match="which is too much"):
            await objects.read([f"{head}:README.md"] * 2, most=15)
        assert (await objects.read([f"{head}:README.md"], most=8))[0] is not None

    run(story())


def test_a_process_that_was_killed_or_left_in_the_middle_is_replaced(tmp_path: Path) -> None:
    async def story() -> None:
        objects, head = await opened(tmp_path)
        await objects.read([head])
        os.kill(process_of(objects).pid, signal.SIGKILL)
        killed = process_of(objects).pid
        while process_of(objects).pid == killed:  # a question or two may be answered before it dies
            assert (await objects.read([head]))[0] is not None
        asking = asyncio.create_task(objects.read([f"{head}:README.md"] * 1000))
        while objects._reading._process is None or not objects._reading._lock.locked():
            await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        found = await objects.read([f"{head}:src/app.py"])
        assert found[0] is not None
        assert found[0].data.startswith(b"def f()")

    run(story())


def test_the_process_ends_with_its_loop_and_another_loop_starts_its_own(tmp_path: Path) -> None:
    async def first() -> tuple[Objects, str, int]:
        objects, head = await opened(tmp_path)
        await objects.read([head])
        return objects, head, process_of(objects).pid

    objects, head, pid = run(first())
    assert not Path(f"/proc/{pid}").exists()

    async def second() -> None:
        assert (await objects.read([head]))[0] is not None

    run(second())
