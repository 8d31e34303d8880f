"""What a run of tests, or of any other command of the project, showed. What a tool cannot tell is not invented."""

from collections.abc import Iterable
from typing import Final, Literal

import msgspec

Verdict = Literal["passed", "failed", "error", "skipped", "xfailed", "xpassed"]
Phase = Literal["collect", "setup", "call", "teardown"]
Kind = Literal["", "assertion", "not_implemented", "error", "import", "fixture", "timeout", "exit", "hook", "unknown"]
"""Why a test did not pass: `exit`: it tried to end the run; `hook`: nothing was raised; `unknown`: who can tell."""
Ended = Literal["done", "timeout", "killed", "missing"]
"""By itself; out of time; by a signal that we did not send; its program could not be started."""

MAX_MESSAGE: Final = 4_000
MAX_OUTPUT: Final = 200_000

NO_CANARIES: Final = "no canaries"
"""How a limit of a run ends if it rests on the word of its runner alone, which shares a process with the code."""


class TestResult(msgspec.Struct, frozen=True, kw_only=True):
    """How one test ended."""

    __test__ = False  # or pytest would take it for a class of tests

    id: str
    verdict: Verdict
    phase: Phase = "call"
    kind: Kind = ""
    """Empty unless it failed or could not be run."""
    message: str = ""
    file: str = ""
    """Where it is written, as a path below the checkout; empty if the toolchain does not say."""
    line: int = 0
    duration: float = 0.0

    @property
    def is_red(self) -> bool:
        """Whether it failed for a reason that a missing implementation has, when it ran or when it was prepared."""
        if self.phase == "setup":
            return self.verdict == "error" and self.kind == "not_implemented"
        return self.verdict == "failed" and self.phase == "call" and self.kind in ("assertion", "not_implemented")

    @property
    def is_broken(self) -> bool:
        """Whether it did not pass for a reason that says nothing about the implementation, or that nobody knows."""
        return self.verdict in ("failed", "error") and not self.is_red


class TestRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a project's tests."""

    __test__ = False

    command: tuple[str, ...]
    exit: int | None
    """None: it did not end by itself."""
    duration: float
    ended: Ended = "done"
    tests: dict[str, TestResult] = {}
    """By id; what could not even be collected is here under the id of its file."""
    collected: tuple[str, ...] = ()
    """The ids that were found, in the order of the run, whether they were chosen or not."""
    chosen: tuple[str, ...] = ()
    """Those of them that were to run."""
    output: str = ""
    """What it printed; of too much of it, the beginning and the end."""
    problems: tuple[str, ...] = ()
    """Why the run as a whole is not what was asked for: nothing was collected, time was up, a wrong option."""
    bent: tuple[str, ...] = ()
    """Where the witnesses disagree; nothing that such a run says can be believed."""
    tampering: tuple[str, ...] = ()
    """What the code did that code under test has seldom a reason to do. By itself no proof of anything."""
    noted: tuple[str, ...] = ()
    """What else it did to the world: programs that were started, sockets."""
    hiding: dict[str, str] = {}
    """Files of the checkout that were imported in the place of installed modules, and the modules' names."""
    mirrored: tuple[str, ...] = ()
    """The tests of which a copy with another expected value was run, and failed as it must."""
    limits: tuple[str, ...] = ()
    """What this toolchain cannot tell or keep from happening."""
    isolation: str = ""
    """What kept the run apart from the rest of the machine."""
    foreign: tuple[str, ...] = ()
    """Modules that came from the user's own checkout instead of this one: what was tested is not what is delivered."""
    never_began: bool = False
    """The test tool itself could not be started, or broke before it had looked at any test."""

    @property
    def is_believable(self) -> bool:
        """Whether it began, ended by itself, tested this checkout, and all witnesses say the same."""
        has_ended = self.ended == "done" and self.exit is not None and not self.never_began
        return has_ended and not self.bent and not self.foreign

    @property
    def is_witnessed(self) -> bool:
        """Whether somebody besides the runner itself has seen that its verdicts were not bent."""
        return not is_own_word(self.limits)

    @property
    def is_green(self) -> bool:
        """Whether there were tests, all that were chosen ran, and nothing went wrong. Skipped tests do not spoil it."""
        good = all(test.verdict in ("passed", "skipped", "xfailed") for test in self.tests.values())
        return self.is_believable and not self.problems and self.exit == 0 and good

    def with_verdict(self, *verdicts: Verdict) -> tuple[str, ...]:
        """The ids of the tests that ended so, sorted."""
        return tuple(sorted(id for id, test in self.tests.items() if test.verdict in verdicts))

    @property
    def passed(self) -> frozenset[str]:
        """The ids of the tests that passed."""
        return frozenset(self.with_verdict("passed"))

    @property
    def failed(self) -> frozenset[str]:
        """The ids of the tests that failed or could not be run."""
        return frozenset(self.with_verdict("failed", "error"))


def is_own_word(limits: Iterable[str]) -> bool:
    """Whether a run with some limits rests on the word of its runner alone."""
    return any(limit.endswith(NO_CANARIES) for limit in limits)


class Collected(msgspec.Struct, frozen=True, kw_only=True):
    """The tests of a checkout, found without running them."""

    ids: tuple[str, ...]
    errors: dict[str, TestResult] = {}
    """What could not be collected, by file."""
    files: dict[str, str] = {}
    """By test, the file that it is written in, where its id does not say so and the toolchain does."""
    problems: tuple[str, ...] = ()
    bent: tuple[str, ...] = ()
    tampering: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    output: str = ""
    never_began: bool = False
    """As of a run of the tests."""

    @property
    def is_complete(self) -> bool:
        """Whether these are all tests there are."""
        return not (self.errors or self.problems or self.bent)


class Built(msgspec.Struct, frozen=True, kw_only=True):
    """A run of a command of which only the exit code counts."""

    command: tuple[str, ...]
    exit: int | None
    output: str = ""
    duration: float = 0.0
    ended: Ended = "done"
    isolation: str = ""

    @property
    def is_well(self) -> bool:
        """Whether it ended by itself, and with success."""
        return self.exit == 0
