"""The toolchain of a project: what its settings say, and where they say nothing, what its files suggest."""

import os
from pathlib import Path
from typing import Protocol

import msgspec

from treadle.config import model
from treadle.config.detect.project import detect
from treadle.config.project import Project
from treadle.enclosures.enclosure import Enclosure
from treadle.toolchains.build import build
from treadle.toolchains.command import Command
from treadle.toolchains.gotest import GoTest
from treadle.toolchains.junit import Junit
from treadle.toolchains.line_coverage import LineCoverage, line_coverage, not_available
from treadle.toolchains.pytest import Pytest
from treadle.toolchains.pytest_command import KNOWN_PLUGINS
from treadle.toolchains.python_command import interpreter
from treadle.toolchains.results import Built, Collected, TestRun
from treadle.toolchains.scaling import Measured, Probe, measure_scaling


class Tests(Protocol):
    """A way to run tests."""

    async def test(
        self,
        path: Path,
        ids: tuple[str, ...] | None = None,  # noqa: PT028 - this is no test
        files: tuple[str, ...] | None = None,  # noqa: PT028
    ) -> TestRun: ...

    async def collect(self, path: Path, files: tuple[str, ...] | None = None) -> Collected: ...


class Toolchain(msgspec.Struct, frozen=True, kw_only=True):
    """How a project is built, tested and looked over, in any checkout of it."""

    settings: model.Toolchain
    root: Path
    tests: Tests | None
    """None: nobody has said how, and the project's files do not tell."""
    sandbox: Enclosure | None = None

    async def test(
        self, path: Path, ids: tuple[str, ...] | None = None, files: tuple[str, ...] | None = None
    ) -> TestRun:
        """Run the tests of a checkout; without a way to do so, a run that says so."""
        if self.tests is None:
            return TestRun(command=(), exit=None, duration=0.0, ended="missing", problems=(_UNKNOWN,))
        return await self.tests.test(path, ids, files)

    async def collect(self, path: Path, files: tuple[str, ...] | None = None) -> Collected:
        """The tests of a checkout, without running them."""
        if self.tests is None:
            return Collected(ids=(), problems=(_UNKNOWN,))
        return await self.tests.collect(path, files)

    async def coverage(self, path: Path) -> LineCoverage:
        """The lines of a checkout that its tests execute; where that cannot be measured, a result that says so."""
        if not isinstance(self.tests, Pytest):
            return not_available(f"it is measured where pytest runs the tests, and `toolchain.kind` is {self._kind}")
        return await line_coverage(self.tests, path)

    async def scaling(self, path: Path, probe: Probe) -> Measured:
        """What a function costs for inputs of growing size; where that cannot be measured, a result that says so."""
        if not isinstance(self.tests, Pytest):
            return Measured(problem=f"only Python is measured, and `toolchain.kind` is {self._kind}")
        if (python := interpreter(self.tests.command)) is None:
            return Measured(problem="`toolchain.test` does not say which Python starts pytest")
        return await measure_scaling(python, self.root, path, probe, self.sandbox)

    @property
    def _kind(self) -> str:
        return f"'{self.settings.kind}'" if self.tests else "not known"

    async def run(self, name: str, path: Path) -> Built | None:
        """Run `build`, `lint`, `format`, `contract`, `api_dump` or `interface`; None if there is no such command."""
        command = self.settings.command(name, root=str(self.root))
        if not command:
            return None
        return await build(command, path, timeout=self.settings.timeout, sandbox=self.sandbox)

    async def build(self, path: Path) -> Built | None:
        return await self.run("build", path)

    async def lint(self, path: Path) -> Built | None:
        return await self.run("lint", path)

    async def format(self, path: Path) -> Built | None:
        return await self.run("format", path)

    async def contract(self, path: Path) -> Built | None:
        return await self.run("contract", path)


_UNKNOWN = "there is no command to run the tests with (`toolchain.test`)"


def toolchain_of(config: model.Config, project: Project, sandbox: Enclosure | None = None) -> Toolchain:
    """The toolchain of a project; `sandbox`: None for the best that works here."""
    settings = completed(config.toolchain, project.root)
    tests = tests_of(settings, project.root, sandbox) if settings.test else None
    return Toolchain(settings=settings, root=project.root, tests=tests, sandbox=sandbox)


def completed(settings: model.Toolchain, root: Path) -> model.Toolchain:
    """Settings without a test command, with what the project's files suggest; nothing that was said is undone."""
    if settings.test or not (found := detect(root, os.environ)) or "test" not in found[0].commands:
        return settings
    guessed = {name: guess.words for name, guess in found[0].commands.items() if not getattr(settings, name)}
    return msgspec.structs.replace(settings, kind=found[0].kind, report=settings.report or found[0].report, **guessed)


def tests_of(settings: model.Toolchain, root: Path, sandbox: Enclosure | None) -> Tests:
    """How the tests are run and their results are read."""
    command = settings.command("test", root=str(root))
    listing = settings.command("collect", root=str(root))
    timeout = float(settings.timeout)
    match settings.kind:
        case "pytest":
            plugins = (*KNOWN_PLUGINS, *settings.plugins)
            return Pytest(
                command=command,
                root=root,
                timeout=timeout,
                plugins=plugins,
                mirrors=settings.mirrors,
                sandbox=sandbox,
            )
        case "junit":
            return Junit(command=command, report=settings.report, listing=listing, timeout=timeout, sandbox=sandbox)
        case "gotest":
            return GoTest(command=command, timeout=timeout, sandbox=sandbox)
        case _:
            return Command(command=command, listing=listing, timeout=timeout, sandbox=sandbox)
