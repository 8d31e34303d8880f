"""Words for moments, durations, numbers, exits and refusals, the same in every view."""

from datetime import UTC, datetime
from typing import Final

from treadle.prompts.foreign import cut
from treadle.prompts.outcomes import for_person
from treadle.protocol.items import Json
from treadle.protocol.model import Protocol, exit_name


def moment(ms: int) -> str:
    """Format milliseconds since the epoch in ISO 8601, UTC; empty for 0."""
    return (
        datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z") if ms else ""
    )


def plain(time: str) -> str:
    """Format a moment for people, to the second."""
    return f"{time[:10]} {time[11:19]} UTC" if time else ""


def seconds(begin: int, end: int) -> float:
    """Return the seconds between two moments; 0 if the clock was set back."""
    return max(0, end - begin) / 1000 if begin else 0.0


def duration(length: float) -> str:
    """Format a duration with two units at most: `2 h 05 min`, `3 min 20 s`, `12 s`."""
    whole = max(0, int(length))
    days, hours, minutes, secs = whole // 86400, whole // 3600 % 24, whole // 60 % 60, whole % 60
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {secs:02} s" if minutes else f"{secs} s"


# Counts in words.


def count_words(count: int, noun: str, many: str = "") -> str:
    """Format `1 event`, `2 events`; `many` is an irregular plural."""
    return f"{count} {noun if count == 1 else many or noun + 's'}"


# Why an attempt failed, in one line.

CAUSE_WORDS: Final = {
    "!gate": "refused",
    "!invalid": "no valid answer",
    "!crash": "crashed",
    "!timeout": "timed out",
    "!blocked": "was not allowed to work",
    "!store": "could not be recorded",
    "!exhausted": "no attempt is left",
}
"""System exits in words."""
FAILURES: Final = frozenset({"blocked", "crash", "invalid", "store"})
"""The ends of activities for which there are codes."""
_LONGEST: Final = 600
_NAMES: Final = ("failingTests", "failing_tests", "conflictFiles", "changedTests")
_HEADING: Final = "### "
"""The heading of each check with findings in a report; that of an advisory check ends with a bracket."""


def report_words(report: Json) -> str:
    """Return a report's text for people."""
    found = for_person(report)
    return found.strip() if isinstance(found, str) else ""


def reason(cause: str, report: Json) -> str:
    """Describe a system exit: its cause, the checks that refused, and the first finding."""
    lines = [line for line in report_words(report).splitlines() if line.strip()]
    named = [line.removeprefix(_HEADING) for line in lines if line.startswith(_HEADING)]
    checks = [name for name in named if not name.endswith(")")]
    left = f", {CAUSE_WORDS['!gate']}" if cause == "!exhausted" else ""
    by = f"{left} by {', '.join(checks)}" if checks else ""
    first = next((line.removeprefix("- ") for line in lines if not line.startswith(_HEADING)), "")
    return CAUSE_WORDS.get(cause.partition(".")[0], cause) + by + (f": {cut(first, _LONGEST)}" if first else "")


def failure_code(cause: str, details: Json) -> str:
    """Return the code of the error that ended an activity, or for older logs the kind of the end; else empty."""
    code = details.get("error") if isinstance(details, dict) else None
    if isinstance(code, str):
        return code
    why = cause.partition(".")[0].removeprefix("!")
    return f"activity.{why}" if why in FAILURES else ""


def effect_words(fields: Json) -> str:
    """Return why an effect ended as it did: its details, or else the tests or files that it names."""
    said = fields if isinstance(fields, dict) else {}
    details = said.get("details")
    if isinstance(details, str) and details.strip():
        return details.strip()
    lists = [value for name in _NAMES if isinstance(value := said.get(name), list)]
    return ", ".join(dict.fromkeys(one for value in lists for one in value if isinstance(one, str)))


def first_words(text: str) -> str:
    """Return the first line of a text, cut to a maximum length."""
    return cut(text.strip().partition("\n")[0], _LONGEST)


# A step's exit in words that people know: `failing (scope_warning)`, not `failing_measured.scope_warning`.

_PLAIN: Final = "none"
"""The variant without meaning."""


def exit_words(protocol: Protocol | None, left: str) -> str:
    """Return an exit's name for people; describe a system exit in words."""
    tag, _, variant = left.partition(".")
    if left.startswith("!"):
        return CAUSE_WORDS.get(tag, tag)
    name = exit_name(protocol, tag)
    return f"{name} ({variant})" if variant not in ("", _PLAIN) else name
