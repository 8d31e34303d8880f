"""Small projects whose node tests run apart from their code: the judge gets the tests, the subject all other files."""

import asyncio
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.box import box_here
from tests.node_tools import node_tools
from tests.toolchains.projects import write
from treadle.config.model import ToolchainSettings
from treadle.protocol.paths import is_test
from treadle.toolchains.junit import Junit
from treadle.toolchains.results import ApartRun
from treadle.toolchains.toolchain import ProjectToolchain

REPORTED = ("--test-reporter=junit", "--test-reporter-destination={report}")


def is_subject(path: str) -> bool:
    return not is_test(path)


def run_apart(folder: Path, files: Mapping[str, str], *words: str, timeout: float = 60.0) -> ApartRun:
    """Write a project twice, the second time without its tests, and run its tests apart."""
    checkout, subject, root = folder / "checkout", folder / "subject", folder / "root"
    root.mkdir(parents=True)
    subject.mkdir()
    for name, text in files.items():
        write(checkout, name, text)
        if is_subject(name):
            write(subject, name, text)
    command = words or (str(node_tools()[0]), "--test", *REPORTED, "tests/*.test.*js")
    settings = ToolchainSettings(kind="junit", test=command, apart=True)
    toolchain = ProjectToolchain(settings=settings, root=root, tests=Junit(command=command, timeout=timeout))
    return asyncio.run(toolchain.test_apart(checkout, (), subject=subject, is_subject=is_subject))


def run_somewhere(files: Mapping[str, str], *, timeout: float = 60.0) -> ApartRun:
    """Run a project's tests apart; skip, saying what to do, where no bubblewrap works."""
    with pytest.MonkeyPatch.context() as patch:
        box_here(patch)
        folder = Path(tempfile.mkdtemp(prefix="apart-"))
        try:
            return run_apart(folder, files, timeout=timeout)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def reasons(ran: ApartRun) -> str:
    """Why tests did not pass, for the message of an assertion."""
    found = [f"problem: {ran.problem} {ran.run.problems} {ran.breaches}"]
    for id, test in ran.run.tests.items():
        if test.verdict != "passed" or id in ran.uncrossable or id in ran.failed_to_cross:
            parts = (id, test.verdict, test.message[:1500], ran.uncrossable.get(id), ran.failed_to_cross.get(id))
            found.append("\n".join(str(one) for one in parts if one))
    return "\n\n".join([*found, ran.run.output[-1500:]])
