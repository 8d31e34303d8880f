"""The table of thresholds: ID, description, metric, threshold, scope, tool, priority; and the tags that refer to it."""

import re
from typing import Final

import msgspec

from treadle.evidence.schemas.limits import Limit, limit_of

_ID: Final = re.compile(r"[A-Z]{2,}-\d+")
_REFERENCE: Final = re.compile(r"@\w+\((?P<id>[A-Z]{2,}-\d+)\)")
_CODE: Final = re.compile(r"`(?P<command>[^`]+)`")
_COLUMNS: Final = ("id", "description", "metric", "threshold", "scope", "tool", "priority")


class Threshold(msgspec.Struct, frozen=True, kw_only=True):
    """One row."""

    id: str
    line: int
    metric: str = ""
    limit: str = ""
    tool: str = ""

    @property
    def command(self) -> str:
        """The command that measures it, which stands in backquotes; empty if a tool is only named."""
        match = _CODE.search(self.tool)
        return match["command"].strip() if match else ""

    @property
    def wanted(self) -> str:
        """What has to hold."""
        return f"{self.metric} {self.limit}".strip()

    @property
    def bound(self) -> Limit | None:
        """The limit of a number; None if it is none that can be held against one."""
        return limit_of(self.limit)


def thresholds_in(text: str) -> dict[str, Threshold]:
    """The rows of the tables of a document, by id."""
    found: dict[str, Threshold] = {}
    names = list(_COLUMNS)
    for number, line in enumerate(text.splitlines(), 1):
        if not line.lstrip().startswith("|"):
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        if cells[0].lower() == "id":
            names = [cell.lower().partition("/")[0].strip() for cell in cells]
        row = dict(zip(names, cells, strict=False))
        if _ID.fullmatch(row.get("id", "").strip("*` ")):
            id_ = row["id"].strip("*` ")
            found[id_] = Threshold(
                id=id_,
                line=number,
                metric=row.get("metric", ""),
                limit=row.get("threshold", ""),
                tool=row.get("tool", ""),
            )
    return found


def referred(text: str) -> list[str]:
    """The ids that tags such as `@perf(PERF-01)` refer to."""
    return list(dict.fromkeys(match["id"] for match in _REFERENCE.finditer(text)))
