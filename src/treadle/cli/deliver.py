"""`treadle deliver`: move the user's branch forward to the result of a run."""

import asyncio
from typing import Annotated, Final

import typer

from treadle.cli.delivery import deliver_result, delivery_code
from treadle.cli.guard import ACCEPTED, complain
from treadle.cli.moves import continue_runs
from treadle.cli.run_reader import find_run_to_deliver
from treadle.config.project import Project, open_project
from treadle.engines.delivery import CONFLICT, DeliveryRefusal, is_reopened, reopen
from treadle.errors import TreadleError
from treadle.git.delivery import MOVED
from treadle.store.sqlite import Store, opened_store


def deliver(
    run: Annotated[
        str | None,
        typer.Argument(help="A run that ended well; optional if only one has an undelivered result."),
    ] = None,
    *,
    rebase: Annotated[
        bool,
        typer.Option(
            "--rebase",
            help="If your branch has moved since the run began, rebase the result onto it and verify it there first.",
        ),
    ] = False,
    accept: Annotated[
        str,
        typer.Option(
            "--accept", metavar="WHY", help="Deliver despite unverified criteria; the evidence records your reason."
        ),
    ] = "",
) -> None:
    """Move your branch to a run's result, if every criterion is verified or a person accepted the unverified ones.

    If --rebase finds conflicts and the protocol has a rebase step, Treadle reopens the run and its agents resolve them.

    Exit code 0: Treadle delivered the result; 2: Treadle refused and changed nothing; 4: Treadle delivered the result,
    and a person accepted unverified criteria. For a reopened run, the exit codes are those of `treadle run`.
    """
    project, meant = open_project(), find_run_to_deliver(run)
    with opened_store(project) as store:
        if rebase:
            raise typer.Exit(deliver_rebased(project, store, meant, accept))
        typer.echo(deliver_result(project, store, meant, accept=accept))
        raise typer.Exit(delivery_code(store, meant))


_ROUNDS: Final = 3
"""The number of times a run is driven again because its branch has moved once more."""


def deliver_rebased(project: Project, store: Store, run: str, accept: str = "") -> int:
    """Deliver onto a branch that has moved, and return the exit code.

    Conflicts go to the run's own rebase step, if it has one.
    """
    # A rebased run that ends by a person's word is delivered like any other: 4 is no failure.
    if is_reopened(store, store.run(run)):
        code = continue_runs(project, store, [run])
        if code not in (0, ACCEPTED):
            return code
    for _ in range(_ROUNDS):
        try:
            typer.echo(deliver_result(project, store, run, rebase=True, accept=accept))
            return delivery_code(store, run)
        except DeliveryRefusal as refusal:
            if refusal.code != CONFLICT or not asyncio.run(reopen(project, store, store.run(run))):
                raise
            files = ", ".join(refusal.files)
            complain(
                f"both the result and your branch have changed {files}; {run} continues at its own rebase step. "
                "`abort` there gives up this rebase alone: the result stays as it is, and can be delivered again"
            )
        code = continue_runs(project, store, [run])
        if code not in (0, ACCEPTED):
            return code
    raise TreadleError(f"your branch keeps moving; `treadle deliver {run} --rebase` again", code=MOVED)
