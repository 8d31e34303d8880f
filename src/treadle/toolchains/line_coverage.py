"""Measure the lines that tests execute, with Treadle's `coverage` in the project's interpreter."""

from importlib.util import find_spec
from pathlib import Path
from typing import Final

import msgspec

from treadle.git.files import temporary_folder
from treadle.toolchains.process import read_bytes
from treadle.toolchains.pytest import Pytest, instead_of_pytest
from treadle.toolchains.results import TestRun

LIMITS: Final = (
    "lines that only other processes execute are not seen",
    "the code under test runs in the process that is measured: what it does there is watched, not prevented",
)
_SCRIPT: Final = str(Path(__file__).with_name("probes") / "covered.py")


class LineCoverage(msgspec.Struct, frozen=True, kw_only=True):
    """The lines that a run of all tests executed."""

    lines: dict[str, tuple[int, ...]] = {}
    """By file, as a path below the checkout."""
    run: TestRun | None = None
    problems: tuple[str, ...] = ()
    """The reasons for a missing measurement."""

    @property
    def is_known(self) -> bool:
        return not self.problems


def not_available(why: str) -> LineCoverage:
    """Return an empty result with the reason."""
    return LineCoverage(problems=(why,))


async def line_coverage(tests: Pytest, path: Path) -> LineCoverage:
    """Run all tests of a checkout and return the lines that they executed."""
    package = find_spec("coverage")
    if package is None or package.origin is None:
        return not_available("the package `coverage` is not installed beside treadle")
    if tests.sandbox is not None and tests.sandbox.is_apart:
        return not_available(f"it is not measured in another machine ({tests.sandbox.name})")
    with temporary_folder("scratch") as scratch:
        library, report = scratch / "library", scratch / "lines.json"
        library.mkdir()
        (library / "coverage").symlink_to(Path(package.origin).parent)
        command = instead_of_pytest(tests.command, _SCRIPT, str(library), str(report), str(path.resolve()))
        if command is None:
            return not_available("`toolchain.test` does not say which Python starts pytest")
        run = await msgspec.structs.replace(tests, command=command).test(path)
        data = read_bytes(report)
    if run.bent or not run.is_believable:
        return LineCoverage(run=run, problems=(*run.bent, *run.problems) or (f"the run ended by '{run.ended}'",))
    if data is None:
        return LineCoverage(run=run, problems=("the run left no list of executed lines", *run.problems))
    try:
        lines = msgspec.json.decode(data, type=dict[str, tuple[int, ...]])
    except msgspec.MsgspecError as error:
        return LineCoverage(run=run, problems=(f"the list of executed lines cannot be read: {error}",))
    return LineCoverage(lines=lines, run=run)
