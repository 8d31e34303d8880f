"""The lines that the published protocols speak in: parameters for an agent, status codes, observations.

A text stands in a line as it is where it cannot be misread, and as a JSON string everywhere else. So every text
comes back exactly, and a line stays one line in which nothing is hidden.
"""

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

_HIDDEN: Final = re.compile("[\U000e0000-\U000e0fff]")
"""Invisible characters for which `isprintable` is true."""
_RUN: Final = re.compile(r"`{3,}|~{3,}")
"""A run of marks that would begin a fence in Markdown."""
_DECODER: Final = json.JSONDecoder()


def quote_if_needed(text: str, special: str) -> str:
    """A text as it stands in a line where `special` characters mean something."""
    can_stand = bool(text) and is_clean(text) and not _RUN.search(text) and not any(char in special for char in text)
    return text if can_stand else quote_json(text)


def is_clean(text: str) -> bool:
    """Whether a text is on one line, shows all that is in it, and has no blanks around it."""
    return text.isprintable() and text == text.strip() and not _HIDDEN.search(text)


def quote_json(text: str) -> str:
    """A text as a JSON string on one line, in which nothing is hidden."""
    whole = json.dumps(text, ensure_ascii=False)
    if not whole.isprintable() or _HIDDEN.search(whole):
        shown = [char.isprintable() and not _HIDDEN.match(char) for char in whole]
        whole = "".join(
            char if is_shown else json.dumps(char)[1:-1] for char, is_shown in zip(whole, shown, strict=True)
        )
    return _RUN.sub(lambda run: "".join(f"\\u{ord(mark):04x}" for mark in run[0]), whole)


def read_quoted(text: str, at: int = 0) -> tuple[str, int] | None:
    """The JSON string that begins at a place, and where it ends; None if none does."""
    if text[at : at + 1] != '"':
        return None
    try:
        value, end = _DECODER.raw_decode(text, at)
    except ValueError:
        return None
    return value, end


# The parameter line for an agent: `[S:…,R:2,C:TDD₁,P:ℜ,M:…,CTX:design=…, plan=…, interface="…"]`.
#
# CTX comes last: commas separate its parts, and each part is `key=value` or a mere word. A value that could be misread
# is a JSON string.

CONTEXT: Final = "CTX"
_PARAMETER_MARKS: Final = ',[]"'


class ContextPart(msgspec.Struct, frozen=True):
    """A part of the context: `key=value`, or a mere value if the key is empty."""

    key: str
    value: str
    quoted: bool = False
    """Written as a JSON string, even if it need not be."""


class Parameters(msgspec.Struct, frozen=True):
    """The parameters of a dispatch; unset ones are absent."""

    letters: dict[str, str] = {}
    context: tuple[ContextPart, ...] = ()


def render_parameters(parameters: Parameters) -> str:
    """The line."""
    parts = [f"{letter}:{quote_if_needed(value, _PARAMETER_MARKS)}" for letter, value in parameters.letters.items()]
    if parameters.context:
        parts.append(f"{CONTEXT}:{render_context(parameters.context)}")
    return f"[{','.join(parts)}]"


def render_context(parts: tuple[ContextPart, ...]) -> str:
    """Render the text after `CTX:`."""
    rendered = []
    for part in parts:
        special = _PARAMETER_MARKS if part.key else f"{_PARAMETER_MARKS}="
        text = quote_json(part.value) if part.quoted else quote_if_needed(part.value, special)
        rendered.append(f"{part.key}={text}" if part.key else text)
    return ", ".join(rendered)


# An agent's status line: `→[CODE,message]`, or `→CODE: message`.
#
# A message that cannot stand in the line unquoted (it has several lines, say) is a JSON string. A needless quotation
# is a message with quotation marks.

ARROW: Final = "→"
_LONGEST: Final = 100
_BRACKETED: Final = re.compile(rf"→\s*\[\s*([^\s,\[\]]{{1,{_LONGEST}}})\s*(?:,(.*))?\]\s*\Z")
_UNBRACKETED: Final = re.compile(rf"→\s*([^\s,:\[\]→]{{1,{_LONGEST}}})\s*(?::(.*))?\Z")


class Code(msgspec.Struct, frozen=True):
    """A status code with its message."""

    name: str
    message: str = ""
    bracketed: bool = True
    """Which of the two spellings it has."""


def parse_code(line: str) -> Code | None:
    """The code in a line; None if it has none."""
    if found := _BRACKETED.match(line):
        return Code(found[1], unquote_message(found[2] or ""))
    found = _UNBRACKETED.match(line)
    return Code(found[1], unquote_message(found[2] or ""), bracketed=False) if found else None


def unquote_message(written: str) -> str:
    """Parse a message; unquote a JSON string only if its content could not stand in the line unquoted."""
    text = written.strip()
    found = read_quoted(text)
    if found is None or found[1] != len(text):
        return text
    return text if _stands(found[0]) else found[0]


def _stands(message: str) -> bool:
    """Whether a message can stand there as it is."""
    return is_clean(message) and unquote_message(message) == message


# An observation, one utterance in a dialogue, as a line: `OBS[S{session},R{round},A:{agent},T:{time}]: {content}`.
#
# The parser accepts `S:` and `R:`, too. `*` stands for an unknown part; a name that could be misread is a JSON
# string. The content is the rest of the text, verbatim.

ANYTHING: Final = "*"
_OBSERVATION_MARKS: Final = ',[]"*:'
_BEGIN: Final = "OBS["
_LETTER: Final = re.compile(r"\s*(?:(?P<letter>[SRAT]):?)?")
_UNQUOTED_NAME: Final = re.compile(r'[^,\]\[\n"]*')
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Observation(msgspec.Struct, frozen=True):
    """An utterance in a dialogue: its content, session, round, agent and time; unknown parts are empty."""

    content: str = ""
    session: str = ""
    round: str = ""
    agent: str = ""
    at: int = 0
    """Milliseconds since the epoch."""


def render_observation(observation: Observation) -> str:
    """The line; if the content has several, they follow."""
    names = (observation.session, observation.round, observation.agent)
    session, round_, agent = (quote_if_needed(name, _OBSERVATION_MARKS) if name else ANYTHING for name in names)
    time = ANYTHING
    if observation.at:
        exact = "milliseconds" if observation.at % 1000 else "seconds"
        moment = _EPOCH + timedelta(milliseconds=observation.at)
        time = moment.isoformat(timespec=exact).replace("+00:00", "Z")
    return f"OBS[S{session},R{round_},A:{agent},T:{time}]: {observation.content}"


def parse_observation(text: str) -> Observation | None:
    """The observation in a text; None if it is none."""
    found = _head(text)
    if found is None:
        return None
    letters, end = found
    if len(letters) != len("SRAT") or text[end : end + 1] != ":":
        return None
    return _observation(letters, text[end + 1 :].removeprefix(" "))


def parse_pattern(text: str) -> Observation | None:
    """Parse a query for observations, `OBS[S…,R2,*,*]: piece of content`; an empty field matches anything.

    Return None if the text is no such query.
    """
    found = _head(text.strip())
    rest = text.strip()[found[1] :] if found else ""
    return _observation(found[0], rest[1:].strip()) if found and rest[:1] in ("", ":") else None


def _observation(letters: dict[str, str], content: str) -> Observation:
    try:
        moment = datetime.fromisoformat(letters.get("T", ""))
    except ValueError:
        at = 0
    else:
        since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH
        at = since.days * 86_400_000 + since.seconds * 1000 + round(since.microseconds / 1000)
    return Observation(content, letters.get("S", ""), letters.get("R", ""), letters.get("A", ""), at)


def _head(text: str) -> tuple[dict[str, str], int] | None:
    """Parse the bracket into letter → name, with the offset of its end."""
    if not text.startswith(_BEGIN):
        return None
    letters: dict[str, str] = {}
    at = len(_BEGIN)
    while letter := _LETTER.match(text, at):
        if quoted := read_quoted(text, letter.end()):
            name, at = quoted
        else:
            match = _UNQUOTED_NAME.match(text, letter.end())
            name, at = (match[0].strip(), match.end()) if match else ("", letter.end())
            name = "" if name == ANYTHING else name
        if letter["letter"]:
            letters[letter["letter"]] = name
        elif name:
            return None
        if text[at : at + 1] != ",":
            break
        at += 1
    return (letters, at + 1) if text[at : at + 1] == "]" else None
