"""Channel 2: `.ai/executor-result`, a status report or a full exit, in YAML or JSON.

A status report of the Agentic Coding Protocol has `status`, `reason` and `summary`. `pass`, `failing` and `needs_human`
are names of exits or their aliases; so is any other exit's name.
"""

from typing import Any, Final

from treadle.errors import ProtocolError
from treadle.protocol.answers.claim import Claim
from treadle.protocol.answers.values import describe_value, quote_text
from treadle.protocol.fields import EnumType, ListType, bare, parse_type
from treadle.protocol.reading.yaml import read_yaml
from treadle.results import intake
from treadle.results.exits import EXIT, StepExits, exit_object, is_answer
from treadle.results.intake import Faulty, faulty

FILE: Final = ".ai/executor-result"
_SHAPE: Final = "write `status: …`, `reason: …` and `summary: …`, or `exit: {type: …}`"
MAX_YAML: Final = 64 * 1024
"""In characters. Parsing YAML is slow; a longer report can be JSON."""


def parse(data: bytes, step_exits: StepExits) -> Claim | Faulty:
    """Parse an answer from the contents of the file."""
    text = intake.decode_text(data, FILE)
    if isinstance(text, Faulty):
        return text
    value = intake.parse(text, FILE) if text.lstrip().startswith("{") else parse_yaml(text, FILE)
    if isinstance(value, Faulty):
        return value
    if not isinstance(value, dict):
        return faulty(f"{FILE} must be a mapping, not {describe_value(value)}; {_SHAPE}")
    found = claim_of_report(value, step_exits, FILE)
    return faulty(f"{FILE} does not say how the step ended; {_SHAPE}") if found is None else found


def parse_yaml(text: str, what: str) -> object | Faulty:
    """Parse a YAML text."""
    if len(text) > MAX_YAML:
        return faulty(f"{what} has {len(text)} characters of YAML, the limit is {MAX_YAML}; shorten it, or write JSON")
    try:
        value: object = read_yaml(text, what).plain()
    except ProtocolError as error:
        return Faulty(tuple(str(finding) for finding in error.findings) or (error.message,))
    return value


STATUS: Final = "status"
REASON: Final = "reason"
SUMMARY: Final = "summary"
NO_REASON: Final = "none"
MEASURED: Final = ("files_changed", "tests_pass", "tests_fail", "tests_skip")
"""Fields that a report may contain and Treadle ignores, because it measures them itself."""
PLACE: Final = ("story", "step", "attempt")
_WORDS: Final = ("question", "description", "message")
"""Fields that a summary may fill if the exit has no field `summary`."""


def claim_of_report(report: dict[str, Any], step_exits: StepExits, what: str) -> Claim | Faulty | None:
    """Convert a report to its exit; None if it does not state how the step ended."""
    if is_answer(report):
        return step_exits.parse({EXIT: report[EXIT]} if EXIT in report else report)
    status = report.get(STATUS)
    if status is None:
        return None
    if not isinstance(status, str):
        return faulty(f"{what}: {STATUS} must name an exit, not be {describe_value(status)}")
    name = step_exits.names.get(status)
    if name is None:
        return faulty(f"{what}: {STATUS} {quote_text(status)} {step_exits.stranger(status)}")
    return _accept(name, report, step_exits, what)


def _accept(name: str, report: dict[str, Any], step_exits: StepExits, what: str) -> Claim | Faulty:
    known = step_exits.fields(name)
    types = {key: bare(parse_type(field.type)) for key, field in step_exits.protocol.exits[name].fields.items()}
    given = {key: value for key, value in report.items() if key in known or key not in (STATUS, *MEASURED, *PLACE)}

    if REASON in given and REASON not in known:
        if given.pop(REASON) not in (None, "", NO_REASON):
            return faulty(
                f"{what}: {REASON} does not go with {quote_text(name)}; leave it null, or write another {STATUS}"
            )
    elif REASON in known and given.get(REASON) in (None, ""):
        kind = types[REASON]
        if isinstance(kind, EnumType) and NO_REASON in kind.values:
            given[REASON] = NO_REASON

    # A status report that omits a required list means an empty one.
    given |= {key: [] for key in step_exits.required(name) if isinstance(types[key], ListType) and key not in given}

    if SUMMARY in given and SUMMARY not in known:  # the exit may have another name for it
        words = given.pop(SUMMARY)
        place = next((field for field in _WORDS if field in known), "")
        given = {place: words, **given} if place else given
    found = step_exits.parse(exit_object(name, given))
    if isinstance(found, Claim):
        return found
    # Name the fields as the report does.
    return Faulty(tuple(f"{what}: {problem.removeprefix(EXIT + '.')}" for problem in found.problems))
