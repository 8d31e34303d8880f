"""`thresholds_known`, `thresholds`: compares a story's non-functional requirements with their tools' results."""

import itertools
import operator
import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from math import isfinite
from typing import Final, NamedTuple

import msgspec

from treadle.evidence.checks.contract import how_it_ended, ran_of
from treadle.evidence.checks.documents import scenario_place, scenario_text
from treadle.evidence.checks.project import words_of
from treadle.evidence.checks.scope import measured_tree
from treadle.evidence.document_text import without_comments
from treadle.evidence.findings import CheckOutcome, CheckProblem, CommandRun, conclude, note, problem
from treadle.evidence.subject import Subject
from treadle.protocol.artifacts import place_of
from treadle.toolchains.results import CommandResult

# A limit of a number, such as `< 200 ms`, and the numbers in a tool's output to compare with it.

_UNIT: Final = r"%|[A-Za-zµμ]+(?:/[A-Za-z]+)?"
_NUMBER: Final = r"[-+]?(?:\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?|(?:nan|inf(?:inity)?)\b)"
_SIGNS: Final[dict[str, Callable[[float, float], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    "≤": operator.le,
    "at most": operator.le,
    "max": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "≥": operator.ge,
    "at least": operator.ge,
    "min": operator.ge,
    "=": operator.eq,
    "==": operator.eq,
}
_SIGN: Final = "|".join(sorted(map(re.escape, _SIGNS), key=len, reverse=True))
_LIMIT: Final = re.compile(
    rf"(?:[A-Za-z]\w*\s*(?=[<>=≤≥]))?(?P<sign>{_SIGN})\s*(?P<value>\d[\d,]*(?:\.\d+)?)\s*(?P<unit>{_UNIT})?"
    r"(?:\s*\([^()]*\))?",
    re.IGNORECASE,
)
_TIMES: Final = {
    **dict.fromkeys(("ns", "nanoseconds"), 1e-9),
    **dict.fromkeys(("us", "µs", "μs", "microseconds"), 1e-6),
    **dict.fromkeys(("ms", "msec", "millis", "milliseconds"), 1e-3),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hour", "hours"), 3600.0),
}
_SIZES: Final = {"B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_FAMILIES: Final[tuple[dict[str, float], ...]] = (_TIMES, _SIZES, {"%": 1, "percent": 1})
"""Units that measure the same."""


class PrintedNumber(NamedTuple):
    """A number that a tool has printed."""

    value: float
    unit: str

    def __str__(self) -> str:
        return f"{self.value:g} {self.unit}".strip()


class Limit(NamedTuple):
    """A limit of a number. It needs a sign: without one, more may as well be better."""

    sign: str
    value: float
    unit: str

    def is_met_by(self, one: PrintedNumber) -> bool | None:
        """Whether a number keeps to it; None if the two cannot be compared."""
        factor = _factor(one.unit, self.unit)
        if factor is None or not isfinite(one.value) or one.value < 0:
            return None
        return _SIGNS[self.sign](one.value * factor, self.value)


def limit_of(text: str) -> Limit | None:
    """Parse a limit, with or without its metric: `p95 < 200 ms`; None if the text is no limit, or names two."""
    match = _LIMIT.fullmatch(text.strip())
    return Limit(match["sign"].lower(), _value(match["value"]), match["unit"] or "") if match else None


def printed_numbers(id_: str, output: str, limit: Limit | None) -> list[PrintedNumber]:
    """The numbers that a tool has printed for a threshold: `PERF-01: 187 ms`.

    In a line with more words, such as `PERF-01 (search): p95 187 ms of 200`, it is the first that has a fitting unit.
    """
    lines = re.finditer(rf"(?<![\w-]){re.escape(id_)}(?![\w-])(?P<rest>.*)", output, re.IGNORECASE)
    alone = re.compile(rf"\s*[:=]?\s*(?P<value>{_NUMBER})\s*(?P<unit>{_UNIT})?[\s.,;]*", re.IGNORECASE)
    among = re.compile(rf"(?<![\w.])(?P<value>{_NUMBER})\s*(?P<unit>{_UNIT})", re.IGNORECASE)
    found: list[PrintedNumber] = []
    for line in lines:
        if match := alone.fullmatch(line["rest"]):
            found.append(PrintedNumber(_value(match["value"]), match["unit"] or ""))
        elif limit and limit.unit:
            numbers = [PrintedNumber(_value(one["value"]), one["unit"]) for one in among.finditer(line["rest"])]
            found += [one for one in numbers if _factor(one.unit, limit.unit) is not None][:1]
    return found


def _value(text: str) -> float:
    return float(text.replace(",", ""))


def _factor(unit: str, wanted: str) -> float | None:
    """Return the factor that converts one unit to another; None if the two measure different things."""
    if unit == wanted:
        return 1.0
    return next((family[unit] / family[wanted] for family in _FAMILIES if {unit, wanted} <= family.keys()), None)


# The table of thresholds: ID, description, metric, threshold, scope, tool, priority; and the tags that refer to it.

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
        """The requirement: metric and limit."""
        return f"{self.metric} {self.limit}".strip()

    @property
    def bound(self) -> Limit | None:
        """The limit as a number; None if the text is no limit that a number can be compared with."""
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


def referenced_thresholds(text: str) -> list[str]:
    """The ids that tags such as `@perf(PERF-01)` refer to."""
    return list(dict.fromkeys(match["id"] for match in _REFERENCE.finditer(text)))


_TABLE: Final = "nfr"
_COMMAND: Final = "a plain command in backquotes that succeeds if the threshold is kept, without a shell"

_RUNS_SCRIPTS: Final = re.compile(r"python[\d.]*|node|deno|bun|tsx|ruby|perl|php|bash|sh|zsh|k6|locust|artillery")
_UNREAD: Final = "only its exit code decides, because the threshold is no single limit such as `< 200 ms`"


async def thresholds_known(s: Subject) -> CheckOutcome:
    """Every threshold that the scenarios refer to stands in the table."""
    rows = await _rows(s)
    return conclude([_missing(s, id_) for id_, row in rows.items() if row is None])


async def thresholds(s: Subject) -> CheckOutcome:
    """Require a row in the table for every threshold in the scenarios, and a tool run that keeps it."""
    place = _table(s)
    problems: list[CheckProblem] = []
    notes: list[CheckProblem] = []
    last: CommandRun | None = None
    for id_, row in (await _rows(s)).items():
        if row is None:
            problems.append(_missing(s, id_))
        elif not row.command:
            what = f"{id_} ({row.wanted}) was not measured: {place} names no command for it"
            notes.append(note(what, code="threshold.not_measured"))
        elif not (commands := words_of(row.command)) or len(commands) > 1:
            problems.append(
                problem(
                    f"`{row.command}` cannot be run", place, row.line, expected=_COMMAND, code="threshold.not_runnable"
                )
            )
        else:
            built = await s.measure.run(commands[0], await measured_tree(s))
            problems += [*_kept(place, row, built), *await _changed_tools(s, row, commands[0])]
            last = ran_of(built)
            notes.append(note(f"{id_}: {_said(row, built)} (threshold {row.limit})", code="threshold.measured"))
    return conclude(problems, notes, last)


async def who_measures(s: Subject) -> list[str]:
    """List, for people, each threshold that the scenarios refer to, and the command that measures it."""
    nothing = f"nothing measures it: its Tool in {_table(s)} is no command in `backquotes`"
    return [
        f"{id_}: {row.wanted}; "
        + (f"measured by `{row.command}`{'' if row.bound else f'; {_UNREAD}'}" if row.command else nothing)
        for id_, row in (await _rows(s)).items()
        if row
    ]


def _table(s: Subject) -> str:
    declared = s.case.protocol.artifacts.get(_TABLE)
    return place_of(declared, s.input) if declared else ""


async def _rows(s: Subject) -> dict[str, Threshold | None]:
    """Return the thresholds that the scenarios refer to, each with its row of the table."""
    place = _table(s)
    rows = thresholds_in(without_comments(await s.text(place) or "")) if place else {}
    return {id_: rows.get(id_) for id_ in referenced_thresholds(await scenario_text(s))}


def _missing(s: Subject, id_: str) -> CheckProblem:
    wanted = f"a row of {_table(s)}, or no such tag"
    return problem(
        f"refers to {id_}, which has no threshold", scenario_place(s), expected=wanted, code="threshold.missing"
    )


def _kept(place: str, row: Threshold, built: CommandResult) -> list[CheckProblem]:
    """Return a problem for a tool's failing exit code, or for each printed number that breaks the limit."""
    if not built.is_well:
        why = how_it_ended(built, row.command)
        return [
            problem(f"{row.id} is not kept: {why}", place, row.line, expected=row.wanted, code="threshold.not_kept")
        ]
    problems: list[CheckProblem] = []
    if (bound := row.bound) is None:
        return problems
    for one in printed_numbers(row.id, built.output, bound):
        is_met = bound.is_met_by(one)
        if is_met is None:
            what = f"Treadle cannot tell whether {row.id} is kept: its tool prints {one}"
            problems.append(
                problem(
                    what,
                    place,
                    row.line,
                    expected=f"{row.wanted}, and a number with a unit for it",
                    code="threshold.unclear",
                )
            )
        elif not is_met:
            problems.append(
                problem(f"{row.id} is not kept: {one}", place, row.line, expected=row.wanted, code="threshold.not_kept")
            )
    return problems


async def _changed_tools(s: Subject, row: Threshold, words: Sequence[str]) -> list[CheckProblem]:
    """Refuse changes of the project file that measures a threshold: a story must not adjust its own measurement."""
    origin = await s.origin()
    before, now = await s.entries(origin), await s.entries()
    path = next((path for path in _programs(words) if path in before), "")
    if not path or now.get(path) == before[path]:
        return []
    what = f"measures {row.id}, and was changed by this story"
    return [problem(what, path, expected="it as it was before the story", code="threshold.tool_changed")]


def _programs(words: Sequence[str]) -> Iterator[str]:
    """Yield the files that a command may run: its program, or the script for an interpreter."""
    yield posixpath.normpath(words[0])
    if not _RUNS_SCRIPTS.fullmatch(posixpath.basename(words[0])):
        return
    for before, word in itertools.pairwise(words):
        yield posixpath.normpath(word)
        if before == "-m":
            module = word.replace(".", "/")
            yield from (f"{top}{module}{end}" for top in ("", "src/") for end in (".py", "/__main__.py"))


def _said(row: Threshold, built: CommandResult) -> str:
    numbers = ", ".join(map(str, printed_numbers(row.id, built.output, row.bound)))
    how = "its tool succeeds" if built.is_well else "its tool fails"
    return how if not numbers else numbers if row.bound else f"{how}; {numbers} is compared with nothing"
