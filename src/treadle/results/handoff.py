"""Channels 3 and 5: the front matter of HANDOFF.md, and (only if asked for) certain words in its body."""

import re
from typing import Any, Final

import msgspec

from treadle.kernel.instances import part_of_id
from treadle.protocol.answers.claim import Claim
from treadle.protocol.answers.values import describe_value, quote_text
from treadle.protocol.model import base_of
from treadle.results.executor_result import REASON, STATUS, SUMMARY, claim_of_report, parse_yaml
from treadle.results.exits import EXIT, StepExits, exit_object
from treadle.results.intake import Faulty, Stale, decode_text, faulty

FILES: Final = (".ai/HANDOFF.md", "HANDOFF.md")
_FENCE: Final = ("---", "...")
_LEGACY = re.compile("NEEDS CLARIFICATION|CONSTITUTION VIOLATION|SCOPE WARNING")
STORY: Final = "story"
_AGAIN: Final = re.compile(r"~\d+\Z")
"""The suffix of an instance that repeats an earlier instance's work."""
NOTES: Final = "handoff"
"""The field of an exit that the body is for."""
_SHORT: Final = 300
_OPENED: Final = re.compile(r"---[ \t]*\r?\n(?:(?!---).*\r?\n)*?(?:status|exit)[ \t]*:")
_UNCLOSED: Final = "the front matter that begins in line 1 is never closed; write a line `---` below it"


class Handoff(msgspec.Struct, frozen=True):
    """A hand-over: the front matter between the `---` lines, and the body below."""

    front: str
    body: str


def split(text: str) -> Handoff:
    """Split a hand-over into front matter and body; without front matter, all of it is body."""
    first, *rest = text.splitlines() or [""]
    if first.rstrip() != _FENCE[0]:
        return Handoff("", text.strip())
    end = next((at for at, line in enumerate(rest) if line.rstrip() in _FENCE), None)
    if end is None:
        return Handoff("", text.strip())
    return Handoff("\n".join(rest[:end]), "\n".join(rest[end + 1 :]).strip())


def parse(
    data: bytes, step_exits: StepExits, step: str, attempt: int, file: str = FILES[0], inst: str = ""
) -> Claim | Faulty | Stale | None:
    """Parse an answer from the front matter of a hand-over; None if it contains none."""
    text = decode_text(data, file)
    if isinstance(text, Faulty):
        return text
    found = split(text)
    if not found.front.strip():
        return faulty(f"{file}: {_UNCLOSED}") if _OPENED.match(text) else None
    value = parse_yaml("\n" + found.front, file)  # an empty line for the `---`: line numbers are the file's
    if isinstance(value, Faulty):
        return value
    if not isinstance(value, dict):
        return faulty(f"{file}: the front matter must be `name: value` lines, not {describe_value(value)}")
    if value.get(STATUS) is None and EXIT not in value:
        return None
    foreign = _of_another_story(value, inst, file) or misplaced(value, base_of(step), attempt, file)
    if foreign:
        return foreign

    # The body fills in what the front matter leaves out: a summary, and the notes if the exit has a field for them.
    name = step_exits.names.get(str(value.get(STATUS)), "")
    if EXIT in value:
        value = {EXIT: value[EXIT]}
    elif name and found.body:
        notes = {NOTES: found.body} if NOTES in step_exits.fields(name) else {}
        value = {SUMMARY: _first_line(found.body), **notes, **value}
    return claim_of_report(value, step_exits, file)


def is_foreign(data: bytes, inst: str) -> bool:
    """Whether a hand-over names another story than the instance's own."""
    value = parse_yaml(split(data.decode(errors="replace")).front, FILES[0])
    return isinstance(value, dict) and _of_another_story(value, inst, FILES[0]) is not None


def parse_legacy(data: bytes, step_exits: StepExits, file: str = FILES[0]) -> Claim | Faulty | None:
    """Parse an answer from certain words in the body of a file without front matter."""
    text = decode_text(data, file)
    found = None if isinstance(text, Faulty) else split(text)
    word = _LEGACY.search(found.body) if found and not found.front else None
    name = step_exits.names.get("failing")
    if found is None or word is None or name is None:
        return None
    line = found.body[found.body.rfind("\n", 0, word.start()) + 1 :].partition("\n")[0]
    reason = word[0].lower().replace(" ", "_")
    given = {REASON: reason, SUMMARY: line.strip()[:_SHORT], NOTES: found.body}
    return step_exits.parse(
        exit_object(name, {key: value for key, value in given.items() if key in step_exits.fields(name)})
    )


def misplaced(front: dict[str, Any], step: str, attempt: int, file: str) -> Faulty | Stale | None:
    """Return why a hand-over does not belong to this step and attempt; refuse one that does not name them."""
    for name, expected in (("step", step), ("attempt", attempt)):
        given = front.get(name)
        if given is None:
            return faulty(f"{file}: {name} is missing in the front matter; write `{name}: {expected}`")
        if str(given) != str(expected):
            return Stale(f"{file} is for {name} {quote_text(str(given))}, not for {name} '{expected}'")
    return None


def _of_another_story(front: dict[str, Any], inst: str, file: str) -> Stale | None:
    """Return a `Stale` for a hand-over that names another instance's story; without a story it belongs to this
    instance.
    """
    story, own = front.get(STORY), inst.split("/")[1:]
    names = {*own, *(_AGAIN.sub("", one) for one in own)}
    if story is None or not own or part_of_id(str(story)) in names:
        return None
    return Stale(f"{file} is for {STORY} {quote_text(str(story))}, not for {STORY} '{_AGAIN.sub('', own[0])}'")


def _first_line(body: str) -> str:
    """Return the first line of text; a heading only if there is no other line."""
    lines = [line.strip() for line in body.splitlines() if line.strip()]
    said = [line for line in lines if not line.startswith("#")]
    return (said or lines)[0].lstrip("#*- ")[:_SHORT]
