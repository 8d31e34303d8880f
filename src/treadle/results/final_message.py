"""Channel 4: an agent's last output. The last JSON in it that is an answer, else the last `→CODE` line."""

import re
from collections.abc import Iterator
from typing import Any, Final

from treadle.protocol.agent_lines import ARROW, Code, parse_code
from treadle.protocol.answers.claim import Claim
from treadle.protocol.answers.values import quote_text
from treadle.protocol.fields import EnumType, agent_fields, bare
from treadle.results import intake
from treadle.results.exits import StepExits, exit_object
from treadle.results.intake import Faulty, faulty

WHAT: Final = "the answer in the last message"
_WORDS: Final = ("message", "summary", "description", "question")
_TICKS: Final = "```"
_TAG = re.compile(r'"exit"\s*:\s*(?![\s\d-])')
"""The beginning of an answer; not a program's exit code in a log."""
_MARKUP = re.compile(r"(?:[ \t>-]|\*(?=\s))*([*_`]*)(?=→)")
"""Markdown before a code: a list marker, a quotation mark, or emphasis (which also closes after the code)."""
_LONGEST: Final = 100_000
_LOUD = re.compile(r"[A-Z][A-Z0-9_]+")
_NO_UTF8 = re.compile("[\udc80-\udcff]")
"""Bytes that are not UTF-8, as `surrogateescape` keeps them."""


def parse(text: str, step_exits: StepExits) -> Claim | Faulty | None:
    """Parse an answer from the last message; None if it contains none."""
    answers = [block for block in blocks(text) if _TAG.search(block)]
    if answers:
        block = answers[-1]
        size = len(block.encode(errors="surrogateescape"))
        if size > step_exits.limit:
            return intake.too_large(WHAT, size, step_exits.limit)
        if wrong := _NO_UTF8.search(block):
            return faulty(f"{WHAT} is not UTF-8 (after {wrong.start()} characters of it); write it as UTF-8")
        value = intake.parse(block, WHAT)
        return value if isinstance(value, Faulty) else step_exits.parse(value)
    if found := _by_code(text, step_exits):
        return found
    # Of an output over the limit only the end was kept: refuse it if it ends like an answer.
    if len(text) > step_exits.limit and text.rstrip().removesuffix(_TICKS).rstrip().endswith("}"):
        return faulty(
            f"{WHAT} is too large: its beginning is more than {step_exits.limit} bytes before its end; shorten it"
        )
    return None


def blocks(text: str) -> Iterator[str]:
    """Yield candidate JSON objects in order: single lines, fenced blocks, and lines from a `{` to a `}` at the margin.

    A line that is a whole answer counts anywhere, even inside a block that is never closed.
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


def _by_code(text: str, step_exits: StepExits) -> Claim | Faulty | None:
    code = last_code(text, step_exits)
    if code is None:
        return None
    if _NO_UTF8.search(code.name + code.message):
        return faulty("the code in the last message is not UTF-8; write it as UTF-8")
    name = step_exits.codes.get(code.name)
    if name is None:
        return faulty(f"the code {quote_text(code.name)} {step_exits.stranger(code.name)}")
    # A bare code fills the choice that it names itself (`→VC`), and the field for its message.
    fields: dict[str, Any] = {}
    known = {field: bare(expr) for field, _, expr in agent_fields(step_exits.protocol.exits[name].fields)}
    for field, expr in known.items():
        if isinstance(expr, EnumType) and code.name in expr.values:
            fields[field] = code.name
    place = next((field for field in _WORDS if field in known), "")
    if place and code.message:
        fields[place] = code.message
    return step_exits.parse(exit_object(name, fields))


def last_code(text: str, step_exits: StepExits) -> Code | None:
    """Return the last line that is a code: a code of this step, or one that cannot be prose."""
    codes = step_exits.codes
    for line in reversed(text.splitlines()):
        found = _MARKUP.match(line) if ARROW in line and len(line) <= _LONGEST else None
        code = parse_code(line[found.end() :].rstrip().removesuffix(found[1][::-1])) if found else None
        if code and (code.name in codes or code.bracketed or _LOUD.fullmatch(code.name)):
            return code
    return None
