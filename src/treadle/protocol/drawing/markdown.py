"""An edge table as plain Markdown."""

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final

from treadle.protocol.drawing.row import ANY_STEP, SELF, Row

COLUMNS: Final = ("From", "Who", "Exit", "When", "To", "Action", "Limit", "Gates")


def cells(found: Row) -> tuple[str, ...]:
    """What a row shows under `COLUMNS`."""
    wait = f" (waits for {', '.join(found.wait)})" if found.wait else ""
    who_ = " ".join(part for part in (found.symbol, found.who) if part)
    step = "any step" if found.step == ANY_STEP else found.step
    exit_ = f"signal {found.exit}" if found.kind == "signal" else found.exit
    return (step + wait, who_, exit_, found.when, found.to, "; ".join(found.do), _limit(found), " ".join(found.gates))


def _limit(found: Row) -> str:
    if found.kind == "system" and found.to == SELF:
        return "the step's attempts"
    if not found.max:
        return found.charge
    what = f"{found.charge}: {found.max}" if found.charge else f"{found.max} attempts"
    return f"{what}, then {found.then}"


def markdown(rows: list[Row]) -> str:
    """The rows as Markdown: a heading and a table per graph."""
    parts = []
    for graph, members in groupby(rows, key=lambda found: found.graph):
        parts.append(f"### {escape_markdown(graph)}\n\n{markdown_table(COLUMNS, without_repeats(members))}")
    return "\n".join(parts)


def without_repeats(rows: Iterable[Row]) -> list[tuple[str, ...]]:
    """Cells in which a step is named only in its first row."""
    shown: list[tuple[str, ...]] = []
    last: tuple[str, ...] = ()
    for found in rows:
        line = cells(found)
        shown.append(("", "", *line[2:]) if line[:2] == last else line)
        last = line[:2]
    return shown


def markdown_table(columns: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A Markdown table of plain text; nothing in the text can leave its cell. Empty columns are left out."""
    lines = list(lines)
    used = [place for place in range(len(columns)) if any(line[place] for line in lines)]
    text = [columns, ("---",) * len(columns), *(tuple(map(escape_markdown, line)) for line in lines)]
    return "".join("| " + " | ".join(line[place] for place in used) + " |\n" for line in text)


_CODE: Final = r"(?<![\\`])`[^`\\|\s](?:(?:[^`\\|\s]| )*[^`\\|\s])?`(?!`)"
_MARKED: Final = re.compile(rf"(?P<code>{_CODE})|[\\`*|\[~]|\b_|_\b|[<&]|\s+")
_AS = {"<": "&lt;", "&": "&amp;"}


def escape_markdown(text: str) -> str:
    """Text that Markdown shows as it is; what stands between backticks is code, as it is meant."""
    return _MARKED.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    mark = found[0]
    if found["code"]:
        return mark
    return " " if mark.isspace() else _AS.get(mark, "\\" + mark)
