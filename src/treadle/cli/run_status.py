"""The status of a run on the terminal: drawn as a tree, or line by line; and the exit code that follows from it."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

import typer

from treadle.cli.guard import ACCEPTED, UNWELL, WAITS
from treadle.cli.output import console, harmless, is_terminal
from treadle.prompts.foreign import visible
from treadle.views.evidence import Evidence
from treadle.views.outcomes import is_good
from treadle.views.run_status import RunStatus, heading, next_steps, status_lines
from treadle.views.tree import InstanceLine, foremost
from treadle.views.words import duration

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

_COLUMNS, _NAMES = 4, 2
"""How many columns the tree has, and how many of them are names: those are cut last."""
_SIGNS: Final = {
    "works": ("●", "green"),
    "checks": ("◆", "cyan"),
    "waits": ("○", "bright_black"),
    "asks": ("?", "yellow"),
    "done": ("✔", "bold green"),
    "failed": ("✘", "bold red"),
}


def code_of(now: RunStatus) -> int:
    """Return the exit code of a command that has driven a run."""
    return exit_code(now.outcome, now.evidence) if now.outcome else WAITS


def exit_code(outcome: str, evidence: Evidence | None) -> int:
    """Return the exit code for a run that has ended: the verdict on its criteria decides, if the end was good."""
    if not is_good(outcome):
        return UNWELL
    verdict = evidence.verdict if evidence else "unverified"
    return {"verified": 0, "empty": 0, "accepted": ACCEPTED}.get(verdict, UNWELL)


def join_lines(lines: Iterable[str]) -> str:
    """Join lines for printing; on a terminal, replace control characters from files and agents."""
    text = "\n".join(lines)
    if not is_terminal():
        return text
    return "".join(char if char.isprintable() or char == "\n" else "?" for char in text)


def print_status(now: RunStatus) -> None:
    """Print the status of a run, drawn on a terminal; commands to copy stay on one line, however long."""
    if is_terminal():
        console().print(draw_status(now))
    for line in next_steps(now) if is_terminal() else status_lines(now):
        typer.echo(harmless(line))


def draw_status(now: RunStatus, room: int | None = None) -> "RenderableType":
    """Draw the tree in a frame: whole, or only as many of the foremost lines as there is room for."""
    from rich.panel import Panel
    from rich.text import Text

    details = {busy.instance: duration(busy.elapsed) for busy in now.activities}
    count = len(now.lines) if room is None else max(room, 3)
    grid = draw_tree(list(now.lines), count, details, wraps=room is None)
    return Panel(grid, title=Text(harmless(heading(now))), title_align="left")


def draw_tree(
    lines: list[InstanceLine], room: int, details: Mapping[str, str] | None = None, *, wraps: bool = True
) -> "Table":
    """Draw the tree, or its foremost lines if there is no room for all.

    `details` maps the id of an instance to more about its work.
    """
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    for at in range(_COLUMNS):
        grid.add_column(no_wrap=not wraps and at < _NAMES, overflow="fold" if wraps else "ellipsis")
    for line in foremost(lines, room):
        sign, colour = _SIGNS[line.mood]
        name = f"{'   ' * line.depth}{sign} {line.name}" if line.name else f"{'   ' * line.depth}  ┊"
        more = (details or {}).get(line.instance, "") if line.name else ""
        grid.add_row(
            Text(visible(name), style=colour),
            Text(visible(line.step), style="bold"),
            Text(visible(line.text), no_wrap=not wraps, overflow="ellipsis"),
            Text(visible(more), style="bright_black", no_wrap=not wraps, overflow="ellipsis"),
        )
    return grid
