"""The result of a run that a person takes over, or is asked about."""

import asyncio
import sys

import typer

from treadle.cli.guard import blame, complain
from treadle.cli.standing import Standing
from treadle.config.project import Project
from treadle.engines.result import take_over
from treadle.errors import TreadleError
from treadle.store.sqlite import Store
from treadle.views.result import is_good


def deliver(project: Project, store: Store, run: str) -> str:
    """Move the user's branch forward to the result of a run; what is said about it."""
    record = store.run(run)
    if not record.outcome:
        raise TreadleError(f"{run} has not ended; see `treadle status {run}`", code="run.open")
    if not is_good(record.outcome):
        raise TreadleError(
            f"{run} has ended with {record.outcome}; only the result of a good end is taken over",
            code="deliver.bad_end",
        )
    found = asyncio.run(take_over(project, record))
    return f"{found.into} has the result of {run}, {found.commit[:12]}"


def offer(project: Project, store: Store, stands: Standing) -> None:
    """Ask what becomes of a result, if that was to be asked and somebody is there to answer."""
    result = stands.result
    if result is None or not result.awaits_answer or not is_good(stands.outcome):
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return
    if not typer.confirm(f"Move {result.into} forward to the result of {stands.run}?", default=False):
        return
    try:
        typer.echo(deliver(project, store, stands.run))
    except TreadleError as error:  # the run itself has ended well
        complain(blame(error))
