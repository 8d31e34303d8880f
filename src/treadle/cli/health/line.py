"""One thing that was looked at."""

from typing import Literal

import msgspec


class Line(msgspec.Struct, frozen=True):
    """What was looked at, how it is, and what to do about it."""

    what: str
    state: Literal["ok", "warn", "missing"]
    detail: str = ""
    fix: str = ""
    required: bool = False
    code: str = ""
    """Stable name of what is wrong, listed in `codes.py`; empty if nothing is, or it has none."""

    @property
    def is_fatal(self) -> bool:
        return self.required and self.state == "missing"


def ok(what: str, detail: str = "") -> Line:
    """All is well."""
    return Line(what, "ok", detail)


def warn(what: str, detail: str, fix: str = "") -> Line:
    """Something works less well than it could."""
    return Line(what, "warn", detail, fix)


def missing(what: str, detail: str, fix: str, *, required: bool = False, code: str = "") -> Line:
    """Something is not there."""
    return Line(what, "missing", detail, fix, required, code)
