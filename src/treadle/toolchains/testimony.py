"""Check the lines of the witness in the test process one by one, and turn them into test results.

The second part compares them with the two other witnesses of a pytest run, the JUnit file and the exit code.
"""

import hashlib
import hmac
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from treadle.protocol.paths import is_test
from treadle.toolchains.junit import JunitCase
from treadle.toolchains.results import MAX_MESSAGE, FailureKind, Phase, TestResult, Verdict

MAX_LINE: Final = 64_000_000
_MAX_LIST: Final = 100
_WORST: Final[dict[Verdict, int]] = {"passed": 0, "xpassed": 1, "skipped": 2, "xfailed": 3, "error": 4, "failed": 5}


class Testimony:
    """All reports of one run's witness so far."""

    __test__ = False

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._number = 0
        self.collected: dict[str, tuple[str, int]] = {}
        self.chosen: tuple[str, ...] | None = None
        self.tests: dict[str, TestResult] = {}
        self._seconds: dict[str, float] = {}
        self._raised: dict[tuple[str, str], set[str]] = {}
        """By test and phase, the places at which a failure was seen before any hook could look at it."""
        self._called: set[str] = set()
        self.running = ""
        """The test that has begun and not ended."""
        self.canaries: dict[str, str] = {}
        self.mirrored: list[str] = []
        self.toothless: dict[str, str] = {}
        self.exit: int | None = None
        """The exit code that was announced at the end; None: there was no end."""
        self.foreign: list[str] = []
        self.bent: list[str] = []
        self.tampering: list[str] = []
        self.noted: list[str] = []
        self.hiding: dict[str, str] = {}
        self.problems: list[str] = []
        self.has_begun = False
        self.crossings: dict[str, dict[str, Any]] = {}
        """By test, in a run apart: the number of calls, and the reasons why values did not cross."""
        self.asked: dict[str, Any] = {"path": [], "outcomes": []}
        """In a run apart: the path of imports, and the outcomes of calls that were made again before the tests."""
        self.outside: list[tuple[str, str]] = []
        """The failed crossings outside of any test: their kind, and the reason."""

    def hear(self, line: bytes) -> None:
        """Process one line; a line without the witness's signature counts against the run."""
        signature, _, body = line.rstrip(b"\n").partition(b" ")
        expected = hashlib.blake2s(b"%d %s" % (self._number, body), key=self._key).hexdigest()
        if not hmac.compare_digest(signature, expected.encode()):
            _note(self.bent, "something other than the witness wrote to the witness's line")
            return
        self._number += 1
        report = json.loads(body)  # unlike others it takes halves of characters, which tests may well print
        getattr(self, f"_hear_{report.pop('what')}")(**_clean(report))

    def _hear_hello(self, pytest: str, python: str, early: list[str]) -> None:  # noqa: ARG002
        self.has_begun = True
        for name in early:
            _note(self.noted, f"{name} of the checkout was imported before the witness")

    def _hear_collected(self, id: str, file: str, line: int) -> None:
        self.collected[id] = (file, line)

    def _hear_uncollected(self, id: str, outcome: str, kind: FailureKind, message: str) -> None:
        verdict: Verdict = "skipped" if outcome == "skipped" else "error"
        self.tests[id] = TestResult(
            id=id,
            verdict=verdict,
            phase="collect",
            kind=kind,
            message=message[:MAX_MESSAGE],
            file=id.partition("::")[0],
        )

    def _hear_chosen(self, ids: list[str]) -> None:
        self.chosen = tuple(ids)

    def _hear_start(self, id: str) -> None:
        self.running = id

    def _hear_finish(self, id: str) -> None:
        self.running = ""
        if id not in self.tests:
            _note(self.bent, f"{id} was begun and ended without having been run")
        elif self.tests[id].verdict == "passed" and id not in self._called:
            _note(self.bent, f"{id} passed without having been called")

    def _hear_came(self, id: str, when: str, place: str, how: str) -> None:
        if when == "call":
            self._called.add(id)
        places = self._raised.setdefault((id, when), set())
        places.add(place) if how == "failed" else places.discard(place)

    def _hear_phase(self, id: str, when: Phase, outcome: str, raw: str, **more: Any) -> None:
        has_raised = bool(self._raised.pop((id, when), None))
        is_failed = (raw == "failed" and outcome != "failed") or (has_raised and outcome == "passed")
        if is_failed and not more["xfail"]:
            _note(self.bent, f"{id} failed in {when} and was reported as {outcome}")
        verdict = _verdict(when, outcome, xfail=more["xfail"])
        kind = _kind(when, more["kind"], more["places"])
        self._add(id, verdict, when, kind, more["message"] if verdict != "passed" else "", more["seconds"])

    def _add(self, id: str, verdict: Verdict, when: Phase, kind: FailureKind, message: str, seconds: float) -> None:
        known = self.tests.get(id)
        duration = self._seconds[id] = self._seconds.get(id, 0.0) + seconds
        if not known and verdict == "passed" and when != "call":
            return  # that it could be set up says nothing about the test
        if known and _WORST[known.verdict] >= _WORST[verdict]:
            self.tests[id] = msgspec.structs.replace(known, duration=duration)
            return
        file, line = self.collected.get(id, ("", 0))
        self.tests[id] = TestResult(
            id=id,
            verdict=verdict,
            phase=when,
            kind=kind,
            message=message[:MAX_MESSAGE],
            file=file,
            line=line,
            duration=duration,
        )

    def _hear_changed(self, id: str, when: str, made: str, outcome: str) -> None:
        _note(self.bent, f"{id} was {made} in {when} and was then made {outcome}")

    def _hear_crossed(self, id: str, **more: Any) -> None:
        self.crossings[id] = more

    def _hear_asked(self, **more: Any) -> None:
        self.asked = more

    def _hear_outside(self, kind: str, reason: str) -> None:
        if len(self.outside) < _MAX_LIST:
            self.outside.append((kind, reason))

    def _hear_canary(self, token: str, verdict: str) -> None:
        self.canaries[token] = verdict

    def _hear_mirror(self, id: str, line: int, text: str, verdict: str) -> None:
        if verdict == "failed":
            self.mirrored.append(id)
        elif verdict == "passed":
            self._record_toothless(id, f"{id} passes whatever value it expects (line {line}: {text})")

    def _hear_swallowed(self, id: str) -> None:
        self._record_toothless(id, f"{id} passes whatever it does: what its assertions raise is swallowed around it")

    def _record_toothless(self, id: str, text: str) -> None:
        _note(self.bent, text)
        self.toothless.setdefault(id, text)

    def _hear_tampering(self, text: str) -> None:
        _note(self.tampering, text)

    def _hear_noted(self, text: str) -> None:
        _note(self.noted, text)

    def _hear_hides(self, name: str, file: str) -> None:
        if len(self.hiding) < _MAX_LIST:
            self.hiding[file] = name

    def _hear_left(self, exit: int, id: str) -> None:
        where = f"in {id}" if id else "outside of any test"
        _note(self.tampering, f"os._exit({exit}) was called {where}")
        if id and self.running == id:
            self._add(id, "failed", "call", "exit", f"os._exit({exit}) ended the run", 0.0)

    def _hear_end(self, exit: int, strangers: list[str]) -> None:
        self.exit, self.foreign = exit, strangers
        if strangers:
            names = ", ".join(strangers[:5])
            self.problems.append(f"imported from your own checkout instead of the one under test: {names}")

    def timed_out(self, seconds: float) -> None:
        """Record a timeout for the running test, which had to be ended from outside."""
        if self.running:
            message = f"it did not end within {seconds:g} s, and was ended with the whole run"
            self._add(self.running, "failed", "call", "timeout", message, seconds)


def _verdict(when: Phase, outcome: str, *, xfail: bool) -> Verdict:
    if outcome == "skipped":
        return "xfailed" if xfail else "skipped"
    if outcome == "failed":
        return "xpassed" if xfail else "failed" if when == "call" else "error"
    return "xpassed" if xfail and when == "call" else "passed"


def _kind(when: Phase, kind: FailureKind, places: list[str]) -> FailureKind:
    """Turn `not_implemented` in a fixture into `fixture`, unless only the code under test raised it, and no test
    file.
    """
    is_missing = bool(places) and all(place and not is_test(place) for place in places)
    return "fixture" if when == "setup" and kind == "not_implemented" and not is_missing else kind


def _clean(value: Any) -> Any:
    """Replace lone surrogates, which cannot be encoded."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {name: _clean(item) for name, item in value.items()}
    return value


def _note(notes: list[str], text: str) -> None:
    if text not in notes and len(notes) < _MAX_LIST:
        notes.append(text)


# Compare pytest's three witnesses: the plugin's lines, the JUnit file, the exit code.

Canaries = Mapping[str, Verdict]
"""The expected verdict of each canary, by token."""

_RUN_FAILURES: Final = {
    2: "the run was interrupted",
    3: "pytest failed with an internal error",
    4: "pytest could not be called like this; see its output",
}
_UNSAFE: Final = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def disagreements(
    testimony: Testimony, report: list[JunitCase] | None, exit_code: int, canaries: Canaries
) -> Iterator[str]:
    """Yield the contradictions between the witnesses of a run that ended by itself."""
    if not testimony.has_begun or exit_code in _RUN_FAILURES:
        return  # there are no verdicts to believe
    if testimony.exit is None:
        yield f"the process ended with {exit_code} before the run did"
        return
    if testimony.exit != exit_code:
        yield f"pytest announced exit code {testimony.exit}, and the process ended with {exit_code}"
    if (expected := expected_exit(testimony)) != exit_code:
        yield f"by the results of the tests the exit code would be {expected}, and it is {exit_code}"
    if missing := [id for id in testimony.chosen or () if id not in testimony.tests]:
        yield f"{len(missing)} of the chosen tests never ran: {', '.join(missing[:5])}"
    yield from _against_report(testimony, report)
    for token, wanted in canaries.items() if testimony.chosen else ():
        verdict = testimony.canaries.get(token, "")
        if verdict != wanted:
            yield f"a canary that must be {wanted} was {verdict or 'never run'}"


def problem_of_exit(exit_code: int) -> str:
    """Return the problem that an exit code reports for the run as a whole; empty if it concerns only tests."""
    if exit_code == 5:
        return "no tests were found, or none was chosen"
    known = _RUN_FAILURES.get(exit_code, "")
    return known or (f"pytest ended with {exit_code}, which it never does" if exit_code not in (0, 1) else "")


def expected_exit(testimony: Testimony) -> int:
    """Return the exit code that follows from the results."""
    tests = testimony.tests.values()
    if any(test.verdict in ("failed", "error") or _is_strict_xpass(test) for test in tests):
        return 1
    return 0 if testimony.chosen else 5


def _is_strict_xpass(test: TestResult) -> bool:
    return test.verdict == "xpassed" and "[XPASS(strict)]" in test.message


def _against_report(testimony: Testimony, report: list[JunitCase] | None) -> Iterator[str]:
    if report is None:
        yield "the JUnit file is missing or damaged"
        return
    reported: dict[tuple[str, str], set[str]] = {}
    for case in report:
        reported.setdefault((case.classname, case.name), set()).update(case.statuses or ["passed"])
    seen = {address(id): test for id, test in testimony.tests.items()}
    for key, test in seen.items():
        if key not in reported:
            yield f"{test.id} is not in the JUnit file"
        elif not reported[key] & _statuses(test):
            yield f"{test.id} {test.verdict}, and the JUnit file says {', '.join(sorted(reported[key]))}"
    for classname, name in reported.keys() - seen.keys():
        yield f"the JUnit file has {classname}::{name}, of which the witness knows nothing"


def _statuses(test: TestResult) -> set[str]:
    if test.verdict == "xpassed":
        return {"failure"} if _is_strict_xpass(test) else {"passed"}
    by_verdict = {"passed": "passed", "failed": "failure", "error": "error", "skipped": "skipped", "xfailed": "skipped"}
    return {by_verdict[test.verdict]}


def address(id: str) -> tuple[str, str]:
    """Return the class name and the name of a test in pytest's JUnit file."""
    path, bracket, parameters = id.partition("[")
    names = path.split("::")
    names[0] = re.sub(r"\.py$", "", names[0].replace("/", "."))
    names[-1] += bracket + parameters
    return _escape(".".join(names[:-1])), _escape(names[-1])


def _escape(text: str) -> str:
    """Escape characters that XML cannot contain, as pytest does."""
    return _UNSAFE.sub(
        lambda match: f"#x{ord(match[0]):02X}" if ord(match[0]) <= 0xFF else f"#x{ord(match[0]):04X}", text
    )
