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
    code: str = "doctor.ok"
    """The kind of problem; [Codes](codes.md) lists them."""

    @property
    def is_fatal(self) -> bool:
        return self.required and self.state == "missing"


def ok(what: str, detail: str = "") -> Line:
    """All is well."""
    return Line(what, "ok", detail)


def warn(what: str, detail: str, fix: str = "", *, code: str) -> Line:
    """Something works less well than it could."""
    return Line(what, "warn", detail, fix, code=code)


def missing(what: str, detail: str, fix: str, *, required: bool = False, code: str) -> Line:
    """Something is not there."""
    return Line(what, "missing", detail, fix, required, code)
