"""Measures how many tests of real packages run with judge and subject apart: `python -m tools.crossing.measure`.

The packages are those that `make real-projects` puts into the user's cache, and a few more, which this program
downloads there once. Each suite runs twice: in one process, and apart. A test crosses if it passes both times. The
reasons of the others are grouped. Doctests in the code's own files belong to the code, not to its tests, so they do not
count. A name limits the measurement to one package, `NAME:PATTERN` to its test files that match.
"""

import argparse
import asyncio
import fnmatch
import os
import re
import shutil
import sys
import tarfile
import tempfile
import venv
from collections import Counter
from pathlib import Path
from typing import Final

import msgspec

from tools.box.install import FOLDER as BOX
from tools.node.install import run
from tools.real_projects.install import PIP, is_current, stamp
from tools.real_projects.packages import FOLDER, PACKAGES, PYTHON
from treadle.protocol.paths import is_test
from treadle.toolchains.pytest import Pytest
from treadle.toolchains.results import ApartRun, TestRun

HERE: Final = Path(__file__).parent
MORE: Final = FOLDER.parent / "crossing"
"""Has the sources of the packages that only this program measures, and the packages that their tests need."""
_IGNORED: Final = shutil.ignore_patterns(".git", "*.egg-info", "__pycache__")


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """One package: where its code and tests are."""

    name: str
    source: Path
    folder: str = ""
    """The folder that `sys.path` needs; empty for the checkout itself."""
    leaves_out: tuple[str, ...] = ()
    """Files that need more than the environment has."""


def packages() -> list[Measured]:
    """Return all packages, the quick ones first."""
    found = [
        Measured(
            name=one.name,
            source=one.source,
            folder="src" if one.target.startswith("src/") else "",
            leaves_out=one.leaves_out,
        )
        for one in sorted(PACKAGES, key=lambda one: one.slow)
        if one.language == "python"
    ]
    lines = (HERE / "sdists.txt").read_text(encoding="utf-8").splitlines()
    names = [line.split()[0].split("==") for line in lines]
    more = [Measured(name=one, source=MORE / "sources" / f"{one.replace('-', '_')}-{at}") for one, at in names]
    return [*more, *found]


def install() -> None:
    """Download the packages that `make real-projects` does not have, pinned by their hashes."""
    if not (PYTHON / "bin" / "python").exists():
        sys.exit("The packages are missing; run `make real-projects`.")
    pins = "".join((HERE / name).read_text(encoding="utf-8") for name in ("environment.txt", "sdists.txt"))
    if is_current(MORE, pins):
        return
    shutil.rmtree(MORE, ignore_errors=True)
    own, hashed = str(PYTHON / "bin" / "python"), ["-qq", "--require-hashes", "--no-deps"]
    wheels = ["--only-binary", ":all:", "-r", str(HERE / "environment.txt")]
    run([own, *PIP, "install", *hashed, "--target", str(MORE / "packages"), *wheels])
    sources = ["--no-binary", ":all:", "--no-build-isolation", "-r", str(HERE / "sdists.txt")]
    run([own, *PIP, "download", *hashed, *sources, "--dest", str(MORE / "archives")])
    for archive in (MORE / "archives").glob("*.tar.gz"):
        with tarfile.open(archive) as packed:
            packed.extractall(MORE / "sources", filter="data")
    stamp(MORE, pins)


def prepare(package: Measured, folder: Path) -> tuple[Path, Path, Path]:
    """Write the user's project with its environment, the judge's checkout, and the subject's without tests."""
    root, checkout, subject = (folder / name for name in ("root", "checkout", "subject"))
    for place in (root, checkout, subject):
        shutil.copytree(package.source, place, ignore=_IGNORED)
        for name in package.leaves_out:
            (place / name).unlink()
    for path in [one for one in subject.rglob("*") if one.is_file()]:
        if is_test(str(path.relative_to(subject))):
            path.unlink()
    venv.create(root / ".venv", symlinks=True)
    installed = next((root / ".venv").glob("lib/python*/site-packages"))
    for place in (next(PYTHON.glob("lib/python*/site-packages")), MORE / "packages"):
        for one in place.iterdir():
            if not (installed / one.name).exists():
                (installed / one.name).symlink_to(one)
    (installed / "project.pth").write_text(f"{root / package.folder}\n", encoding="utf-8")
    return root, checkout, subject


async def measure(package: Measured, pattern: str, timeout: float) -> tuple[TestRun, ApartRun]:
    """Run the suite of a package in one process, then the tests that passed apart."""
    with tempfile.TemporaryDirectory(prefix="crossing-") as folder:
        root, checkout, subject = prepare(package, Path(folder))
        files = [str(one.relative_to(checkout)) for one in sorted(checkout.rglob("*.py"))]
        chosen = tuple(one for one in files if is_test(one) and fnmatch.fnmatch(one, pattern)) if pattern else None
        python = str(root / ".venv" / "bin" / "python")
        runner = Pytest(
            command=(python, "-m", "pytest"), root=root, timeout=timeout, test_timeout=timeout / 10, mirrors=0
        )
        together = await runner.test(checkout, files=chosen)
        passed = tuple(id for id in together.chosen if id in together.passed and is_test(id.partition("::")[0]))
        apart = await runner.test_apart(checkout, passed, subject=subject, is_subject=lambda path: not is_test(path))
        return msgspec.structs.replace(
            together, tests={id: together.tests[id] for id in together.tests if is_test(id.partition("::")[0])}
        ), apart


def reason(id: str, apart: ApartRun) -> str:
    """Say in one line why a test does not pass apart."""
    test = apart.run.tests.get(id)
    for kind, reasons in (("the test's", apart.uncrossable), ("the code's", apart.failed_to_cross)):
        if id in reasons:
            return f"{kind}: {reasons[id].splitlines()[0]}"
    if test is None:
        return "not run"
    lines = [line for line in test.message.splitlines() if line.strip()]
    return f"{test.verdict}: {lines[0] if lines else test.kind}"


def group_of(id: str, reason: str) -> str:
    """Return a reason without the parts that differ between tests; assertions are grouped by the test's file."""
    if reason.startswith("failed: ") and "assert" in reason.lower()[:30]:
        return f"an assertion fails in {id.partition('::')[0]}"
    return re.sub(r"'[^']*'", "'...'", re.sub(r"0x[0-9a-f]+|\d+", "N", reason))[:150]


def report(package: Measured, together: TestRun, apart: ApartRun, *, is_long: bool) -> tuple[int, int]:
    """Print the numbers of a package and the reasons; return how many tests passed together and apart."""
    if apart.problem:
        sys.exit(apart.problem)
    both = together.passed & apart.run.passed
    share = f"{100 * len(both) / len(together.passed):.1f} %" if together.passed else "none"
    seconds = f"{together.duration:.1f} s / {apart.run.duration:.1f} s"
    print(
        f"{package.name}: {len(together.tests)} tests, {len(together.passed)} pass together, {len(both)} apart"
        f" = {share}; {seconds}; {apart.calls} calls",
        flush=True,
    )
    problems = (*together.problems, *together.bent, *apart.run.problems, *apart.run.bent, *apart.breaches)
    for problem in problems[:5]:
        print(f"    ! {problem[:300]}")
    reasons = {id: reason(id, apart) for id in sorted(together.passed - both)}
    groups = {id: group_of(id, why) for id, why in reasons.items()}
    for group, count in Counter(groups.values()).most_common():
        print(f"    {count:4} {group}")
        for id in [one for one in groups if groups[one] == group][: None if is_long else 3]:
            print(f"           {id}: {reasons[id][:200]}")
            if is_long and id in apart.run.tests:
                print("               " + "\n               ".join(apart.run.tests[id].message.splitlines()[-12:]))
    return len(together.passed), len(both)


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    reader.add_argument("names", nargs="*", metavar="NAME[:PATTERN]", help="packages, and patterns of test files")
    reader.add_argument("--timeout", type=float, default=600.0, help="seconds for one suite (default: 600)")
    reader.add_argument("--long", action="store_true", help="print every test that does not cross, with its message")
    given = reader.parse_args()
    install()
    os.environ["PATH"] = f"{BOX}{os.pathsep}{os.environ['PATH']}"
    patterns = dict(name.partition(":")[::2] for name in given.names)
    known = [one for one in packages() if not patterns or one.name in patterns]
    together = apart = 0
    for package in known:
        runs = asyncio.run(measure(package, patterns.get(package.name, ""), given.timeout))
        numbers = report(package, *runs, is_long=given.long)
        together, apart = together + numbers[0], apart + numbers[1]
    print(f"all: {apart} of {together} = {100 * apart / max(together, 1):.1f} %")


if __name__ == "__main__":
    main()
