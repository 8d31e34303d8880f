"""A status report of the Agentic Coding Protocol (`status`, `reason`, `summary`) as an exit of the step at hand.

`pass`, `failing` and `needs_human` are names of exits or their aliases; so is any other exit's name.
"""

from typing import Any, Final

from treadle.protocol.answers.answer import Claim
from treadle.protocol.answers.problems import kind, quoted
from treadle.protocol.fields import EnumType, ListType, bare, parse_type
from treadle.results.faulty import Faulty, faulty
from treadle.results.ways import EXIT, Ways, exit_object, is_answer

STATUS: Final = "status"
REASON: Final = "reason"
SUMMARY: Final = "summary"
NO_REASON: Final = "none"
MEASURED: Final = ("files_changed", "tests_pass", "tests_fail", "tests_skip")
"""What a report may say and nobody believes: the orchestrator counts by itself."""
PLACE: Final = ("story", "step", "attempt")
_WORDS: Final = ("question", "description", "message")
"""Fields that a summary is good for where there is no field of that name."""


def claim(report: dict[str, Any], ways: Ways, what: str) -> Claim | Faulty | None:
    """The exit that a report stands for; None if it says nothing about how the step ended."""
    if is_answer(report):
        return ways.accept({EXIT: report[EXIT]} if EXIT in report else report)
    status = report.get(STATUS)
    if status is None:
        return None
    if not isinstance(status, str):
        return faulty(f"{what}: {STATUS} must name an exit, not be {kind(status)}")
    name = ways.names.get(status)
    if name is None:
        return faulty(f"{what}: {STATUS} {quoted(status)} {ways.stranger(status)}")
    return _accept(name, report, ways, what)


def _accept(name: str, report: dict[str, Any], ways: Ways, what: str) -> Claim | Faulty:
    known = ways.fields(name)
    ignored = (STATUS, *MEASURED, *PLACE)
    given = {key: value for key, value in report.items() if key in known or key not in ignored}
    given = {key: value for key, value in given.items() if key != STATUS or key in known}
    if REASON in given and REASON not in known:
        if given.pop(REASON) not in (None, "", NO_REASON):
            return faulty(f"{what}: {REASON} does not go with {quoted(name)}; leave it null, or write another {STATUS}")
    elif REASON in known and given.get(REASON) in (None, "") and _may_be_none(ways, name):
        given[REASON] = NO_REASON
    given |= {key: [] for key in _lists(ways, name) if key not in given}
    found = ways.accept(exit_object(name, _with_words(given, known)))
    return found if isinstance(found, Claim) else _told(found, what)


def _with_words(given: dict[str, Any], known: tuple[str, ...]) -> dict[str, Any]:
    """The summary under the name that the exit has for it."""
    if SUMMARY in known or SUMMARY not in given:
        return given
    words = given[SUMMARY]
    rest = {key: value for key, value in given.items() if key != SUMMARY}
    place = next((field for field in _WORDS if field in known), "")
    return {place: words, **rest} if place else rest


def _lists(ways: Ways, name: str) -> list[str]:
    """The lists that an exit must bring: whoever reports by status, and names none, has nothing to put there."""
    fields = ways.protocol.exits[name].fields
    return [key for key in ways.required(name) if isinstance(bare(parse_type(fields[key].type)), ListType)]


def _may_be_none(ways: Ways, name: str) -> bool:
    expr = bare(parse_type(ways.protocol.exits[name].fields[REASON].type))
    return isinstance(expr, EnumType) and NO_REASON in expr.values


def _told(found: Faulty, what: str) -> Faulty:
    """Problems by the names that the report itself has."""
    return Faulty(tuple(f"{what}: {problem.removeprefix(EXIT + '.')}" for problem in found.problems))
