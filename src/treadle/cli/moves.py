"""What the commands that move a run have in common: do it, see that it is taken up, say how the run stands."""

import asyncio
from collections.abc import Callable

import typer

from treadle.cli.driving import drive, standing
from treadle.cli.output import is_terminal, print_json
from treadle.cli.progress_board import CheckLines, Silent
from treadle.cli.standing import shown
from treadle.config.project import Project, open_project
from treadle.engines.client import Client
from treadle.engines.driving import driver_of
from treadle.engines.opening import opened_store
from treadle.engines.taking_up import Still, take_up
from treadle.errors import TreadleError
from treadle.store.sqlite import Store

Act = Callable[[Client], str]
"""Does something to a run, and says so."""


Verdict = Callable[[Project, Store], int]
"""Says what has become of it, and gives the exit code for that."""


def move(
    run: str,
    act: Act,
    *,
    resume: bool = False,
    still: Still = lambda _: False,
    verdict: Verdict = lambda _project, _store: 0,
    project: Project | None = None,
    shows_checks: bool = False,
) -> None:
    """Do something to a run; with `resume`, drive it on afterwards as `treadle resume` would.

    With `shows_checks`, each check that this process makes is shown as it runs.
    """
    project = project or open_project()
    with opened_store(project) as store:
        store.run(run)
        typer.echo(act(Client(project, store)))
        if resume and not driver_of(store.run(run)):
            driven = drive(project, store, [run], follow=True, shows_checks=shows_checks)
            raise typer.Exit(verdict(project, store) or driven)
        raise typer.Exit(_settle(project, store, run, still, verdict, shows_checks=shows_checks))


def _settle(
    project: Project, store: Store, run: str, still: Still, verdict: Verdict, *, shows_checks: bool = False
) -> int:
    with CheckLines(live=is_terminal()) if shows_checks else Silent() as board:
        taken = asyncio.run(take_up(project, store, run, still, board.hear))
    code = verdict(project, store)
    if taken.waits:
        typer.echo(f"process {taken.by}, which drives {run}, is not done with it yet; it will be")
    elif taken.by:
        typer.echo(f"process {taken.by}, which drives {run}, has taken it up")
    else:
        typer.echo(shown(standing(project, store, run).lines()))
    return code


def unpaused(project: Project, store: Store, run: str, *, as_json: bool) -> bool:
    """Whether a run that another process drives was paused or held up: it is to go on, and that process takes it up."""
    record, client = store.run(run), Client(project, store)
    if record.outcome or not driver_of(record):
        return False
    is_held_up = bool(client.waiting(run).outage)
    if not client.resume(run):
        return False
    if as_json:
        asyncio.run(take_up(project, store, run))
        print_json(standing(project, store, run).as_json())
    else:
        typer.echo(f"{run} tries again what was held up" if is_held_up else f"the pause of {run} is taken back")
        _settle(project, store, run, lambda _: False, lambda _project, _store: 0)
    return True


def resumable(project: Project, store: Store, run: str | None) -> list[str]:
    """The run that is meant, with every pause taken back; or all that are unfinished and nobody drives."""
    if run is None:
        found = [it.id for it in store.runs() if not it.outcome and not driver_of(it)]
        if not found:
            raise TreadleError("there is no run to resume; `treadle run SPEC` starts one", code="run.none")
        return list(reversed(found))
    if outcome := store.run(run).outcome:
        raise TreadleError(f"{run} has ended with {outcome}; `treadle run SPEC` starts another one", code="run.ended")
    Client(project, store).resume(run)
    return [run]
