"""Channel 4: an agent's last output. The last JSON in it that is an answer, else the last `→CODE` line."""

import re
from collections.abc import Iterator
from typing import Any, Final

from treadle.protocol.answers.answer import Claim
from treadle.protocol.answers.problems import quoted
from treadle.protocol.fields import EnumType, asked, bare
from treadle.protocol.lines.codes import ARROW, Code
from treadle.protocol.lines.codes import parse as parse_code
from treadle.results import strict_json
from treadle.results.faulty import Faulty, faulty
from treadle.results.ways import Ways, exit_object

WHAT: Final = "the answer in the last message"
_WORDS: Final = ("message", "summary", "description", "question")
_TICKS: Final = "```"
_TAG = re.compile(r'"exit"\s*:\s*(?![\s\d-])')
"""An answer, and not a program's exit code in a log."""
_MARKUP = re.compile(r"(?:[ \t>-]|\*(?=\s))*([*_`]*)(?=→)")
"""What stands before a code in Markdown: a list, a quotation, emphasis, of which the last ends behind it, too."""
_LONGEST: Final = 100_000
_LOUD = re.compile(r"[A-Z][A-Z0-9_]+")
_NO_UTF8 = re.compile("[\udc80-\udcff]")
"""Bytes that are no UTF-8, as `surrogateescape` keeps them."""


def parse(text: str, ways: Ways) -> Claim | Faulty | None:
    """An answer from the last message; None if it holds none."""
    last = ""
    for block in blocks(text):
        if _TAG.search(block):
            last = block
    if last:
        value = _value(last, ways)
        return value if isinstance(value, Faulty) else ways.accept(value)
    return _by_code(text, ways) or _cut_off(text, ways)


def _value(block: str, ways: Ways) -> object | Faulty:
    size = len(block.encode(errors="surrogateescape"))
    if size > ways.limit:
        return strict_json.too_large(WHAT, size, ways.limit)
    if wrong := _NO_UTF8.search(block):
        return faulty(f"{WHAT} is not UTF-8 (after {wrong.start()} characters of it); write it as UTF-8")
    return strict_json.parse(block, WHAT)


def _cut_off(text: str, ways: Ways) -> Faulty | None:
    """Of output that is longer than an answer may be, only the end is kept: here, that of an answer, it seems."""
    if len(text) <= ways.limit or not text.rstrip().removesuffix(_TICKS).rstrip().endswith("}"):
        return None
    return faulty(f"{WHAT} is too large: its beginning is more than {ways.limit} bytes before its end; shorten it")


def blocks(text: str) -> Iterator[str]:
    """What may be JSON objects, in order: single lines, fenced blocks, and lines from a `{` to a `}` at the margin.

    A line that is an answer by itself is one wherever it stands, be the block around it never closed.
    """
    kept: list[str] = []
    until = ""
    for line in text.splitlines():
        stripped = line.strip()
        whole = stripped.startswith("{") and stripped.endswith("}")
        if whole and _TAG.search(stripped):
            yield stripped
        elif until == _TICKS and not stripped.startswith(_TICKS):
            kept.append(line)
        elif stripped.startswith(_TICKS):
            yield "\n".join(kept)
            until, kept = "" if until == _TICKS else _TICKS, []
        elif line.startswith("{") and not whole:
            until, kept = "}", [line]
        elif until:
            kept.append(line)
            if line.startswith(until):
                yield "\n".join(kept)
                until, kept = "", []
    yield "\n".join(kept)


def _by_code(text: str, ways: Ways) -> Claim | Faulty | None:
    found = last_code(text, ways)
    if found is None:
        return None
    if _NO_UTF8.search(found.name + found.message):
        return faulty("the code in the last message is not UTF-8; write it as UTF-8")
    name = ways.codes.get(found.name)
    if name is None:
        return faulty(f"the code {quoted(found.name)} {ways.stranger(found.name)}")
    return ways.accept(exit_object(name, _fields(name, found, ways)))


def last_code(text: str, ways: Ways) -> Code | None:
    """The last line that is a code: one of the step's, or one that cannot be meant as prose."""
    codes = ways.codes
    for line in reversed(text.splitlines()):
        code = _code(line) if ARROW in line and len(line) <= _LONGEST else None
        if code and (code.name in codes or code.bracketed or _LOUD.fullmatch(code.name)):
            return code
    return None


def _code(line: str) -> Code | None:
    found = _MARKUP.match(line)
    return parse_code(line[found.end() :].rstrip().removesuffix(found[1][::-1])) if found else None


def _fields(name: str, code: Code, ways: Ways) -> dict[str, Any]:
    """What a bare code says: its message, and the choice that the code itself stands for (`→VC`)."""
    known = list(asked(ways.protocol.exits[name].fields))
    names = [field for field, _, _ in known]
    place = next((field for field in _WORDS if field in names), "")
    chosen = {
        field: code.name
        for field, _, expr in known
        if isinstance(inner := bare(expr), EnumType) and code.name in inner.values
    }
    return {**chosen, **({place: code.message} if place and code.message else {})}
