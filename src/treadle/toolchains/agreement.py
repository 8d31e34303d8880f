"""Whether pytest's three witnesses say the same: the plugin's line, the JUnit file, the exit code."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from treadle.toolchains.junit_report import JunitCase
from treadle.toolchains.results import TestResult, Verdict
from treadle.toolchains.testimony import Testimony

Canaries = Mapping[str, Verdict]
"""By the token of each, the verdict that it must have."""

_SAID_BY_EXIT: Final = {
    2: "the run was interrupted",
    3: "pytest failed with an internal error",
    4: "pytest could not be called like this; see its output",
}
_UNSAFE: Final = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def disagreements(
    testimony: Testimony, report: list[JunitCase] | None, exit_code: int, canaries: Canaries
) -> Iterator[str]:
    """Where a run that ended by itself contradicts itself."""
    if not testimony.has_begun or exit_code in _SAID_BY_EXIT:
        return  # there are no verdicts to believe
    if testimony.exit is None:
        yield f"the process ended with {exit_code} before the run did"
        return
    if testimony.exit != exit_code:
        yield f"pytest announced exit code {testimony.exit}, and the process ended with {exit_code}"
    if (wanted := expected_exit(testimony)) != exit_code:
        yield f"by the results of the tests the exit code would be {wanted}, and it is {exit_code}"
    yield from _missing(testimony)
    yield from _against_report(testimony, report)
    yield from _wrong_canaries(testimony, canaries)


def problem_of_exit(exit_code: int) -> str:
    """What an exit code says about the run as a whole; empty if it speaks of tests only."""
    if exit_code == 5:
        return "no tests were found, or none was chosen"
    known = _SAID_BY_EXIT.get(exit_code, "")
    return known or (f"pytest ended with {exit_code}, which it never does" if exit_code not in (0, 1) else "")


def expected_exit(testimony: Testimony) -> int:
    """The exit code that follows from the results."""
    tests = testimony.tests.values()
    if any(test.verdict in ("failed", "error") or _is_strict_xpass(test) for test in tests):
        return 1
    return 0 if testimony.chosen else 5


def _is_strict_xpass(test: TestResult) -> bool:
    return test.verdict == "xpassed" and "[XPASS(strict)]" in test.message


def _missing(testimony: Testimony) -> Iterator[str]:
    missing = [id for id in testimony.chosen or () if id not in testimony.tests]
    if missing:
        yield f"{len(missing)} of the chosen tests never ran: {', '.join(missing[:5])}"


def _against_report(testimony: Testimony, report: list[JunitCase] | None) -> Iterator[str]:
    if report is None:
        yield "the JUnit file is missing or damaged"
        return
    said: dict[tuple[str, str], set[str]] = {}
    for case in report:
        said.setdefault((case.classname, case.name), set()).update(case.statuses or ["passed"])
    seen = {address(id): test for id, test in testimony.tests.items()}
    for key, test in seen.items():
        if key not in said:
            yield f"{test.id} is not in the JUnit file"
        elif not said[key] & _statuses(test):
            yield f"{test.id} {test.verdict}, and the JUnit file says {', '.join(sorted(said[key]))}"
    for classname, name in said.keys() - seen.keys():
        yield f"the JUnit file has {classname}::{name}, of which the witness knows nothing"


def _statuses(test: TestResult) -> set[str]:
    if test.verdict == "xpassed":
        return {"failure"} if _is_strict_xpass(test) else {"passed"}
    by_verdict = {"passed": "passed", "failed": "failure", "error": "error", "skipped": "skipped", "xfailed": "skipped"}
    return {by_verdict[test.verdict]}


def address(id: str) -> tuple[str, str]:
    """Class name and name that pytest gives a test in its JUnit file."""
    path, bracket, parameters = id.partition("[")
    names = path.split("::")
    names[0] = re.sub(r"\.py$", "", names[0].replace("/", "."))
    names[-1] += bracket + parameters
    return _escape(".".join(names[:-1])), _escape(names[-1])


def _escape(text: str) -> str:
    """As pytest writes what XML cannot hold."""
    return _UNSAFE.sub(
        lambda match: f"#x{ord(match[0]):02X}" if ord(match[0]) <= 0xFF else f"#x{ord(match[0]):04X}", text
    )


def _wrong_canaries(testimony: Testimony, canaries: Canaries) -> Iterator[str]:
    if not testimony.chosen:
        return
    for token, wanted in canaries.items():
        verdict = testimony.canaries.get(token, "")
        if verdict != wanted:
            yield f"a canary that must be {wanted} was {verdict or 'never run'}"
