"""Findings, a protocol's problems with their places: printed by the CLI, returned as JSON, counted by tests."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Literal

import msgspec

Level = Literal["error", "warning"]
LOAD = 0
"""The `check` of a finding that the loader made; the static checks count from 1."""


class Place(msgspec.Struct, frozen=True, order=True):
    """A place in a file; lines and columns count from 1, and line 0 is the file as a whole."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


class Finding(msgspec.Struct, frozen=True):
    """One problem: `where` is the part of the protocol (`node.tests`), `hint` suggests a repair."""

    place: Place
    where: str
    message: str
    hint: str = ""
    check: int = LOAD
    level: Level = "error"
    code: str = ""
    """Stable name of the kind of problem, listed in `codes.py`; programs and tests compare it."""

    def __str__(self) -> str:
        level = "warning: " if self.level == "warning" else ""
        where = f"{self.where}: " if self.where else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{self.place}: {level}{where}{self.message}{hint}"


def to_json(findings: Iterable[Finding]) -> list[dict[str, str | int]]:
    """The findings as flat JSON objects, for programs that read them."""
    flat = ({**msgspec.structs.asdict(finding.place), **msgspec.structs.asdict(finding)} for finding in findings)
    return [{name: value for name, value in finding.items() if name != "place"} for finding in flat]


def suggest(word: str, known: Iterable[str]) -> str:
    """`did you mean 'impl'?` if something known is near enough, else nothing."""
    names = sorted(set(known))
    exact = [name for name in names if name.lower() == word.lower()]
    near = exact or get_close_matches(word[:100], names, n=1, cutoff=0.6)
    if not near:  # `impl` for `implement`, which letter-by-letter likeness alone would miss
        long_enough = [name for name in names if min(len(name), len(word)) >= 3]
        near = [name for name in long_enough if word.startswith(name) or name.startswith(word)]
    return f"did you mean '{near[0]}'?" if near else ""
