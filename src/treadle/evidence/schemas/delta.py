"""A delta of the design: what is added, modified and removed."""

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from treadle.evidence.findings import Problem, problem
from treadle.evidence.schemas.gherkin import open_questions, section

SECTIONS: Final = ("ADDED", "MODIFIED", "REMOVED")
_CHAPTER: Final = 2
"""The level of the headings of its sections."""
_BULLET: Final = re.compile(r"(?P<indent>\s*)(?:[-*+]|\d+\.)\s+\S")
_CODE: Final = re.compile(r"`+(?P<code>[^`\n]+)`+")
_SHOWN: Final = 60
_LEAST: Final = 3
"""Letters of a name; a shorter one stands in every document."""
_DECIDED: Final = "a decision; what only a person can decide is asked by leaving with `needs_human`"
IN_BACKQUOTES: Final = "its signature, structure or path in `backquotes`"
_AFTER: Final = re.compile(r"\bafter\b|→|->|=>", re.IGNORECASE)


class Item(msgspec.Struct, frozen=True):
    """One item of a delta."""

    section: str
    line: int
    signatures: tuple[str, ...]
    """What stands in backquotes: of what is modified, only what it is afterwards."""


def items(text: str) -> list[Item]:
    """The items of a delta: the outermost bullets of its three sections."""
    found: list[Item] = []
    current, taken = "", list[str]()
    start = 0
    for number, line in enumerate([*text.splitlines(), "# end"], 1):
        heading = re.match(r"#+\s*(?P<name>\w+)", line)
        bullet = _BULLET.match(line)
        if taken and (heading or (bullet and not bullet["indent"])):
            found.append(_item(current, start, "\n".join(taken)))
            taken = []
        if heading:
            level = len(line) - len(line.lstrip("#"))
            name = heading["name"].upper()
            current = name if name in SECTIONS else "" if level <= _CHAPTER else current
        elif current and (taken or bullet):
            start = start if taken else number
            taken.append(line)
    return found


def _item(section: str, line: int, text: str) -> Item:
    later = (
        text[marks[-1].end() :] if section == "MODIFIED" and (marks := list(_AFTER.finditer(_hidden(text)))) else text
    )
    return Item(
        section, line, tuple(name for match in _CODE.finditer(later) if len(name := match["code"].strip()) >= _LEAST)
    )


def _hidden(text: str) -> str:
    """The text with what stands in backquotes blanked out: an arrow of a signature divides nothing."""
    return _CODE.sub(lambda match: " " * len(match[0]), text)


def delta_problems(file: str, text: str) -> list[Problem]:
    """What keeps a document from being a delta."""
    bodies = {name: section(text, name) for name in SECTIONS}
    found = [
        problem(
            f"has no section {name}",
            file,
            expected=f'`## {name}`, with "None" below it if there is nothing',
            code="delta.no_section",
        )
        for name, body in bodies.items()
        if body is None
    ]
    found += [
        problem(
            f"says nothing below {name}",
            file,
            _line(text, name),
            expected='items, or "None"',
            code="delta.empty_section",
        )
        for name, body in bodies.items()
        if body is not None and not body.strip()
    ]
    if not found and all(_is_none(body or "") for body in bodies.values()):
        found.append(problem("changes nothing", file, expected="at least one item", code="delta.empty"))
    return found or [*_nameless(file, text), *_loose(file, text), *_unclear(file, text)]


def _nameless(file: str, text: str) -> Iterator[Problem]:
    for one in items(text):
        if not one.signatures:
            what = f"an item of {one.section} names nothing that could be looked for in the design document"
            yield problem(what, file, one.line, expected=IN_BACKQUOTES, code="delta.nameless")


def _unclear(file: str, text: str) -> Iterator[Problem]:
    """Questions are asked before the design; one that comes up in it goes to a person at once."""
    for question in open_questions(text):
        yield problem(
            f"still asks: {question}",
            file,
            text.count("\n", 0, text.find(question)) + 1,
            expected=_DECIDED,
            code="document.open_question",
        )


def _loose(file: str, text: str) -> Iterator[Problem]:
    """What stands in a section before its first item: nobody would look for it."""
    for number, line in loose(text):
        what = f"{line.strip()[:_SHOWN]!r} belongs to no item"
        yield problem(
            what,
            file,
            number,
            expected=f"a bullet for everything that changes, each with {IN_BACKQUOTES}",
            code="delta.loose",
        )


def loose(text: str) -> list[tuple[int, str]]:
    """Number and text of the lines of the three sections that stand before the first item, or "None"."""
    found: list[tuple[int, str]] = []
    current, in_item = "", False
    for number, line in enumerate(text.splitlines(), 1):
        if heading := re.match(r"#+\s*(?P<name>\w+)", line):
            name, level = heading["name"].upper(), len(line) - len(line.lstrip("#"))
            current, in_item = (name if name in SECTIONS else "" if level <= _CHAPTER else current), False
        elif current and not in_item:
            in_item = _BULLET.match(line) is not None or _is_none(line)
            found += [(number, line)] if line.strip() and not in_item else []
    return found


def _is_none(body: str) -> bool:
    return re.fullmatch(r"[\s*_.(`-]*none[\s*_.)`-]*", body, re.IGNORECASE) is not None


def _line(text: str, name: str) -> int:
    heading = re.compile(rf"##+\s*{name}\b", re.IGNORECASE)
    return next((number for number, line in enumerate(text.splitlines(), 1) if heading.match(line)), 0)
