"""Scenes of a run to watch: as a tree that is redrawn on a terminal, as lines elsewhere."""

import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Final, NamedTuple

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from treadle.cli.guard import quote_word
from treadle.cli.output import console, print_text
from treadle.kernel.events import Event
from treadle.kernel.reduce import reduce
from treadle.kernel.state import State
from treadle.prompts.foreign import visible
from treadle.protocol.model import Protocol
from treadle.simulate.run import describe_event
from treadle.simulate.world import Ledger, Mood, RandomWorld
from treadle.views.tree import InstanceLine, foremost, tree

# Scenes of a run to watch, and the generator for simulated ones.

PATIENCE = 150


class Scene(NamedTuple):
    """An event of a run, with the state after it."""

    caption: str
    """The caption for a viewer; empty if the scene needs none."""
    state: State
    log: str = ""
    """The line that the log of a real run has for it."""


def simulate_scenes(protocol: Protocol, seed: int, faults: float) -> Iterator[Scene]:
    """A run in a random world, until it ends."""
    world, state, ledger = RandomWorld(protocol, Random(f"{protocol.name} {seed}"), faults), State(), Ledger()
    event: Event | None = world.start()
    count = 0
    while event is not None:
        state, commands = reduce(protocol, state, event)
        ledger.enter(event, commands)
        yield Scene(describe_event(event), state)
        if state.outcome:
            return
        count += 1
        mood: Mood = "wild" if count < PATIENCE else "kind" if count < 4 * PATIENCE else "ending"
        event = world.next(state, ledger, mood)


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
            live.update(draw_scene(protocol, scene, tuple(said), screen), refresh=True)
            time.sleep(PAUSE / speed if speed else 0)
    screen.print(Text(NEXT.format(protocol=quote_word(name))), soft_wrap=True)


def watch(protocol: Protocol, scenes: Iterable[Scene]) -> None:
    """Show scenes as they happen: the live tree below, the captions above it for good."""
    screen = console()
    with Live(console=screen, auto_refresh=False) as live:
        for scene in scenes:
            if scene.caption:
                live.console.print(Text(visible(scene.caption)))
            room = max(screen.height - BORDER, 1)
            live.update(_framed(protocol, scene, room), refresh=True)


def draw_scene(protocol: Protocol, scene: Scene, said: Sequence[str], screen: Console) -> RenderableType:
    """Draw a scene that fits the screen: half of a low screen for the tree, and the newest caption in full."""
    newest = Text(said[-1], style="bold default")
    height, told = screen.height - BORDER, len(newest.wrap(screen, screen.width))
    older = said[max(len(said) - max(height // 2 - told, 0) - 1, 0) : -1]
    room = max(height - told - len(older), 1)
    captions = [Text(caption, "bright_black", no_wrap=True, overflow="ellipsis") for caption in older]
    return Group(_framed(protocol, scene, room), *captions, newest)


def _framed(protocol: Protocol, scene: Scene, room: int) -> Panel:
    title = Text(f"{protocol.name} · event {scene.state.seq}")
    return Panel(draw_tree(tree(protocol, scene.state), room, wraps=False), title=title, title_align="left")


def draw_tree(
    lines: list[InstanceLine], room: int, details: Mapping[str, str] | None = None, *, wraps: bool = True
) -> Table:
    """Draw the tree, or its foremost lines if there is no room for all.

    `details` maps the id of an instance to more about its work.
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
    """Print the scenes line by line: the event, and the instances that it moved."""
    before: set[InstanceLine] = set()
    for number, scene in enumerate(scenes, 1):
        print_text(f"{number:3} {scene.caption}")
        lines = tree(protocol, scene.state)
        for line in lines:
            if line not in before:
                print_text(f"      {line.instance}: {' · '.join(part for part in (line.step, line.text) if part)}")
        before = set(lines)


def report(scenes: Iterable[Scene]) -> None:
    """Print scenes as they happen: the log line of each, and its caption below."""
    for scene in scenes:
        for line in (scene.log, f"        {scene.caption}" if scene.caption else ""):
            if line:
                print_text(line)
        sys.stdout.flush()
