"""Run pytest in a clean checkout with a witness inside, and confirm every verdict by three witnesses.

The three are the lines of the witness, the JUnit file and the exit code (`testimony.py` compares them). This module
also connects to the witness in the test process, and detects test files that change while tests run.
"""

import asyncio
import configparser
import json
import os
import secrets
import socket
import tempfile
import time
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from random import Random, SystemRandom
from typing import Any, Final

import msgspec

from treadle.enclosures.port import Enclosure
from treadle.git.files import list_folder, temporary_folder
from treadle.protocol.paths import is_test
from treadle.toolchains.apart import (
    NO_NAMESPACE,
    PYTHON_BOOT,
    SEAM,
    SubjectSettings,
    mounting_program,
    own_files,
    python_sources,
    running_subject,
    subject_environment,
)
from treadle.toolchains.junit import JunitCase, read_junit
from treadle.toolchains.process import COUNT, command_environment, read_bytes, read_text, run
from treadle.toolchains.replay import Again, replay_calls
from treadle.toolchains.results import (
    ApartRun,
    CallRecord,
    CallReplay,
    CollectedTests,
    CommandResult,
    RecordedCall,
    TestRun,
    Verdict,
)
from treadle.toolchains.sandbox import find_sandbox
from treadle.toolchains.testimony import MAX_LINE, Testimony, disagreements, problem_of_exit

# The command line: nothing from above or beside the checkout has an influence.

WITNESS: Final = Path(__file__).with_name("witness")

KNOWN_PLUGINS: Final = tuple(
    """
    anyio asyncio aiohttp trio tornasync twisted xdist xdist.looponfail pytest_cov timeout pytest_mock django flask
    env httpx pytest_httpserver pytest_httpx respx requests_mock recording vcr faker hypothesispytest pytest_fakefs
    time_machine freezer freezegun benchmark subtests syrupy inline_snapshot snapshot regressions datadir pytest_datadir
    pytest-bdd factoryboy pytest_factoryboy lazy-fixture lazy_fixtures pytest_lazyfixtures cases pytest_cases order
    pytest_order socket postgresql docker qt pytest-qt randomly rerunfailures typeguard check icdiff clarity
    """.split()
)
"""Entry points that Treadle loads where installed; a project's own go into `toolchain.plugins`."""


def configuration(checkout: Path) -> Path | None:
    """Return pytest's configuration file, by pytest's own rules but never from above the checkout."""
    for name in ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini"):
        if (checkout / name).is_file():
            return checkout / name
    try:
        tool = tomllib.loads(read_text(checkout / "pyproject.toml")).get("tool", {})
        is_configured = isinstance(tool, dict) and "pytest" in tool
    except (ValueError, RecursionError):
        is_configured = True  # pytest explains best what is wrong with it
    if is_configured:
        return checkout / "pyproject.toml"
    for name, section in (("tox.ini", "pytest"), ("setup.cfg", "tool:pytest")):
        parser = configparser.RawConfigParser(strict=False)
        with suppress(configparser.Error):
            parser.read_string(read_text(checkout / name))
            if parser.has_section(section):
                return checkout / name
    return None


def is_run_as_module(command: tuple[str, ...]) -> bool:
    """Whether the command starts `python -m pytest`, which makes the current folder importable."""
    return ("-m", "pytest") in pairwise(command)


def pytest_arguments(checkout: Path, scratch: Path, *, files: tuple[str, ...], collect_only: bool) -> list[str]:
    """Return the arguments to append to the project's own command."""
    empty = scratch / "pytest.ini"
    if (ini := configuration(checkout)) is None:
        empty.write_text("[pytest]\n", encoding="utf-8")
        ini = empty
    report = scratch / "report"
    report.mkdir(exist_ok=True)
    return [
        *("-p", "treadle_witness.plugin", "-c", str(ini), f"--rootdir={checkout}", f"--confcutdir={checkout}"),
        # A cache of its own instead of none: options such as `--ff` in the project's configuration stay valid.
        *("-o", f"cache_dir={scratch / 'cache'}", "-o", "junit_family=xunit1", "-o", "junit_logging=no"),
        *("--junit-prefix=", f"--junit-xml={report / 'junit.xml'}", f"--basetemp={scratch / 'basetemp'}"),
        *("--maxfail=0", "--continue-on-collection-errors", "--color=no"),
        *(["--collect-only", "-q"] if collect_only else []),
        *files,
    ]


# The interpreter of a test command, so that Treadle's probes run in the same environment.


def instead_of_pytest(command: tuple[str, ...], *words: str) -> tuple[str, ...] | None:
    """Insert a script into a pytest command: `words`, then `-m pytest` and its arguments.

    Return None if the command does not show where it starts pytest.
    """
    for at, (word, after) in enumerate(pairwise(command)):
        if (word, after) == ("-m", "pytest"):
            return (*command[:at], *words, *command[at:])
    for at, word in enumerate(command):
        if Path(word).name == "pytest":
            # The Python beside it in its environment; for a bare name, the one on the PATH.
            python = str(Path(word).with_name("python")) if "/" in word else "python"
            return (*command[:at], python, *words, "-m", "pytest", *command[at + 1 :])
    return None


def interpreter(command: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the words with which a test command starts Python, without its options; None if it shows none."""
    covered = instead_of_pytest(command, "")
    return covered[: covered.index("")] if covered else None


# Detect test files that change while tests run: pytest would then collect other tests than Treadle handed over.

Stamps = dict[str, tuple[int, int, int]]
_DECIDING: Final = (".py", ".ini", ".toml", ".cfg")
"""Suffixes of the files to watch; tests may freely write data and snapshots beside them."""
_SKIPPED_FOLDERS: Final = frozenset({".git", ".treadle", "node_modules", ".venv", "__pycache__"})


def stamp_test_files(checkout: Path) -> Stamps:
    """Stamp each test file of a checkout with inode, size and change time; no program can set the change time."""
    root, waiting = str(checkout), [""]
    names: list[str] = []
    while waiting:
        prefix = waiting.pop()
        with suppress(OSError):  # a folder that may not be read
            found = list_folder(f"{root}/{prefix}".rstrip("/"), prefix)
            waiting += [f"{prefix}{name}/" for name in found.folders if name not in _SKIPPED_FOLDERS]
            names += [path for path in found.files if path.endswith(_DECIDING) and is_test(path)]
    return _stamp(checkout, names)


def find_rewritten(checkout: Path, before: Stamps) -> list[str]:
    """Return the test files that changed or vanished since `before`."""
    after = _stamp(checkout, before)
    return [f"{name} was rewritten while the tests ran" for name in sorted(before) if after.get(name) != before[name]]


def _stamp(checkout: Path, names: Iterable[str]) -> Stamps:
    found = Stamps()
    for name in names:
        with suppress(OSError):  # it is gone, or what was a folder is none now
            stat = os.lstat(f"{checkout}/{name}")
            found[name] = (stat.st_ino, stat.st_size, stat.st_ctime_ns)
    return found


# The line to the witness in the test process: inherited file descriptors, or a named pipe where none can be
# inherited.

WITNESS_VARIABLE: Final = "TREADLE_WITNESS"
THROUGH_A_PIPE: Final = "the witness reports from inside of a container, through a pipe by name"


class WitnessLine:
    """A connection to the witness: the end that Treadle reads, and the address that the test process writes to."""

    def __init__(self, reading: int, writing: int, address: str, fds: tuple[int, ...] = ()) -> None:
        self.reading = reading
        """The listener closes it."""
        self.address = address
        self.fds = fds
        """The descriptors that the process has to inherit."""
        self._writing: int | None = writing

    def hang_up(self) -> None:
        """Close our write end: the line then ends with the last process of the witness that has it open."""
        if self._writing is not None:
            os.close(self._writing)
            self._writing = None


@contextmanager
def witness_line(order: bytes, scratch: Path, *, is_apart: bool) -> Iterator[WitnessLine]:
    """Open a line to the witness, with the order for it at the other end."""
    with tempfile.TemporaryFile() as file:
        if is_apart:
            # A named pipe: the witness removes both names before any code of the project can find them.
            folder = scratch / "line"
            folder.mkdir(mode=0o700)
            (folder / "order").write_bytes(order)
            os.mkfifo(folder / "report", 0o600)
            reading = os.open(folder / "report", os.O_RDONLY | os.O_NONBLOCK)
            line = WitnessLine(reading, os.open(folder / "report", os.O_WRONLY), str(folder))
        else:
            file.write(order)
            file.seek(0)
            reading, writing = os.pipe()
            line = WitnessLine(reading, writing, f"{file.fileno()}:{writing}", (file.fileno(), writing))
        try:
            yield line
        finally:
            line.hang_up()


class JudgeOrder(msgspec.Struct, frozen=True, kw_only=True):
    """The facts that the judge of a subject needs."""

    shared: Path
    line: socket.socket
    own: list[str]
    deadline: float
    sample: str = ""
    """The seed that decides which calls are recorded."""
    ask: tuple[str, ...] = ()
    """Programs of one call each, which the judge runs before the tests."""

    def order(self, checkout: Path) -> dict[str, Any]:
        return {
            "socket": self.line.fileno(),
            "checkout": str(checkout),
            "own": self.own,
            "deadline": self.deadline,
            "hidden": [str(WITNESS), str(SEAM)],
            "seed": secrets.token_hex(16),
            "sample": self.sample,
            "ask": list(self.ask),
        }


_NOT_CALLED: Final = 4
"""The exit code of pytest for options that it does not know; it then loads no plugin."""
_GRACE: Final = 5.0
"""Seconds that a test has to notice its own timeout."""
_SILENCE: Final = 5.0
"""Seconds without a line after which nothing is left in the witness's pipe."""
_DRAIN: Final = 60.0
"""Seconds for the last lines of the witness after the end of its process; a busy machine needs several."""
_CANARY_VERDICTS: Final[tuple[Verdict, ...]] = ("passed", "failed", "error")
MIRRORS: Final = 10
_INSIDE: Final = "the code under test runs in the process of its tests: what it does there is watched, not prevented"


class Pytest(msgspec.Struct, frozen=True, kw_only=True):
    """The test runner for pytest."""

    command: tuple[str, ...]
    root: Path
    """The user's own checkout; tests use its environment, never its code."""
    timeout: float = 600.0
    test_timeout: float | None = None
    """The timeout of one test in seconds; None: half of the run's timeout."""
    plugins: tuple[str, ...] = KNOWN_PLUGINS
    """The only entry points (`pytest11`) to load, where installed."""
    mirrors: int = MIRRORS
    """The number of tests to copy with another expected value; each copy must fail."""
    sandbox: Enclosure | None = None
    """None: the best sandbox that works here."""
    is_plain: bool = False
    """Whether no assertion is rewritten or judged; the verdicts then rest on the runner's word alone."""

    async def test(
        self, path: Path, ids: tuple[str, ...] | None = None, files: tuple[str, ...] | None = None
    ) -> TestRun:
        """Run the tests of a checkout: all, those with some ids, or those in some files."""
        with temporary_folder("scratch") as scratch:
            return await _PytestRun(self, path.resolve(), scratch, ids, files, collect_only=False).result()

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
        """Run tests of a checkout with judge and subject in two processes.

        `subject` is a checkout of the same tree without its test files; the judge imports no file that `is_subject`.
        `sample` is the seed that decides which calls are recorded; `ask` are programs to run before the tests.
        """
        began = time.monotonic()
        problem, python = "", interpreter(self.command)
        if self.sandbox is not None and self.sandbox.is_apart:
            problem = "in a container, judge and subject cannot be joined yet"
        elif python is None:
            problem = "`toolchain.test` does not say which Python starts pytest"
        elif not (program := await mounting_program()):
            problem = NO_NAMESPACE
        else:
            with temporary_folder("scratch") as scratch:
                seen = self._seen(python, path, subject, scratch)
                own = await asyncio.to_thread(own_files, seen.checkout, is_subject)
                ran = await _run_apart(self, ids, seen, own, scratch, program, sample, ask)
            return msgspec.structs.replace(ran, duration=time.monotonic() - began)
        return ApartRun(run=TestRun(command=self.command, exit=None, duration=0.0, ended="missing"), problem=problem)

    async def replay(
        self, code: Path, record: CallRecord, again: Again, sample: str, passed: Collection[str]
    ) -> CallReplay:
        """Repeat calls that some tests made, in plain interpreters, on a checkout without tests."""
        if (self.sandbox is not None and self.sandbox.is_apart) or (python := interpreter(self.command)) is None:
            return CallReplay(problem="nothing runs apart here")
        return await replay_calls(self._seen(python, code, code, code), record, again, sample, passed)

    def _seen(self, python: tuple[str, ...], path: Path, subject: Path, scratch: Path) -> SubjectSettings:
        return SubjectSettings(
            program=python,
            boot=PYTHON_BOOT,
            sources=python_sources(),
            root=self.root.resolve(),
            checkout=path.resolve(),
            subject=subject.resolve(),
            shared=scratch / "shared",
            hidden=(scratch, WITNESS, SEAM),
        )

    async def collect(self, path: Path, files: tuple[str, ...] | None = None) -> CollectedTests:
        """Return the tests of a checkout, without running them."""
        with temporary_folder("scratch") as scratch:
            ran = await _PytestRun(self, path.resolve(), scratch, None, files, collect_only=True).result()
        return CollectedTests(
            ids=ran.collected,
            errors={id: test for id, test in ran.tests.items() if test.verdict == "error"},
            problems=ran.problems,
            bent=ran.bent,
            tampering=ran.tampering,
            limits=ran.limits,
            output=ran.output,
            never_began=ran.never_began,
        )


async def _run_apart(
    settings: Pytest,
    ids: tuple[str, ...],
    seen: SubjectSettings,
    own: list[str],
    scratch: Path,
    program: str,
    sample: str,
    ask: tuple[str, ...],
) -> ApartRun:
    seen.shared.mkdir()
    async with running_subject(program, seen, subject_environment(scratch)) as other:
        settings = msgspec.structs.replace(settings, mirrors=0)
        judge = _PytestRun(settings, seen.checkout, scratch, ids or None, None, collect_only=False)
        judge.seam = JudgeOrder(
            shared=seen.shared, line=other.line, own=own, deadline=judge.seconds, sample=sample, ask=ask
        )
        ran = await judge.result()
    told = judge.testimony
    reasons: dict[str, dict[str, str]] = {"uncrossable": {}, "failed": {}, "breach": {}}
    for id, more in told.crossings.items():
        for what, by_test in reasons.items():
            if what in more:
                by_test[id] = str(more[what])
    early = [reason for what, reason in told.outside if what == "breach"]
    not_started = not told.crossings and early and str(other.output).strip()
    return ApartRun(
        run=ran,
        crossed=tuple(sorted(id for id, more in told.crossings.items() if more["calls"])),
        uncrossable=reasons["uncrossable"],
        failed_to_cross=reasons["breach"] | reasons["failed"],
        breaches=tuple(dict.fromkeys([*early, *reasons["breach"].values()])),
        problem=f"the subject could not be started: {str(other.output).strip()[-1000:]}" if not_started else "",
        calls=sum(more["calls"] for more in told.crossings.values()),
        record=_record(told, seen.checkout, sample),
    )


_KEPT_CALLS: Final = 300


def _record(told: Testimony, checkout: Path, sample: str) -> CallRecord:
    """Return the recorded calls of the tests that passed, or a sample of them."""
    calls = [
        RecordedCall(test=id, call=call, outcome=outcome)
        for id, more in told.crossings.items()
        if id in told.tests and told.tests[id].verdict == "passed"
        for call, outcome in more.get("recorded", ())
    ]
    inside = [Path(one) for one in told.asked["path"] if Path(one).is_relative_to(checkout)]
    return CallRecord(
        calls=tuple(Random(sample).sample(calls, min(len(calls), _KEPT_CALLS))),
        others=sum(more.get("others", 0) for more in told.crossings.values()),
        path=tuple(one.relative_to(checkout).as_posix() for one in inside),
        answers=tuple(told.asked["outcomes"]),
    )


class _PytestRun:
    """One run, from the order to the verdicts."""

    def __init__(
        self,
        settings: Pytest,
        checkout: Path,
        scratch: Path,
        ids: tuple[str, ...] | None,
        files: tuple[str, ...] | None,
        *,
        collect_only: bool,
    ) -> None:
        self.settings, self.checkout, self.scratch = settings, checkout, scratch
        self.ids, self.collect_only = ids, collect_only
        self.files = tuple(dict.fromkeys([*(files or ()), *(id.partition("::")[0] for id in ids or ())]))
        self.key = secrets.token_bytes(32)
        self.testimony = Testimony(self.key)
        self.canaries = (
            {} if collect_only or settings.is_plain else {secrets.token_hex(8): want for want in _CANARY_VERDICTS}
        )
        self.seconds = settings.test_timeout or settings.timeout / 2
        self.stop = asyncio.Event()
        self.heard = 0
        self.seam: JudgeOrder | None = None
        """The order that makes this run the judge of a subject in another process; None in other runs."""
        self._is_apart = settings.sandbox is not None and settings.sandbox.is_apart

    async def result(self) -> TestRun:
        problems = tuple(f"{file} is not in the checkout" for file in self.files if not self._is_there(file))
        if problems:
            return TestRun(command=self.settings.command, exit=None, duration=0.0, ended="missing", problems=problems)
        options = pytest_arguments(self.checkout, self.scratch, files=self.files, collect_only=self.collect_only)
        if self.seam is not None:
            options.append(f"--basetemp={self.seam.shared / 'basetemp'}")
        command = (*self.settings.command, *options)
        handed_over = await asyncio.to_thread(stamp_test_files, self.checkout)
        finished = await self._execute(command)
        self.testimony.bent += await asyncio.to_thread(find_rewritten, self.checkout, handed_over)
        return self._judge(finished)

    def _is_there(self, file: str) -> bool:
        path = (self.checkout / file).resolve()
        return path.is_relative_to(self.checkout) and path.exists()

    async def _execute(self, command: tuple[str, ...]) -> CommandResult:
        sandbox = self.settings.sandbox or await find_sandbox()
        order = json.dumps(self._order()).encode()
        with witness_line(order, self.scratch, is_apart=sandbox.is_apart) as line:
            env = command_environment(self.scratch) | {
                "PYTHONPATH": str(WITNESS) if self.seam is None else os.pathsep.join(map(str, (WITNESS, SEAM))),
                "PYTHONSAFEPATH": "1",
                "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
                WITNESS_VARIABLE: line.address,
            }
            fds = line.fds
            if self.seam is not None:
                env["TMPDIR"] = str(self.seam.shared)
                fds = (*fds, self.seam.line.fileno())
            listening = asyncio.create_task(self._listen(line.reading))
            watching = asyncio.create_task(self._watch())
            try:
                return await run(
                    command,
                    cwd=self.checkout,
                    env=env,
                    timeout=self.settings.timeout,
                    sandbox=sandbox,
                    scratch=self.scratch,
                    readable=(WITNESS, SEAM),
                    fds=fds,
                    stop=self.stop,
                )
            finally:
                watching.cancel()
                line.hang_up()
                await self._drain(listening)
                self._count()

    def _order(self) -> dict[str, Any]:
        places = SystemRandom()
        canaries = [
            {"token": token, "want": want, "place": places.random(), "name": f"test_{secrets.token_hex(4)}"}
            for token, want in self.canaries.items()
        ]
        return {
            "key": self.key.hex(),
            "name": secrets.token_hex(8),
            "checkout": str(self.checkout),
            "root": str(self.settings.root.resolve()),
            "kept": str(self.scratch / "report"),
            "module": is_run_as_module(self.settings.command),
            "plugins": list(self.settings.plugins),
            "ids": None if self.ids is None else list(self.ids),
            "timeout": self.seconds,
            "canaries": canaries,
            "mirrors": 0 if self.settings.is_plain else self.settings.mirrors,
            "plain": self.settings.is_plain,
            "seed": secrets.token_hex(16),
            **({} if self.seam is None else {"seam": self.seam.order(self.checkout)}),
        }

    async def _listen(self, reading: int) -> None:
        """Read the witness's lines until every write end is closed."""
        reader = asyncio.StreamReader(limit=MAX_LINE)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reading, "rb")
        )
        try:
            while line := await reader.readline():
                self.heard += 1
                self.testimony.hear(line)
        except ValueError:
            self.testimony.bent.append("the witness's line was flooded")
            self.stop.set()
        finally:
            transport.close()

    async def _drain(self, listening: asyncio.Task[None]) -> None:
        """Read what is left in the pipe, but not for ever: an orphaned process may still have its write end open."""
        until, heard = time.monotonic() + _DRAIN, -1
        try:
            while not listening.done() and heard < self.heard and time.monotonic() < until:
                heard = self.heard
                await asyncio.wait({listening}, timeout=_SILENCE)
        finally:
            if not listening.cancel():
                listening.result()

    def _count(self) -> None:
        COUNT.get()(len(self.testimony.tests), len(self.testimony.chosen or self.testimony.collected))

    async def _watch(self) -> None:
        """Stop the run if a test exceeds its timeout and does not notice."""
        current, since = "", time.monotonic()
        while True:
            await asyncio.sleep(0.2)
            self._count()
            if self.testimony.running != current:
                current, since = self.testimony.running, time.monotonic()
            if current and time.monotonic() - since > self.seconds + _GRACE:
                self.testimony.timed_out(self.seconds)
                self.stop.set()

    def _judge(self, finished: CommandResult) -> TestRun:
        testimony = self.testimony
        if finished.ended == "timeout":
            testimony.timed_out(finished.duration)
        return finished.as_test_run(
            tests=testimony.tests,
            collected=tuple(testimony.collected),
            chosen=testimony.chosen or (),
            problems=tuple(self._problems(finished)),
            bent=tuple(self._bent(finished)),
            tampering=tuple(testimony.tampering),
            noted=tuple(testimony.noted),
            hiding=testimony.hiding,
            foreign=tuple(testimony.foreign),
            mirrored=tuple(testimony.mirrored),
            toothless={id_: text for id_, text in testimony.toothless.items() if text in testimony.bent},
            limits=(_INSIDE, *([THROUGH_A_PIPE] if self._is_apart else [])),
            never_began=finished.ended == "missing" or (finished.exit is not None and not testimony.has_begun),
            broke_off=finished.ended in ("done", "killed") and testimony.has_begun and testimony.exit is None,
        )

    def _problems(self, finished: CommandResult) -> list[str]:
        found = list(self.testimony.problems)
        if finished.ended == "timeout":
            named = f" in {self.testimony.running}" if self.testimony.running else ""
            found.append(f"the run did not end in its time{named}")
        elif finished.ended != "done":
            found.append(f"{self.settings.command[0]}: {finished.detail}")
        # Before the witness was there, the code may be that of anything: of a shell, or of a broken interpreter.
        began = self.testimony.has_begun or finished.exit == _NOT_CALLED
        if finished.exit is not None and began and (problem := problem_of_exit(finished.exit)):
            found.append(problem)
        if finished.exit is not None and not self.testimony.has_begun:
            apart = " Does the engine share this machine's files?" if self._is_apart else ""
            found.append(f"the witness could not be loaded: is this pytest 7 or later, on Python 3.8 or later?{apart}")
        if self.ids is not None and self.testimony.chosen is not None:
            found += (f"{id} was not collected" for id in self.ids if id not in self.testimony.chosen)
        return found

    def _bent(self, finished: CommandResult) -> list[str]:
        found = list(self.testimony.bent)
        if finished.exit is not None and not self.collect_only:
            found += disagreements(self.testimony, self._report(), finished.exit, self.canaries)
        elif finished.exit is not None and self.testimony.has_begun and self.testimony.exit is None:
            found.append(f"the process ended with {finished.exit} before all tests were collected")
        elif finished.ended == "killed":
            found.append("the process was killed before the run ended")
        return found

    def _report(self) -> list[JunitCase] | None:
        data = read_bytes(self.scratch / "report" / "junit.xml")
        try:
            return None if data is None else read_junit(data)
        except ValueError:
            return None
