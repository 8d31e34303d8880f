"""Shows the scenes of a run: as a tree that moves on a terminal, as lines elsewhere."""

import time
from collections import deque
from collections.abc import Iterable
from typing import Final

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from treadle.cli.output import console
from treadle.cli.story import Scene
from treadle.protocol.model import Protocol
from treadle.views.tree import Line, tree

PAUSE: Final = 1.1
RECENT: Final = 8
SIGNS: Final = {
    "works": ("●", "green"),
    "checks": ("◆", "cyan"),
    "waits": ("○", "bright_black"),
    "asks": ("?", "yellow"),
    "done": ("✔", "bold green"),
    "failed": ("✘", "bold red"),
}
NEXT: Final = """
Agents, git and tests were played; every decision was made by the kernel from the protocol's table.

  treadle protocol table {protocol:11} the table
  treadle protocol check {protocol:11} what is proved about it
  treadle protocol sim {protocol:13} many random runs, with every invariant held
"""


def play(protocol: Protocol, scenes: Iterable[Scene], speed: float) -> None:
    """Shows the scenes one after the other in place."""
    screen, said = console(), deque[str](maxlen=RECENT)
    with Live(console=screen, auto_refresh=False) as live:
        for scene in scenes:
            said.append(scene.caption)
            live.update(_picture(protocol, scene, said, screen.height - RECENT - 4), refresh=True)
            time.sleep(PAUSE / speed if speed else 0)
    screen.print(NEXT.format(protocol=protocol.name))


def _picture(protocol: Protocol, scene: Scene, said: Iterable[str], room: int) -> RenderableType:
    captions = [Text(caption, style="bright_black") for caption in said]
    captions[-1].stylize("bold default")
    title = Text(f"{protocol.name} · event {scene.state.seq}")
    return Group(Panel(_drawn(tree(protocol, scene.state), room), title=title, title_align="left"), *captions)


def _drawn(lines: list[Line], room: int) -> Table:
    """The tree, or as much of it as there is room for: what has ended is left out first."""
    if len(lines) > room:
        lines = [line for line in lines if line.mood not in ("done", "failed")]
    drawn = Table.grid(padding=(0, 2))
    for line in lines[:room]:
        sign, colour = SIGNS[line.mood]
        name = f"{'   ' * line.depth}{sign} {line.name}" if line.name else f"{'   ' * line.depth}  ┊"
        drawn.add_row(Text(name, style=colour), Text(line.step, style="bold"), Text(line.text))
    return drawn


def recite(protocol: Protocol, scenes: Iterable[Scene]) -> None:
    """Tells the scenes line by line: what happened, and which instances it moved."""
    before: set[Line] = set()
    for number, scene in enumerate(scenes, 1):
        typer.echo(f"{number:3} {scene.caption}")
        lines = tree(protocol, scene.state)
        for line in lines:
            if line not in before:
                typer.echo(f"      {line.instance}: {' · '.join(part for part in (line.step, line.text) if part)}")
        before = set(lines)
