"""The status of a run on the terminal: drawn as a tree, or line by line; and the exit code that follows from it."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import typer

from treadle.cli.guard import ACCEPTED, UNWELL, WAITS
from treadle.cli.output import console, harmless, is_terminal
from treadle.views.evidence import Evidence
from treadle.views.outcomes import is_good
from treadle.views.run_status import RunStatus, heading, next_steps, status_lines
from treadle.views.words import duration

if TYPE_CHECKING:
    from rich.console import RenderableType


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

    from treadle.cli.stage import draw_tree

    details = {busy.instance: duration(busy.elapsed) for busy in now.activities}
    count = len(now.lines) if room is None else max(room, 3)
    grid = draw_tree(list(now.lines), count, details, wraps=room is None)
    return Panel(grid, title=Text(harmless(heading(now))), title_align="left")
