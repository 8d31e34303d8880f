"""What somebody said in a dialogue, as a line: `OBS[S{session},R{round},A:{agent},T:{time}]: {content}`.

`S:` and `R:` are read, too. What is not known is `*`; a name that could be misread is a JSON string. The content is the
rest of the text, as it is.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from treadle.protocol.lines.quoting import said, unquoted

ANYTHING: Final = "*"
_SPECIAL: Final = ',[]"*:'
_BEGIN: Final = "OBS["
_LETTER: Final = re.compile(r"\s*(?:(?P<letter>[SRAT]):?)?")
_PLAIN: Final = re.compile(r'[^,\]\[\n"]*')
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Observation(msgspec.Struct, frozen=True):
    """What was said, who said it in which round of which dialogue, and when; what is not known is empty."""

    content: str = ""
    session: str = ""
    round: str = ""
    agent: str = ""
    at: int = 0
    """Milliseconds since the epoch."""


def render(observation: Observation) -> str:
    """The line; if the content has several, they follow."""
    names = [_name(name) for name in (observation.session, observation.round, observation.agent)]
    session, round_, agent = names
    return f"OBS[S{session},R{round_},A:{agent},T:{_time(observation.at)}]: {observation.content}"


def parse(text: str) -> Observation | None:
    """The observation in a text; None if it is none."""
    found = _head(text)
    if found is None:
        return None
    letters, end = found
    if len(letters) != len("SRAT") or text[end : end + 1] != ":":
        return None
    return _observation(letters, text[end + 1 :].removeprefix(" "))


def pattern(text: str) -> Observation | None:
    """What a query asks for, `OBS[S…,R2,*,*]: piece of content`: anything goes where it says nothing.

    None if it is no such query.
    """
    found = _head(text.strip())
    rest = text.strip()[found[1] :] if found else ""
    return _observation(found[0], rest[1:].strip()) if found and rest[:1] in ("", ":") else None


def _observation(letters: dict[str, str], content: str) -> Observation:
    at = _moment(letters.get("T", ""))
    return Observation(content, letters.get("S", ""), letters.get("R", ""), letters.get("A", ""), at)


def _head(text: str) -> tuple[dict[str, str], int] | None:
    """Letter → name of what stands between the brackets, and where they end."""
    if not text.startswith(_BEGIN):
        return None
    letters: dict[str, str] = {}
    at = len(_BEGIN)
    while letter := _LETTER.match(text, at):
        name, at = _named(text, letter.end())
        if letter["letter"]:
            letters[letter["letter"]] = name
        elif name:
            return None
        if text[at : at + 1] != ",":
            break
        at += 1
    return (letters, at + 1) if text[at : at + 1] == "]" else None


def _named(text: str, at: int) -> tuple[str, int]:
    if found := unquoted(text, at):
        return found
    match = _PLAIN.match(text, at)
    name = match[0].strip() if match else ""
    return ("" if name == ANYTHING else name), (match.end() if match else at)


def _name(name: str) -> str:
    return said(name, _SPECIAL) if name else ANYTHING


def _time(at: int) -> str:
    if not at:
        return ANYTHING
    exact = "milliseconds" if at % 1000 else "seconds"
    return (_EPOCH + timedelta(milliseconds=at)).isoformat(timespec=exact).replace("+00:00", "Z")


def _moment(text: str) -> int:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return 0
    since = (found if found.tzinfo else found.replace(tzinfo=UTC)) - _EPOCH
    return since.days * 86_400_000 + since.seconds * 1000 + round(since.microseconds / 1000)
