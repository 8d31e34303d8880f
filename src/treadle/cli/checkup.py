"""The lines of a check-up, which `treadle doctor`, `treadle hook status` and `treadle run` share, and their format."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Literal

import msgspec

from treadle.errors import TreadleError


class Line(msgspec.Struct, frozen=True):
    """One line of a check-up: its subject, state, detail and fix."""

    what: str
    state: Literal["ok", "warn", "missing"]
    detail: str = ""
    fix: str = ""
    required: bool = False
    code: str = "doctor.ok"
    """The kind of problem; [Codes](codes.md) lists them."""

    @property
    def is_fatal(self) -> bool:
        return self.required and self.state == "missing"


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """The lines of a check-up: `treadle doctor --json`."""

    schema: Literal[1] = 1
    lines: tuple[Line, ...]


def ok(what: str, detail: str = "") -> Line:
    """Return a line about something that works."""
    return Line(what, "ok", detail)


def warn(what: str, detail: str, fix: str, *, code: str) -> Line:
    """Return a line about something that works less well than it could."""
    return Line(what, "warn", detail, fix, code=code)


def missing(what: str, detail: str, fix: str, *, code: str, required: bool = True) -> Line:
    """Return a line about something that is missing, or does not work."""
    return Line(what, "missing", detail, fix, required, code)


def failed(what: str, error: TreadleError) -> Line:
    """Return a line about a requirement that fails; the text of the error has the advice after its first semicolon."""
    detail, _, fix = str(error).partition("; ")
    return missing(what, detail, fix, code=error.code)


def format_checkup(lines: Sequence[Line]) -> Iterator[str]:
    """Format the lines for a person, each with its fix; neighbours with the same fix print it once."""
    width = max(len(line.what) for line in lines if len(line.what) < 30)
    for line, after in zip_longest(lines, lines[1:]):
        yield f"{_state(line):<8}{line.what:<{width}}  {line.detail}"
        if line.state != "ok" and line.fix and (after is None or after.state == "ok" or after.fix != line.fix):
            yield f"{'':<8}{'':<{width}}  → {line.fix}"


def summarize_checkup(lines: Sequence[Line]) -> str:
    """Return a sentence on the whole check-up."""
    if fatal := [line.what for line in lines if line.is_fatal]:
        return f"A run needs these, and they are missing: {', '.join(fatal)}"
    rest = "; everything marked absent is optional." if any(_state(line) == "absent" for line in lines) else "."
    return f"Everything that a run needs is there{rest}"


def _state(line: Line) -> str:
    """Return the state in one word; a missing thing that nothing requires is "absent"."""
    return "absent" if line.state == "missing" and not line.required else line.state
