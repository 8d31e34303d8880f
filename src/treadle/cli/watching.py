"""Follows a run until it ends: a tree that moves on a terminal, a line for each event elsewhere."""

import time
from itertools import chain
from typing import Final

import typer

from treadle.cli.output import console, harmless, is_terminal, print_json_line
from treadle.cli.reading import GLANCE, Follower
from treadle.cli.situation import lines, picture, situation
from treadle.config.project import Project
from treadle.store.records import Run
from treadle.store.sqlite import Store
from treadle.views.timeline import happened, line

_BELOW: Final = 8
"""Lines of the screen that are left for what stands below the tree."""


def watch_run(project: Project, store: Store, run: Run, *, as_json: bool) -> None:
    """Show how a run goes on, and how it ends."""
    found = Follower(store, run)
    if as_json:
        _as_json(project, store, found)
    elif is_terminal():
        _live(project, store, found)
    else:
        for made in found.follow():
            typer.echo(harmless(line(happened(made, store.payloads.get))))
        for text in lines(situation(project, store, found)):
            typer.echo(text)


def _as_json(project: Project, store: Store, found: Follower) -> None:
    """A document on each line: how it stands now, and after every event."""
    for _ in found.catch_up():
        pass
    for _ in chain([None], found.follow()):
        print_json_line(situation(project, store, found))


def _live(project: Project, store: Store, found: Follower) -> None:
    from rich.live import Live

    screen = console()
    with Live(console=screen, auto_refresh=False) as live:  # one thread: a run must not change while it is drawn
        while True:
            for _ in found.catch_up():
                pass
            live.update(picture(found, situation(project, store, found), screen.height - _BELOW), refresh=True)
            if found.record.outcome:
                return
            time.sleep(GLANCE)
