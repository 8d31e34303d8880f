"""`treadle log`: print the events of a run, and follow a run while another process drives it.

`treadle status --watch` follows a run with the same code: as a tree that is redrawn on a terminal, as a line for
each event elsewhere.
"""

from collections.abc import Callable
from typing import Annotated, Final

import typer

from treadle.cli.guard import WAITS, complain
from treadle.cli.options import LatestRunArgument
from treadle.cli.output import console, harmless, is_terminal, print_json_line
from treadle.cli.run_reader import find_run, open_for_reading
from treadle.cli.run_status import draw_status
from treadle.config.project import Project, open_project
from treadle.engines.status import RunFollower, status_of
from treadle.kernel.replay import Move
from treadle.store.records import Run
from treadle.store.sqlite import Store
from treadle.views.run_status import RunStatus, next_steps, status_lines, summary_line
from treadle.views.timeline import describe_move, event_line


def log(
    run: LatestRunArgument = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print each event as a line of JSON, for programs.")] = False,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Print new events for as long as a process drives the run.")
    ] = False,
) -> None:
    """Print a run's events, one per line, and the commands that each event caused.

    Exit code 3: with --follow, the process that drove the run stopped before the run ended.
    """
    project = open_project()
    with open_for_reading(project) as store:
        found = find_run(store, run)
        if follow:
            raise typer.Exit(follow_log(project, store, found, as_json=as_json))
        for made in RunFollower(store, found).catch_up():
            _print_event(store, made, as_json=as_json)


# Follow a run while a process drives it: a live tree on a terminal, a line for each event elsewhere.
#
# The status is printed at the start, and again whenever the run's status, driver or open requests change.

_BELOW: Final = 4
"""Lines of the screen that are left below the tree."""


def watch_run(project: Project, store: Store, run: Run, *, as_json: bool) -> int:
    """Print the events of a run until it ends, and return the exit code."""
    found = RunFollower(store, run)
    if as_json:  # one document per line: the state now, and after every event
        for _ in found.catch_up():
            pass
        print_json_line(status_of(project, store, found).document)
        for made in found.follow():
            if made is not None:
                print_json_line(status_of(project, store, found).document)
    elif is_terminal():
        _redraw(project, store, found)
    else:
        _follow(project, store, found, lambda now: typer.echo("\n".join(map(harmless, status_lines(now)))))
    return 0 if found.record.outcome else WAITS


def follow_log(project: Project, store: Store, run: Run, *, as_json: bool) -> int:
    """Print a run's log as it grows, and its status on stderr; return the exit code."""
    found = RunFollower(store, run)

    def complain_status(now: RunStatus) -> None:
        if not now.outcome:
            complain(summary_line(now))

    _follow(project, store, found, complain_status, as_json=as_json)
    return 0 if found.record.outcome else WAITS


def _follow(
    project: Project,
    store: Store,
    found: RunFollower,
    print_status: Callable[[RunStatus], None],
    *,
    as_json: bool = False,
) -> None:
    """Print every event, and the status whenever it differs from the one before."""
    before: object = None
    for made in found.follow():
        if made is not None:
            _print_event(store, made, as_json=as_json)
        elif (matter := _matter(now := status_of(project, store, found))) != before:
            before = matter
            print_status(now)


def _print_event(store: Store, made: Move, *, as_json: bool) -> None:
    one = describe_move(made, store.payloads.get)
    print_json_line(one) if as_json else typer.echo(harmless(event_line(one)))


def _matter(now: RunStatus) -> object:
    """Return the parts of a status that are worth a new report: status, driver, and open requests to people."""
    asked = [it.id for it in now.questions], [it.id for it in now.yours], now.starts
    return now.status, bool(now.driver), asked


def _redraw(project: Project, store: Store, found: RunFollower) -> None:
    """Redraw the tree in place. Print commands to copy above it once, unwrapped."""
    from rich.live import Live
    from rich.text import Text

    screen = console()
    before: object = None
    with Live(console=screen, auto_refresh=False) as live:  # one thread: a run must not change while it is drawn
        for made in found.follow():
            if made is not None:
                continue
            now = status_of(project, store, found)
            if (matter := _matter(now)) != before:
                before = matter
                for text in next_steps(now):
                    screen.print(Text(harmless(text)), soft_wrap=True)
            live.update(draw_status(now, screen.height - _BELOW), refresh=True)
