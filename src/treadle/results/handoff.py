"""Channels 3 and 5: the front matter of HANDOFF.md, and (only if asked for) certain words in its body."""

import re
from typing import Any, Final

import msgspec

from treadle.kernel.lifecycle import part_of_id
from treadle.protocol.answers.answer import Claim
from treadle.protocol.answers.problems import kind, quoted
from treadle.protocol.model import base_of
from treadle.results import plain_yaml, report
from treadle.results.faulty import Faulty, Stale, faulty
from treadle.results.strict_json import decode_text
from treadle.results.ways import EXIT, Ways, exit_object

FILES: Final = (".ai/HANDOFF.md", "HANDOFF.md")
_FENCE: Final = ("---", "...")
_LEGACY = re.compile("NEEDS CLARIFICATION|CONSTITUTION VIOLATION|SCOPE WARNING")
STORY: Final = "story"
_AGAIN: Final = re.compile(r"~\d+\Z")
"""What the id of an instance ends with that does again what another one has begun."""
NOTES: Final = "handoff"
"""The field of an exit that the body is for."""
_SHORT: Final = 300
_OPENED: Final = re.compile(r"---[ \t]*\r?\n(?:(?!---).*\r?\n)*?(?:status|exit)[ \t]*:")
_UNCLOSED: Final = "the front matter that begins in line 1 is never closed; write a line `---` below it"


class Handoff(msgspec.Struct, frozen=True):
    """A hand-over: what stands between the `---` lines, and the text below."""

    front: str
    body: str


def split(text: str) -> Handoff:
    """Take a hand-over apart; one without front matter is all body."""
    first, *rest = text.splitlines() or [""]
    if first.rstrip() != _FENCE[0]:
        return Handoff("", text.strip())
    end = next((at for at, line in enumerate(rest) if line.rstrip() in _FENCE), None)
    if end is None:
        return Handoff("", text.strip())
    return Handoff("\n".join(rest[:end]), "\n".join(rest[end + 1 :]).strip())


def parse(
    data: bytes, ways: Ways, step: str, attempt: int, file: str = FILES[0], inst: str = ""
) -> Claim | Faulty | Stale | None:
    """An answer from the file's front matter; None if it holds none."""
    text = decode_text(data, file)
    if isinstance(text, Faulty):
        return text
    found = split(text)
    if not found.front.strip():
        return faulty(f"{file}: {_UNCLOSED}") if _OPENED.match(text) else None
    value = plain_yaml.parse("\n" + found.front, file)  # an empty line for the `---`: line numbers are the file's
    if isinstance(value, Faulty):
        return value
    if not isinstance(value, dict):
        return faulty(f"{file}: the front matter must be `name: value` lines, not {kind(value)}")
    if value.get(report.STATUS) is None and EXIT not in value:
        return None
    foreign = _of_another_story(value, inst, file) or misplaced(value, base_of(step), attempt, file)
    return foreign or report.claim(_full(value, found.body, ways), ways, file)


def is_foreign(data: bytes, inst: str) -> bool:
    """Whether a hand-over says that it is about another story than an instance's own."""
    value = plain_yaml.parse(split(data.decode(errors="replace")).front, FILES[0])
    return isinstance(value, dict) and _of_another_story(value, inst, FILES[0]) is not None


def parse_legacy(data: bytes, ways: Ways, file: str = FILES[0]) -> Claim | Faulty | None:
    """An answer from certain words in the body of a file without front matter."""
    text = decode_text(data, file)
    found = None if isinstance(text, Faulty) else split(text)
    word = _LEGACY.search(found.body) if found and not found.front else None
    name = ways.names.get("failing")
    if found is None or word is None or name is None:
        return None
    line = found.body[found.body.rfind("\n", 0, word.start()) + 1 :].partition("\n")[0]
    reason = word[0].lower().replace(" ", "_")
    given = {report.REASON: reason, report.SUMMARY: line.strip()[:_SHORT], NOTES: found.body}
    return ways.accept(exit_object(name, {key: value for key, value in given.items() if key in ways.fields(name)}))


def misplaced(front: dict[str, Any], step: str, attempt: int, file: str) -> Faulty | Stale | None:
    """Why a hand-over is not this attempt's at this step; one that does not say whose it is cannot be taken."""
    for name, expected in (("step", step), ("attempt", attempt)):
        given = front.get(name)
        if given is None:
            return faulty(f"{file}: {name} is missing in the front matter; write `{name}: {expected}`")
        if str(given) != str(expected):
            return Stale(f"{file} is for {name} {quoted(str(given))}, not for {name} '{expected}'")
    return None


def _of_another_story(front: dict[str, Any], inst: str, file: str) -> Stale | None:
    """That a hand-over is about what another instance works on; one that names no story is this one's."""
    story, own = front.get(STORY), inst.split("/")[1:]
    names = {*own, *(_AGAIN.sub("", one) for one in own)}
    if story is None or not own or part_of_id(str(story)) in names:
        return None
    return Stale(f"{file} is for {STORY} {quoted(str(story))}, not for {STORY} '{_AGAIN.sub('', own[0])}'")


def _full(front: dict[str, Any], body: str, ways: Ways) -> dict[str, Any]:
    """The front matter, with what it leaves to the body taken from there."""
    name = ways.names.get(str(front.get(report.STATUS)), "")
    if EXIT in front:
        return {EXIT: front[EXIT]}
    if not name or not body:
        return front
    notes = {NOTES: body} if NOTES in ways.fields(name) else {}
    return {report.SUMMARY: _first_line(body), **notes, **front}


def _first_line(body: str) -> str:
    """The first line that says something; a heading only if there is nothing else."""
    lines = [line.strip() for line in body.splitlines() if line.strip()]
    said = [line for line in lines if not line.startswith("#")]
    return (said or lines)[0].lstrip("#*- ")[:_SHORT]
