"""The toolchain of a project: build, test, lint and measure it in any checkout.

The commands come from the project's settings; where those are silent, from its files. The last part tries the canaries
of a test tool on a small project of our own, for `treadle doctor`.
"""

import os
import shutil
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

import msgspec

from treadle.config import model
from treadle.config.detection import detect_languages
from treadle.config.project import Project
from treadle.enclosures.port import Enclosure
from treadle.git.files import temporary_folder
from treadle.toolchains.command import PlainCommand
from treadle.toolchains.gotest import GoTest
from treadle.toolchains.junit import Junit
from treadle.toolchains.line_coverage import LineCoverage, line_coverage, not_available
from treadle.toolchains.node_apart import run_node_apart
from treadle.toolchains.process import run_in_checkout
from treadle.toolchains.pytest import KNOWN_PLUGINS, Pytest, interpreter
from treadle.toolchains.replay import Again
from treadle.toolchains.results import ApartRun, CallRecord, CallReplay, CollectedTests, CommandResult, TestRun
from treadle.toolchains.scaling import ScalingMeasurement, ScalingProbe, measure_scaling

# Build, lint, format and contract commands, which succeed or fail by their exit code.


async def build(
    command: tuple[str, ...], path: Path, *, timeout: float, sandbox: Enclosure | None = None
) -> CommandResult:
    """Run a command in a checkout."""
    finished = await run_in_checkout(path, command, timeout=timeout, sandbox=sandbox)
    # A command that did not end by itself explains in its output why.
    return msgspec.structs.replace(finished, output="\n".join([*finished.problems, finished.output]))


class SuiteRunner(Protocol):
    """A way to run tests."""

    async def test(
        self, path: Path, ids: tuple[str, ...] | None = None, files: tuple[str, ...] | None = None
    ) -> TestRun: ...

    async def collect(self, path: Path, files: tuple[str, ...] | None = None) -> CollectedTests: ...


class ProjectToolchain(msgspec.Struct, frozen=True, kw_only=True):
    """A project's commands and test runner, for any checkout of it."""

    settings: model.ToolchainSettings
    root: Path
    tests: SuiteRunner | None
    """None: no setting names a test command, and the project's files suggest none."""
    sandbox: Enclosure | None = None

    async def test(
        self, path: Path, ids: tuple[str, ...] | None = None, files: tuple[str, ...] | None = None
    ) -> TestRun:
        """Run the tests of a checkout; without a test command, return a run with that problem."""
        if self.tests is None:
            return TestRun(command=(), exit=None, duration=0.0, ended="missing", problems=(_NO_TEST_COMMAND,))
        return await self.tests.test(path, ids, files)

    async def collect(self, path: Path, files: tuple[str, ...] | None = None) -> CollectedTests:
        """Return the tests of a checkout, without running them."""
        if self.tests is None:
            return CollectedTests(ids=(), problems=(_NO_TEST_COMMAND,))
        return await self.tests.collect(path, files)

    async def test_apart(
        self,
        path: Path,
        ids: tuple[str, ...],
        *,
        subject: Path,
        is_subject: Callable[[str], bool],
        sample: str = "",
        ask: tuple[str, ...] = (),
    ) -> ApartRun:
        """Run tests with judge and subject in two processes, if the settings ask for it and the runner can."""
        problem = "" if self.settings.apart else "`toolchain.apart` is off"
        if not problem and isinstance(self.tests, Pytest):
            return await self.tests.test_apart(
                path, ids, subject=subject, is_subject=is_subject, sample=sample, ask=ask
            )
        if not problem and isinstance(self.tests, Junit):
            return await run_node_apart(self.tests, self.root, path, ids, subject=subject, is_subject=is_subject)
        kind = f"only pytest and `node --test` run tests apart from the code, and `toolchain.kind` is {self._kind}"
        return ApartRun(run=TestRun(command=(), exit=None, duration=0.0, ended="missing"), problem=problem or kind)

    async def replay(
        self, code: Path, record: CallRecord, again: Again, sample: str, passed: Collection[str]
    ) -> CallReplay:
        """Repeat calls that tests made apart, in plain interpreters, on a checkout without tests."""
        if not isinstance(self.tests, Pytest):
            return CallReplay(
                problem=f"only calls of pytest's tests are repeated, and `toolchain.kind` is {self._kind}"
            )
        return await self.tests.replay(code, record, again, sample, passed)

    async def coverage(self, path: Path) -> LineCoverage:
        """Measure the lines of a checkout that its tests execute, or return a result with the obstacle."""
        if not isinstance(self.tests, Pytest):
            return not_available(f"it is measured where pytest runs the tests, and `toolchain.kind` is {self._kind}")
        return await line_coverage(self.tests, path)

    async def scaling(self, path: Path, probe: ScalingProbe) -> ScalingMeasurement:
        """Measure the cost of a function for inputs of growing size, or return a result with the obstacle."""
        if not isinstance(self.tests, Pytest):
            return ScalingMeasurement(problem=f"only Python is measured, and `toolchain.kind` is {self._kind}")
        if (python := interpreter(self.tests.command)) is None:
            return ScalingMeasurement(problem="`toolchain.test` does not say which Python starts pytest")
        return await measure_scaling(python, self.root, path, probe, self.sandbox)

    @property
    def _kind(self) -> str:
        return f"'{self.settings.kind}'" if self.tests else "not known"

    async def run(self, name: str, path: Path) -> CommandResult | None:
        """Run `build`, `lint`, `format`, `contract`, `api_dump` or `interface`; None if there is no such command."""
        command = self.settings.command(name, root=str(self.root))
        if not command:
            return None
        return await build(command, path, timeout=self.settings.timeout, sandbox=self.sandbox)


_NO_TEST_COMMAND = "there is no command to run the tests with (`toolchain.test`)"


def toolchain_of(config: model.Config, project: Project, sandbox: Enclosure | None = None) -> ProjectToolchain:
    """Return the toolchain of a project; `sandbox`: None for the best that works here."""
    settings = complete_settings(config.toolchain, project.root)
    tests = tests_of(settings, project.root, sandbox) if settings.test else None
    return ProjectToolchain(settings=settings, root=project.root, tests=tests, sandbox=sandbox)


def complete_settings(settings: model.ToolchainSettings, root: Path) -> model.ToolchainSettings:
    """Complete settings without a test command from the project's files; keep every value that is set."""
    if settings.test or not (found := detect_languages(root, os.environ)) or "test" not in found[0].commands:
        return settings
    guessed = {name: guess.words for name, guess in found[0].commands.items() if not getattr(settings, name)}
    return msgspec.structs.replace(settings, kind=found[0].kind, report=settings.report or found[0].report, **guessed)


def tests_of(settings: model.ToolchainSettings, root: Path, sandbox: Enclosure | None) -> SuiteRunner:
    """Return the test runner for the configured kind."""
    command = settings.command("test", root=str(root))
    listing = settings.command("collect", root=str(root))
    timeout = float(settings.timeout)
    match settings.kind:
        case "pytest":
            plugins, mirrors = (*KNOWN_PLUGINS, *settings.plugins), settings.mirrors
            return Pytest(
                command=command, root=root, timeout=timeout, plugins=plugins, mirrors=mirrors, sandbox=sandbox
            )
        case "junit":
            return Junit(command=command, report=settings.report, listing=listing, timeout=timeout, sandbox=sandbox)
        case "gotest":
            return GoTest(command=command, timeout=timeout, sandbox=sandbox)
        case _:
            return PlainCommand(command=command, listing=listing, timeout=timeout, sandbox=sandbox)


# Try a project's test tool on a small project of our own: do its canaries end as they must on this machine?

_TRIAL_PATIENCE: Final = 120.0
_PYTHON_TRIAL: Final = {"test_treadle_trial.py": "def test_trial():\n    assert 1 + 1 == 2\n"}
_GO_TRIAL: Final = {
    "go.mod": "module example.org/trial\n\ngo 1.18\n",
    "trial.go": "package trial\n\nfunc Two() int { return 2 }\n",
    "trial_test.go": (
        'package trial\n\nimport "testing"\n\n'
        "func TestTrial(t *testing.T) {\n\tif Two() != 2 {\n\t\tt.Fatal(Two())\n\t}\n}\n"
    ),
}


async def canary_fault(settings: model.ToolchainSettings, root: Path, sandbox: Enclosure | None = None) -> str | None:
    """Return why the canaries of a test tool do not work here; empty if they do, None if this kind of tool has none.

    The project's own options are left out: they may name files that the small project does not have.
    """
    words = settings.command("test", root=str(root))
    names = [Path(word).name for word in words]
    if settings.kind == "pytest":
        program = next((name for name in ("pytest", "py.test") if name in names), "")
        command = words[: names.index(program) + 1] if program else words
        return await _try_canaries(
            Pytest(command=command, root=root, timeout=_TRIAL_PATIENCE, sandbox=sandbox), _PYTHON_TRIAL
        )
    if settings.kind == "gotest" and names[0] == "go":
        command = (words[0], "test", "./...")
        return await _try_canaries(GoTest(command=command, timeout=_TRIAL_PATIENCE, sandbox=sandbox), _GO_TRIAL)
    return None


async def _try_canaries(tests: Pytest | GoTest, files: dict[str, str]) -> str:
    with temporary_folder("scratch") as folder:
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        run = await tests.test(folder)
    if run.is_green and run.passed and run.is_witnessed:
        return ""
    lines = [line.strip() for line in run.output.splitlines() if line.strip()]
    reasons = [*run.bent, *run.problems, *(test.message for test in run.tests.values() if test.message), *lines[-1:]]
    first = (reasons or [f"its exit code was {run.exit}"])[0]
    return f"a small test that passes could not be run and witnessed: {first.splitlines()[0][:300]}"


# The environment that tests run in: interpreters, tools and installed packages, as one fingerprint.
#
# A result of the tests holds only as long as the environment does: after `pip uninstall`, `npm update` or a new Go, the
# same tree gives other results. The fingerprint changes with the programs that the toolchain's commands start and with
# the records that package managers keep of what is installed. It reads names, sizes and times only, so it is cheap
# enough to be taken before every look at a kept result.

_COMMANDS: Final = ("test", "build", "contract", "lint", "format", "collect", "interface", "api_dump")
_RECORDS: Final = (".dist-info", ".egg-info", ".egg-link", ".pth")
"""The names that records of an installed Python distribution end with."""
_NODE: Final = (".package-lock.json", ".yarn-integrity", ".yarn-state.yml", ".modules.yaml")
"""The files in which npm, yarn and pnpm record the content of `node_modules`."""


def environment_fingerprint(settings: model.ToolchainSettings, root: Path) -> list[str]:
    """Return the facts besides its files that a project's test results depend on, one line each, in a fixed order."""
    commands = [settings.command(name, root=str(root)) for name in _COMMANDS]
    programs = sorted({command[0] for command in commands if command})
    lines: list[str] = []
    # `uv run`, tox and nox start another interpreter than the program that the command names
    prefixes = [root / ".venv", root / "venv", *sorted(root.glob(".tox/*")), *sorted(root.glob(".nox/*"))]
    for program in programs:
        found = shutil.which(program) if os.sep not in program else program
        lines.append(f"{program}: {_stamp(Path(os.path.realpath(found))) if found else 'missing'}")
        # a link to an interpreter belongs to an environment, and the interpreter itself may have packages, too
        prefixes += [Path(one).parent.parent for one in (found, os.path.realpath(found))] if found else []
    for prefix in dict.fromkeys(prefixes):
        for folder in sorted(prefix.glob("lib/python3*/*-packages")):
            with suppress(OSError), os.scandir(folder) as entries:
                records = sorted((one for one in entries if one.name.endswith(_RECORDS)), key=lambda one: one.name)
                lines += (f"{one.path}: {_stamp(one)}" for one in records)
    lines += (f"{name}: {_stamp(root / 'node_modules' / name)}" for name in _NODE)
    return lines


def _stamp(path: "Path | os.DirEntry[str]") -> str:
    try:
        found = path.stat()
    except OSError:
        return "missing"
    return f"{found.st_size} {found.st_mtime_ns}"
