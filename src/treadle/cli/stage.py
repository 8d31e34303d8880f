"""Shows the scenes of a run: as a tree that moves on a terminal, as lines elsewhere."""

import sys
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from treadle.cli.advice import word
from treadle.cli.output import console, say
from treadle.cli.story import Scene
from treadle.prompts.foreign import visible
from treadle.protocol.model import Protocol
from treadle.views.tree import Line, foremost, tree

PAUSE: Final = 1.1
RECENT: Final = 8
BORDER: Final = 3
"""The lines of a screen that are neither tree nor captions: the frame, and where the cursor stands."""
COLUMNS, NAMES = 4, 2
"""How many columns the tree has, and how many of them are names: those are cut last."""
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


def play(protocol: Protocol, scenes: Iterable[Scene], speed: float, name: str) -> None:
    """Shows the scenes one after the other in place; the protocol was asked for by this name or path."""
    screen, said = console(), deque[str](maxlen=RECENT)
    with Live(console=screen, auto_refresh=False) as live:
        for scene in scenes:
            said.append(visible(scene.caption))
            live.update(picture(protocol, scene, tuple(said), screen), refresh=True)
            time.sleep(PAUSE / speed if speed else 0)
    screen.print(Text(NEXT.format(protocol=word(name))), soft_wrap=True)


def watch(protocol: Protocol, scenes: Iterable[Scene]) -> None:
    """Shows scenes as they happen: the tree below, and above it, for good, what is told."""
    screen = console()
    with Live(console=screen, auto_refresh=False) as live:
        for scene in scenes:
            if scene.caption:
                live.console.print(Text(visible(scene.caption)))
            room = max(screen.height - BORDER, 1)
            live.update(_framed(protocol, scene, room), refresh=True)


def picture(protocol: Protocol, scene: Scene, said: Sequence[str], screen: Console) -> RenderableType:
    """A scene that fits the screen: half of a low one is the tree, and what has just happened is told in full."""
    newest = Text(said[-1], style="bold default")
    height, told = screen.height - BORDER, len(newest.wrap(screen, screen.width))
    older = said[max(len(said) - max(height // 2 - told, 0) - 1, 0) : -1]
    room = max(height - told - len(older), 1)
    captions = [Text(caption, "bright_black", no_wrap=True, overflow="ellipsis") for caption in older]
    return Group(_framed(protocol, scene, room), *captions, newest)


def _framed(protocol: Protocol, scene: Scene, room: int) -> Panel:
    title = Text(f"{protocol.name} · event {scene.state.seq}")
    return Panel(drawn(tree(protocol, scene.state), room, wraps=False), title=title, title_align="left")


def drawn(lines: list[Line], room: int, details: Mapping[str, str] | None = None, *, wraps: bool = True) -> Table:
    """The tree, or the foremost of it that there is room for.

    `details` says more about an instance's work, by the instance's id.
    """
    grid = Table.grid(padding=(0, 2))
    for at in range(COLUMNS):
        grid.add_column(no_wrap=not wraps and at < NAMES, overflow="fold" if wraps else "ellipsis")
    for line in foremost(lines, room):
        sign, colour = SIGNS[line.mood]
        name = f"{'   ' * line.depth}{sign} {line.name}" if line.name else f"{'   ' * line.depth}  ┊"
        more = (details or {}).get(line.instance, "") if line.name else ""
        grid.add_row(
            Text(visible(name), style=colour),
            Text(visible(line.step), style="bold"),
            Text(visible(line.text), no_wrap=not wraps, overflow="ellipsis"),
            Text(visible(more), style="bright_black", no_wrap=not wraps, overflow="ellipsis"),
        )
    return grid


def recite(protocol: Protocol, scenes: Iterable[Scene]) -> None:
    """Tells the scenes line by line: what happened, and which instances it moved."""
    before: set[Line] = set()
    for number, scene in enumerate(scenes, 1):
        say(f"{number:3} {scene.caption}")
        lines = tree(protocol, scene.state)
        for line in lines:
            if line not in before:
                say(f"      {line.instance}: {' · '.join(part for part in (line.step, line.text) if part)}")
        before = set(lines)


def report(scenes: Iterable[Scene]) -> None:
    """Tells scenes as they happen: a line of the log for each, and under it what is to be said about it."""
    for scene in scenes:
        for line in (scene.log, f"        {scene.caption}" if scene.caption else ""):
            if line:
                say(line)
        sys.stdout.flush()
