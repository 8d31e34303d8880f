"""Why an attempt came to nothing, in a line."""

from typing import Final

from treadle.prompts.foreign import cut
from treadle.prompts.report import for_person
from treadle.protocol.items import Json

WORDS: Final = {
    "!gate": "refused",
    "!invalid": "no valid answer",
    "!crash": "broke",
    "!timeout": "its time was up",
    "!blocked": "was not allowed to work",
    "!store": "could not be recorded",
    "!exhausted": "no attempt is left",
}
"""What the orchestrator made of an attempt, in words."""
_LONGEST: Final = 600
_NAMES: Final = ("failingTests", "failing_tests", "conflictFiles", "changedTests")
_HEADING: Final = "### "
"""A report has one for each check that found something; that of advice says so in brackets."""


def words_of(report: Json) -> str:
    """What a report says to people, of one that has more to it only its words."""
    found = for_person(report)
    return found.strip() if isinstance(found, str) else ""


def reason(cause: str, report: Json) -> str:
    """What led on by a system exit: which one, the checks that refused, and the first thing that was found."""
    lines = [line for line in words_of(report).splitlines() if line.strip()]
    named = [line.removeprefix(_HEADING) for line in lines if line.startswith(_HEADING)]
    checks = [name for name in named if not name.endswith(")")]
    left = f", {WORDS['!gate']}" if cause == "!exhausted" else ""
    by = f"{left} by {', '.join(checks)}" if checks else ""
    first = next((line.removeprefix("- ") for line in lines if not line.startswith(_HEADING)), "")
    return WORDS.get(cause.partition(".")[0], cause) + by + (f": {cut(first, _LONGEST)}" if first else "")


def words_of_effect(fields: Json) -> str:
    """Why an effect ended as it did: its details, or else the tests or files that it names; empty if all is well."""
    said = fields if isinstance(fields, dict) else {}
    details = said.get("details")
    if isinstance(details, str) and details.strip():
        return details.strip()
    lists = [value for name in _NAMES if isinstance(value := said.get(name), list)]
    return ", ".join(dict.fromkeys(one for value in lists for one in value if isinstance(one, str)))


def first_words(text: str) -> str:
    """The first line of a text, cut to what a line can hold."""
    return cut(text.strip().partition("\n")[0], _LONGEST)
