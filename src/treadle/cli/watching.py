"""Follows a run for as long as somebody drives it: a tree that moves on a terminal, a line for each event elsewhere.

How it stands is told at once, and whenever somebody else is to move it on.
"""

from collections.abc import Callable
from typing import Final

import typer

from treadle.cli.guard import WAITS, complain
from treadle.cli.output import console, harmless, is_terminal, print_json_line
from treadle.cli.reading import Follower
from treadle.cli.situation import below, brief, lines, picture, situation
from treadle.config.project import Project
from treadle.kernel.replay import Move
from treadle.store.records import Run
from treadle.store.sqlite import Store
from treadle.views.status import Status
from treadle.views.timeline import happened, line

_BELOW: Final = 4
"""Lines of the screen that are left below the tree."""
Tell = Callable[[Status], None]


def watch_run(project: Project, store: Store, run: Run, *, as_json: bool) -> int:
    """Show how a run goes on, and how it ends; the exit code."""
    found = Follower(store, run)
    if as_json:
        _as_json(project, store, found)
    elif is_terminal():
        _live(project, store, found)
    else:
        _follow(project, store, found, _say(store), _stands)
    return 0 if found.record.outcome else WAITS


def print_log(store: Store, run: Run, *, as_json: bool) -> None:
    """Print a run's log as it is."""
    say = _say(store, as_json=as_json)
    for made in Follower(store, run).catch_up():
        say(made)


def follow_log(project: Project, store: Store, run: Run, *, as_json: bool) -> int:
    """Print a run's log as it grows; how the run stands is said beside it. The exit code."""
    found = Follower(store, run)
    _follow(project, store, found, _say(store, as_json=as_json), _beside)
    return 0 if found.record.outcome else WAITS


def _follow(project: Project, store: Store, found: Follower, hear: Callable[[Move], None], tell: Tell) -> None:
    """Every event, and how things stand whenever that is another matter than before."""
    before: object = None
    for made in found.follow():
        if made is not None:
            hear(made)
        elif (matter := _matter(now := situation(project, store, found))) != before:
            before = matter
            tell(now)


def _matter(now: Status) -> object:
    """What people have to know of a run, if anything but its agents' work has changed."""
    asked = [it.id for it in now.questions], [it.id for it in now.yours], now.starts
    return now.status, bool(now.driver), asked


def _say(store: Store, *, as_json: bool = False) -> Callable[[Move], None]:
    def say(made: Move) -> None:
        one = happened(made, store.payloads.get)
        print_json_line(one) if as_json else typer.echo(harmless(line(one)))

    return say


def _beside(now: Status) -> None:
    if not now.outcome:
        complain(brief(now))


def _stands(now: Status) -> None:
    for text in lines(now):
        typer.echo(text)


def _as_json(project: Project, store: Store, found: Follower) -> None:
    """A document on each line: how it stands now, and after every event."""
    for _ in found.catch_up():
        pass
    print_json_line(situation(project, store, found))
    for made in found.follow():
        if made is not None:
            print_json_line(situation(project, store, found))


def _live(project: Project, store: Store, found: Follower) -> None:
    """The tree is redrawn in place; what is to be copied is printed above it once, on lines of any length."""
    from rich.live import Live
    from rich.text import Text

    screen = console()
    before: object = None
    with Live(console=screen, auto_refresh=False) as live:  # one thread: a run must not change while it is drawn
        for made in found.follow():
            if made is not None:
                continue
            now = situation(project, store, found)
            if (matter := _matter(now)) != before:
                before = matter
                for text in below(now):
                    screen.print(Text(text), soft_wrap=True)
            live.update(picture(found, now, screen.height - _BELOW), refresh=True)
