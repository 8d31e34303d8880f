"""Small projects whose tests run apart from their code: their files belong to the judge, all others to the subject."""

import asyncio
import shutil
import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import pytest

from tests.box import box_here
from tests.toolchains.projects import pytest_of, write
from treadle.protocol.paths import is_test
from treadle.toolchains.results import ApartRun, CallRecord, CallReplay, RecordedCall


def is_subject(path: str) -> bool:
    return not is_test(path)


class Apart:
    """A project in two folders, the second one without its tests, and the runner of its tests."""

    def __init__(
        self, folder: Path, files: Mapping[str, str], *, timeout: float = 60.0, test_timeout: float = 20.0
    ) -> None:
        self.checkout, self.code, root = folder / "checkout", folder / "subject", folder / "root"
        root.mkdir(parents=True)
        for name, text in files.items():
            write(self.checkout, name, text)
            if is_subject(name):
                write(self.code, name, text)
        self.runner = pytest_of(root, timeout=timeout, test_timeout=test_timeout)

    async def test(self, *ids: str, ask: tuple[str, ...] = ()) -> ApartRun:
        return await self.runner.test_apart(
            self.checkout, ids, subject=self.code, is_subject=is_subject, sample="seed", ask=ask
        )

    async def replay(self, record: CallRecord, passed: Collection[str]) -> CallReplay:
        async def again(calls: Sequence[RecordedCall], programs: tuple[str, ...]) -> Sequence[str]:
            done = await self.test(*sorted({one.test for one in calls}), ask=programs)
            return done.record.answers

        return await self.runner.replay(self.code, record, again, "seed", passed)


def run_apart(
    folder: Path, files: Mapping[str, str], *ids: str, timeout: float = 60.0, test_timeout: float = 20.0
) -> ApartRun:
    """Write a project twice, the second time without its tests, and run its tests apart."""
    return asyncio.run(Apart(folder, files, timeout=timeout, test_timeout=test_timeout).test(*ids))


def run_somewhere(files: Mapping[str, str], *, test_timeout: float = 20.0) -> ApartRun:
    """Run a project's tests apart; skip, saying what to do, where no bubblewrap works."""
    with pytest.MonkeyPatch.context() as patch:
        box_here(patch)
        folder = Path(tempfile.mkdtemp(prefix="apart-"))
        try:
            return run_apart(folder, files, timeout=300.0, test_timeout=test_timeout)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def reasons(ran: ApartRun, name: str) -> str:
    """Why a test did not pass, for the message of an assertion."""
    for id, test in ran.run.tests.items():
        if id.rpartition("::")[2] == name:
            parts = (test.verdict, test.message, ran.uncrossable.get(id), ran.failed_to_cross.get(id))
            return "\n".join(str(one) for one in parts if one)
    return f"not run: {ran.problem} {ran.run.problems} {ran.run.output[-2000:]}"
