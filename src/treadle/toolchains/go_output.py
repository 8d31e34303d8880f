"""Parse the output of the Go tools: the events of `go test -json`, and the packages of `go list -json`.

The stream has one event per line, mixed with other output of the tests.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from treadle.toolchains.process import read_text
from treadle.toolchains.results import MAX_MESSAGE, FailureKind, TestResult, Verdict

_VERDICTS: Final[dict[str, Verdict]] = {"pass": "passed", "fail": "failed", "skip": "skipped"}
_BADNESS: Final[tuple[Verdict, ...]] = ("passed", "skipped", "failed")
_MAX_LINE: Final = 1_000_000
_LISTED: Final = re.compile(r"(?:Test|Example|Fuzz)\w*\n?")
_PLACE: Final = re.compile(r"^\s*(\w[\w.-]*\.go):(\d+): ", re.MULTILINE)
_MISSING: Final = re.compile(
    r"^panic: .*(?:not (?:yet )?implemented|unimplemented|\btodo\b)", re.MULTILINE | re.IGNORECASE
)
_NOISE: Final = re.compile(r"^\s*(?:=== |--- )")


class GoEvent(msgspec.Struct, frozen=True, rename="pascal"):
    """One event of the stream, with the fields that Treadle reads."""

    action: str
    package: str = ""
    test: str = ""
    output: str = ""
    elapsed: float = 0.0
    import_path: str = ""


class GoStream:
    """A parser of the event stream, fed chunk by chunk."""

    def __init__(self) -> None:
        self._rest = b""
        self._texts: dict[tuple[str, str], str] = {}
        self._builds: dict[str, str] = {}
        self.started: dict[str, tuple[str, str]] = {}
        self.tests: dict[str, TestResult] = {}
        """Of several verdicts about one test, the worst."""
        self.verdicts: dict[str, list[Verdict]] = {}
        self.order: list[str] = []
        """The tests in the order in which they ended."""
        self.ended: dict[str, str] = {}
        """How the packages ended."""
        self.paused: dict[str, None] = {}
        """Tests that wait for the others, to run at the same time as some of them."""
        self.listed: dict[str, None] = {}
        self.panicked: dict[str, None] = {}
        """The packages with tests that a panic ended: the one that panicked, and those that ended with it."""

    def hear(self, chunk: bytes) -> None:
        """Parse a chunk of output."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        if len(self._rest) > _MAX_LINE:
            self._rest = b""
        for line in lines:
            if line.startswith(b"{"):
                try:
                    self._take(msgspec.json.decode(line, type=GoEvent))
                except msgspec.DecodeError:  # a test may print what it likes
                    continue

    def _take(self, event: GoEvent) -> None:
        key = (event.package, event.test)
        if event.action == "run":
            self.started[_id(*key)] = key
        elif event.action == "pause":
            self.paused[_id(*key)] = None
        elif event.action == "cont":
            self.paused.pop(_id(*key), None)
        elif event.action == "build-output":
            self._builds[event.import_path] = (self._builds.get(event.import_path, "") + event.output)[-MAX_MESSAGE:]
        elif event.action == "output":
            self._output(key, event.output)
        elif event.action in _VERDICTS and event.test:
            self._ended(key, _VERDICTS[event.action], event.elapsed)
        elif event.action in _VERDICTS:
            self.ended[event.package] = event.action
            if event.action == "fail":
                self._package_failed(event)

    def _ended(self, key: tuple[str, str], verdict: Verdict, seconds: float) -> None:
        """Record a verdict and keep the worst: a program can print a false verdict, but it cannot retract one."""
        id_ = _id(*key)
        known = self.verdicts.setdefault(id_, [])
        if all(_BADNESS.index(verdict) >= _BADNESS.index(one) for one in known):
            self.tests[id_] = self._result(key, verdict, seconds)
        known.append(verdict)
        self.order.append(id_)

    def text(self, package: str, test: str) -> str:
        """Return the output of a test."""
        return self._texts.get((package, test), "")

    def panic_of(self, result: TestResult) -> TestResult:
        """Return a test that failed without a message with the panic that names it: Go prints a panic under any
        test.
        """
        package, _, name = result.id.partition("::")
        if result.verdict != "failed" or result.message or package not in self.panicked:
            return result
        named = re.compile(rf"\.{re.escape(name.partition('/')[0])}[.(]")
        for (where, _), text in self._texts.items():
            if where == package and "panic: " in text and named.search(text):
                return msgspec.structs.replace(result, kind=_failure_kind(text), message=text.strip())
        return result

    def _output(self, key: tuple[str, str], text: str) -> None:
        self._texts[key] = (self._texts.get(key, "") + ("" if _NOISE.match(text) else text))[:MAX_MESSAGE]
        if _LISTED.fullmatch(text) and not key[1]:
            self.listed[_id(key[0], text.strip())] = None
        if text.startswith("panic: "):
            self.panicked[key[0]] = None

    def _result(self, key: tuple[str, str], verdict: Verdict, seconds: float) -> TestResult:
        text = self._texts.get(key, "").strip()
        place = _PLACE.search(text) if verdict == "failed" else None
        return TestResult(
            id=_id(*key),
            verdict=verdict,
            kind=_failure_kind(text) if verdict == "failed" else "",
            message=text if verdict != "passed" else "",
            file=place[1] if place else "",
            line=int(place[2]) if place and len(place[2]) < 10 else 0,
            duration=max(seconds, 0.0),
        )

    def _package_failed(self, event: GoEvent) -> None:
        """Record an error for a package that fails without a failed test: its build failed, or the program exited."""
        if any(test.verdict == "failed" and id.startswith(f"{event.package}::") for id, test in self.tests.items()):
            return
        # Go builds a package for its tests, and the tests of package `x_test` apart: `m/x_test [m/x.test]`.
        own = f"[{event.package}.test]"
        built = "".join(
            text for path, text in self._builds.items() if path.split(" ")[0] == event.package or path.endswith(own)
        )
        text = (built or self._texts.get((event.package, ""), "")).strip()
        is_unbuilt = bool(built) or "[build failed]" in text or "[setup failed]" in text
        kind: FailureKind = "import" if is_unbuilt else _failure_kind(text) if "panic: " in text else "exit"
        self.tests[event.package] = TestResult(
            id=event.package, verdict="error", phase="collect" if is_unbuilt else "call", kind=kind, message=text
        )


def _failure_kind(text: str) -> FailureKind:
    """Classify a failure: a panic, a timeout, or an assertion of the test itself."""
    if "panic: test timed out after" in text:
        return "timeout"
    if re.search(r"^panic: ", text, re.MULTILINE):
        return "not_implemented" if _MISSING.search(text) else "error"
    return "assertion"


def _id(package: str, test: str) -> str:
    return f"{package}::{test}"


# The packages of a Go module, from `go list`, and the tests in their source files.

FIELDS: Final = "-json=Dir,ImportPath,Name,TestGoFiles,XTestGoFiles"
_TESTS: Final = re.compile(
    r"^func ((?:Test|Fuzz)(?:[^a-z\W]\w*)?|Example\w*)\(\s*(?:\w+\s+\*\w+\.[TF]\s*)?\)", re.MULTILINE
)
_BLOCK: Final = re.compile(r"^\{\n.*?^\}", re.MULTILINE | re.DOTALL)
_ALONE: Final = frozenset(
    "v race short json cover failfast benchmem a n x msan asan work trimpath modcacherw linkshared fullpath".split()
)
"""Options without a value."""
_CHOOSING: Final = frozenset("tags mod modfile race msan asan".split())
"""Options that decide which files belong to a package."""


class GoPackage(msgspec.Struct, frozen=True, rename="pascal"):
    """A package with tests."""

    dir: str
    import_path: str
    name: str
    test_go_files: tuple[str, ...] = ()
    x_test_go_files: tuple[str, ...] = ()

    @property
    def test_files(self) -> tuple[str, ...]:
        return (*self.test_go_files, *self.x_test_go_files)

    def tests(self) -> dict[str, tuple[str, int]]:
        """Return the tests found in the source, with file and line; only a run shows which of them really exist."""
        found: dict[str, tuple[str, int]] = {}
        for file in self.test_files:
            text = read_text(Path(self.dir) / file)
            for match in _TESTS.finditer(text):
                found.setdefault(match[1], (file, text.count("\n", 0, match.start()) + 1))
        return found


def listing_command(command: Sequence[str]) -> tuple[str, ...]:
    """Return the `go list` command for the packages that a `go test` command tests."""
    at = command.index("test") + 1
    options, packages, words = [], [], iter(command[at:])
    for word in words:
        name, _, given = word.lstrip("-").partition("=")
        if not word.startswith("-"):
            packages.append(word)
            continue
        value = [] if given or name in _ALONE else [next(words, "")]
        options += [word, *value] if name in _CHOOSING else []
    return (*command[: at - 1], "list", "-e", FIELDS, *options, *packages)


def read_packages(text: str) -> list[GoPackage]:
    """Parse the packages with tests from the output of `go list -json`; none if the output is not JSON."""
    try:
        found = [msgspec.json.decode(block[0], type=GoPackage) for block in _BLOCK.finditer(text)]
    except msgspec.DecodeError:
        return []
    return [one for one in found if one.test_files]
