"""A cross-reference to a section of a document: `[↗️σ₂:R1]`, `[↗️σ₂.tech_stack:Data flow]`, `[↗️design:R2]`.

What is meant is a symbol of the protocol or the name of an artifact; the section is its number or its heading. Digits
may be written either way (`σ2`, `R₁`), the arrow with or without its variation selector. A heading that could be
misread is a JSON string. In code, nothing is a reference.
"""

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from treadle.protocol.lines.quoting import said, unquoted

ARROW: Final = "↗️"
FORM: Final = f"[{ARROW}σₓ:Rₓ]"
_SPECIAL: Final = '[]"`'
_LOW: Final = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_PLAIN: Final = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_BEGIN: Final = re.compile(r"\[↗\ufe0f?")
_TARGET: Final = re.compile(r"\s*(?P<target>[^\s:\[\]`]+)\s*:\s*")
_SECTION: Final = re.compile(r"[^\[\]`]*")
_END: Final = re.compile(r"\s*\]")
_NUMBER: Final = re.compile(r"R\s?([0-9₀-₉]{1,6})")
_SIGMA: Final = re.compile(r"[σς]([0-9₀-₉]{1,3})(.*)", re.DOTALL)
_FENCE: Final = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_CODE: Final = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")


class Reference(msgspec.Struct, frozen=True):
    """Which document is meant, and which section of it."""

    target: str
    section: str

    @property
    def number(self) -> int:
        """The number of the section; 0 if it is meant by its heading."""
        found = _NUMBER.fullmatch(self.section)
        return int(found[1].translate(_PLAIN)) if found else 0


class Referred(msgspec.Struct, frozen=True):
    """A reference in a text, as it is written there, and its line; None: it cannot be read."""

    line: int
    text: str
    reference: Reference | None


def render(reference: Reference) -> str:
    """The reference as it is written."""
    section = said(reference.section, _SPECIAL).replace("`", "\\u0060")  # which would be code
    return f"[{ARROW}{reference.target}:{section}]"


def parse(text: str) -> Reference | None:
    """The reference that a text is; None if it is none."""
    begin = _BEGIN.match(text)
    found = _read(text, begin.end()) if begin else None
    return found[0] if found and found[1] == len(text) else None


def canonical(symbol: str) -> str:
    """A symbol with its digits below the line: `σ4` is σ₄."""
    found = _SIGMA.fullmatch(symbol)
    return f"σ{found[1].translate(_LOW)}{found[2]}" if found else symbol


def references(text: str) -> Iterator[Referred]:
    """All references of a document."""
    for number, whole in prose(text):
        line, at = _CODE.sub("", whole), 0
        while begin := _BEGIN.search(line, at):
            found = _read(line, begin.end())
            at = found[1] if found else begin.end()
            yield Referred(number, line[begin.start() : at] if found else line[begin.start() :], found and found[0])


def prose(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a document by their numbers, from 1, without fenced code."""
    fence = ""
    for number, line in enumerate(text.splitlines(), 1):
        mark = _FENCE.match(line)
        if fence:
            closes = mark and mark[1].startswith(fence) and not line.strip(" `~")
            fence = "" if closes else fence
        elif mark:
            fence = mark[1]
        else:
            yield number, line


def _read(text: str, at: int) -> tuple[Reference, int] | None:
    """The reference whose inside begins at a place, and where it ends."""
    target = _TARGET.match(text, at)
    if target is None:
        return None
    section, at = unquoted(text, target.end()) or _plain(text, target.end())
    end = _END.match(text, at)
    return (Reference(canonical(target["target"]), section), end.end()) if end and section else None


def _plain(text: str, at: int) -> tuple[str, int]:
    found = _SECTION.match(text, at)
    return (found[0].strip(), found.end()) if found else ("", at)
