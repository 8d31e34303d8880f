"""The table of thresholds: ID, description, metric, threshold, scope, tool, priority; and the tags that refer to it."""

import re
from math import isfinite
from typing import Final, NamedTuple

import msgspec

_ID: Final = re.compile(r"[A-Z]{2,}-\d+")
_REFERENCE: Final = re.compile(r"@\w+\((?P<id>[A-Z]{2,}-\d+)\)")
_CODE: Final = re.compile(r"`(?P<command>[^`]+)`")
_UNIT: Final = r"%|[A-Za-zµμ]+(?:/[A-Za-z]+)?"
_NUMBER: Final = r"[-+]?(?:\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?|nan|inf(?:inity)?)\b"
_LIMIT: Final = re.compile(
    rf"(?:[A-Za-z]\w*\s*(?=[<>=≤≥]))?(?P<sign><=|>=|<|>|≤|≥|=)?\s*(?P<value>\d+(?:\.\d+)?)\s*(?P<unit>{_UNIT})?"
)
"""One limit, also with what it is a limit of: `< 200 ms`, `p95 < 200 ms`."""
_FAMILIES: Final[tuple[dict[str, float], ...]] = (
    {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1, "sec": 1, "min": 60, "h": 3600},
    {"B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30},
)
"""Units that measure the same."""
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

    def is_met_by(self, value: float, unit: str) -> bool | None:
        """Whether a measured value keeps to the threshold; None if the two cannot be compared."""
        match = _LIMIT.fullmatch(self.limit.strip())
        factor = _factor(unit, match["unit"] or "") if match else None
        if match is None or factor is None or not isfinite(value) or value < 0:
            return None
        measured, wanted = value * factor, float(match["value"])
        match match["sign"] or "<=":
            case "<":
                return measured < wanted
            case ">":
                return measured > wanted
            case ">=" | "≥":
                return measured >= wanted
            case "=":
                return measured == wanted
        return measured <= wanted


class Printed(NamedTuple):
    """What a tool has printed for a threshold."""

    value: float
    unit: str

    def __str__(self) -> str:
        return f"{self.value:g} {self.unit}".strip()


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


def printed(id_: str, output: str) -> list[Printed]:
    """The numbers that a tool has printed for a threshold, as in `PERF-01: 187 ms`; also without colon."""
    named = rf"^(?:.*[^\w\n-])?{re.escape(id_)}(?:[ \t]*[:=][ \t]*|[ \t]+)"
    lines = rf"{named}(?P<value>{_NUMBER})[ \t]*(?P<unit>{_UNIT})?[ \t\r.,;]*$"
    found = re.finditer(lines, output, re.MULTILINE | re.IGNORECASE)
    return [Printed(float(match["value"].replace(",", "")), match["unit"] or "") for match in found]


def _factor(unit: str, wanted: str) -> float | None:
    """What turns a number of a unit into one of another; None if the two do not measure the same."""
    if unit == wanted:
        return 1.0
    return next((family[unit] / family[wanted] for family in _FAMILIES if {unit, wanted} <= family.keys()), None)
