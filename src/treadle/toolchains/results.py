"""Results of test runs and other project commands. A field stays empty where a tool does not report it."""

from collections.abc import Iterable
from typing import Any, Final, Literal

import msgspec

Verdict = Literal["passed", "failed", "error", "skipped", "xfailed", "xpassed"]
Phase = Literal["collect", "setup", "call", "teardown"]
FailureKind = Literal[
    "", "assertion", "not_implemented", "error", "import", "fixture", "timeout", "exit", "hook", "unknown"
]
"""The reason why a test did not pass; `exit`: it tried to end the run; `hook`: nothing was raised."""
Ended = Literal["done", "timeout", "killed", "missing"]
"""How a command ended: by itself; by a timeout; by a signal that we did not send; its program could not be started."""

MAX_MESSAGE: Final = 4_000
MAX_OUTPUT: Final = 200_000

NO_CANARIES: Final = "no canaries"
"""The end of a limit for runs that rest on their runner's word alone, which shares a process with the code."""


class TestResult(msgspec.Struct, frozen=True, kw_only=True):
    """How one test ended."""

    __test__ = False  # or pytest would take it for a class of tests

    id: str
    verdict: Verdict
    phase: Phase = "call"
    kind: FailureKind = ""
    """Empty unless it failed or could not be run."""
    message: str = ""
    file: str = ""
    """The test's source file, as a path below the checkout; empty if the toolchain does not report it."""
    line: int = 0
    duration: float = 0.0

    @property
    def is_red(self) -> bool:
        """Whether it failed because of a missing implementation, in its setup or its call."""
        if self.phase == "setup":
            return self.verdict == "error" and self.kind == "not_implemented"
        return self.verdict == "failed" and self.phase == "call" and self.kind in ("assertion", "not_implemented")


class TestRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a project's tests."""

    __test__ = False

    command: tuple[str, ...]
    exit: int | None
    """None: it did not end by itself."""
    duration: float
    ended: Ended = "done"
    tests: dict[str, TestResult] = {}
    """Results by id; a file that could not be collected has a result under its own id."""
    collected: tuple[str, ...] = ()
    """All ids found, in the order of the run, chosen or not."""
    chosen: tuple[str, ...] = ()
    """The ids that were selected to run."""
    output: str = ""
    """The output; if it is too long, its beginning and end."""
    problems: tuple[str, ...] = ()
    """Problems of the run as a whole: nothing collected, a timeout, a wrong option."""
    bent: tuple[str, ...] = ()
    """Contradictions between the witnesses; no result of such a run can be believed."""
    tampering: tuple[str, ...] = ()
    """Actions that code under test seldom has a reason for; by themselves no proof of anything."""
    noted: tuple[str, ...] = ()
    """Other side effects: started programs, sockets."""
    hiding: dict[str, str] = {}
    """Files of the checkout that shadow installed modules, and the modules' names."""
    mirrored: tuple[str, ...] = ()
    """The tests of which a copy with another expected value ran, and failed as it must."""
    toothless: dict[str, str] = {}
    """The tests that pass with any expected value, with the text about each in `bent`."""
    by_runner: tuple[str, ...] = ()
    """The tests that end well only without our instrumentation; their verdicts rest on the runner's word alone."""
    limits: tuple[str, ...] = ()
    """Things that this toolchain cannot report or prevent."""
    isolation: str = ""
    """The name of the sandbox that isolated the run from the machine."""
    foreign: tuple[str, ...] = ()
    """Modules imported from the user's own checkout instead of this one: the tested code is not the delivered code."""
    never_began: bool = False
    """The test tool itself could not be started, or broke before it had looked at any test."""
    broke_off: bool = False
    """Its process ended, or was killed by something else, before the witness had reported the end of the run."""

    @property
    def is_believable(self) -> bool:
        """Whether it began, ended by itself, tested this checkout, and all witnesses agree."""
        has_ended = self.ended == "done" and self.exit is not None and not self.never_began
        return has_ended and not self.bent and not self.foreign

    @property
    def is_witnessed(self) -> bool:
        """Whether a witness besides the runner itself confirmed its verdicts."""
        return not is_unwitnessed(self.limits)

    @property
    def is_green(self) -> bool:
        """Whether there were tests, all that were chosen ran, and nothing went wrong. Skipped tests do not spoil it."""
        good = all(test.verdict in ("passed", "skipped", "xfailed") for test in self.tests.values())
        return self.is_believable and not self.problems and self.exit == 0 and good

    def with_verdict(self, *verdicts: Verdict) -> tuple[str, ...]:
        """Return the sorted ids of the tests with one of these verdicts."""
        return tuple(sorted(id for id, test in self.tests.items() if test.verdict in verdicts))

    @property
    def passed(self) -> frozenset[str]:
        """The ids of the tests that passed."""
        return frozenset(self.with_verdict("passed"))

    @property
    def failed(self) -> frozenset[str]:
        """The ids of the tests that failed or could not be run."""
        return frozenset(self.with_verdict("failed", "error"))


class RecordedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call of the code by a test, whose arguments and outcome are values."""

    test: str
    call: str
    """Callable and arguments, as JSON of the recorder."""
    outcome: str
    """Result or exception, and the arguments afterwards; JSON, too."""


class CallRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The calls of a run apart that can be repeated elsewhere, or a sample of them."""

    calls: tuple[RecordedCall, ...] = ()
    others: int = 0
    """The number of calls that cannot be repeated: they take or return objects, or their test changed its process."""
    path: tuple[str, ...] = ()
    """The folders of the checkout from which the tests import, relative to it."""
    answers: tuple[str, ...] = ()
    """The outcomes of the calls that were made again, each one alone, before any test."""


class CallDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A call that ends in one way in the tests, and in another one without them; all in words of Python."""

    test: str
    call: str
    in_tests: str
    elsewhere: str


class CallReplay(msgspec.Struct, frozen=True, kw_only=True):
    """The repetition of recorded calls in plain interpreters without any test."""

    recorded: int = 0
    replayed: int = 0
    incomparable: int = 0
    """The calls of which nothing is known: they cannot be repeated, or do not always end in the same way."""
    differences: tuple[CallDifference, ...] = ()
    problem: str = ""
    """The reason why nothing can be repeated on this machine."""
    limits: tuple[str, ...] = ()


class ApartRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run of some tests with judge and subject in two processes."""

    run: TestRun
    """The judge's verdicts, in the form of every run."""
    crossed: tuple[str, ...] = ()
    """The tests during which at least one call, attribute or import crossed to the subject."""
    uncrossable: dict[str, str] = {}
    """The tests that cannot cross because of their own acts, with the reason."""
    failed_to_cross: dict[str, str] = {}
    """The tests for which the subject could not send a result, or sent one that the judge refused, with the reason."""
    breaches: tuple[str, ...] = ()
    """The subject's breaches of the wire protocol."""
    problem: str = ""
    """The reason why no test can run apart on this machine; empty if tests can."""
    calls: int = 0
    """The number of requests that crossed."""
    record: CallRecord = CallRecord()
    duration: float = 0.0


def with_word_of(run: TestRun, plain: TestRun, ids: Iterable[str]) -> TestRun:
    """Return a run in which some tests have the verdicts of another one, without our instrumentation."""
    told = {id: plain.tests[id] for id in ids if id in plain.tests} if plain.is_believable else {}
    if not told:
        return run
    tests = run.tests | told
    is_well = run.exit == 1 and not any(test.verdict in ("failed", "error", "xpassed") for test in tests.values())
    limit = f"{len(told)} of the tests rest on the runner's word alone, because our instrumentation makes them fail"
    return msgspec.structs.replace(
        run,
        tests=tests,
        exit=0 if is_well else run.exit,
        by_runner=tuple(sorted(told)),
        limits=(*run.limits, f"{limit}: {', '.join(sorted(told)[:_NAMED])}"),
    )


_NAMED: Final = 5


def is_unwitnessed(limits: Iterable[str]) -> bool:
    """Whether a run with these limits rests on its runner's word alone."""
    return any(limit.endswith(NO_CANARIES) for limit in limits)


class CollectedTests(msgspec.Struct, frozen=True, kw_only=True):
    """The tests of a checkout, found without running them."""

    ids: tuple[str, ...]
    errors: dict[str, TestResult] = {}
    """Collection errors, by file."""
    files: dict[str, str] = {}
    """The source file of each test, where its id does not contain it and the toolchain reports it."""
    problems: tuple[str, ...] = ()
    bent: tuple[str, ...] = ()
    tampering: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    output: str = ""
    never_began: bool = False
    """As of a run of the tests."""

    @property
    def is_complete(self) -> bool:
        """Whether the list contains all tests."""
        return not (self.errors or self.problems or self.bent)


class CommandResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a command ended."""

    command: tuple[str, ...]
    exit: int | None
    output: str = ""
    duration: float = 0.0
    ended: Ended = "done"
    isolation: str = ""
    detail: str = ""
    """Why it was killed or could not be started."""

    @property
    def is_well(self) -> bool:
        """Whether it ended by itself, and with success."""
        return self.exit == 0

    @property
    def problems(self) -> tuple[str, ...]:
        """The reason why it did not end by itself, if so."""
        program = self.command[0] if self.command else ""
        if self.ended == "timeout":
            return (f"{program} did not end within {self.duration:.0f} s",)
        if self.ended == "missing":
            return (f"{program} could not be started: {self.detail}; install it (a run keeps its settings)",)
        return (f"{program}: {self.detail}",) if self.ended == "killed" else ()

    def as_test_run(self, **more: Any) -> TestRun:
        """The run of the tests that this command was."""
        return TestRun(
            command=self.command,
            exit=self.exit,
            duration=self.duration,
            ended=self.ended,
            output=self.output,
            isolation=self.isolation,
            **more,
        )
