"""`treadle deliver`: move the user's branch forward to the result of a run."""

import asyncio
import sys
from typing import Annotated, Final

import typer

from treadle.cli.guard import ACCEPTED, blame, complain
from treadle.cli.run_reader import find_run_to_deliver
from treadle.cli.run_status import exit_code
from treadle.config.project import Project, open_project
from treadle.engines.delivery import (
    CONFLICT,
    DeliveryRefusal,
    has_good_end,
    is_reopened,
    reopen,
    take_over,
    take_over_rebased,
    vouch,
)
from treadle.engines.evidence import logged_evidence
from treadle.engines.run_settings import opened_store
from treadle.errors import TreadleError
from treadle.git.delivery import MOVED
from treadle.store.sqlite import Store
from treadle.views.evidence_text import score
from treadle.views.outcomes import is_good
from treadle.views.run_status import RunStatus


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


# Delivery of a run's result: at a person's command, or after asking.

_ROUNDS: Final = 3
"""The number of times a run is driven again because its branch has moved once more."""


def deliver_result(project: Project, store: Store, run: str, *, rebase: bool = False, accept: str = "") -> str:
    """Move the user's branch forward to the result of a run, and return a sentence about it.

    `accept` is a person's reason to deliver a result although some criteria are not verified.
    """
    record = store.run(run)
    if not record.outcome:
        raise TreadleError(
            f"{run} has not ended; `treadle resume {run}` drives it, `treadle status {run}` shows it",
            code="run.open",
        )
    if not has_good_end(store, record):
        text = f"{run} has ended with {record.outcome}; Treadle delivers only the result of a good end"
        raise TreadleError(text, code="deliver.bad_end")
    _hold_back(store, run, accept)
    taking = take_over_rebased(project, store, record, complain) if rebase else take_over(project, record)
    found = asyncio.run(taking)
    return f"{found.into} has the result of {run}, {found.commit[:12]}"


def _hold_back(store: Store, run: str, accept: str) -> None:
    """Refuse a result with unverified criteria, unless a person accepts it; the log records the reason."""
    found = logged_evidence(store, run)
    if found.verdict != "unverified":
        return
    if not accept.strip():
        open_ = [f"{one.spec}/{one.id}" for one in found.criteria if one.standing != "verified" and not one.waiver]
        named = f"{', '.join(open_[:5])}{' …' if len(open_) > 5 else ''}"
        raise TreadleError(
            f"{score(found)}, without {named}; `treadle evidence {run}` shows what is missing, and "
            f'`treadle deliver {run} --accept "WHY"` delivers it anyway',
            code="deliver.unproved",
        )
    asyncio.run(vouch(store, store.run(run), accept))


def deliver_rebased(project: Project, store: Store, run: str, accept: str = "") -> int:
    """Deliver onto a branch that has moved, and return the exit code.

    Conflicts go to the run's own rebase step, if it has one.
    """
    from treadle.cli.moves import continue_runs  # that module imports this one, to offer a delivery

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
            complain(f"both the result and your branch have changed {files}; {run} continues at its own rebase step")
        code = continue_runs(project, store, [run])
        if code not in (0, ACCEPTED):
            return code
    raise TreadleError(f"your branch keeps moving; `treadle deliver {run} --rebase` again", code=MOVED)


def delivery_code(store: Store, run: str) -> int:
    """Return the exit code of a delivery that has moved the branch, by the verdict on the run's criteria."""
    record = store.run(run)
    outcome = record.outcome if is_good(record.outcome) else "Delivered"  # a rebase of it was given up before
    return exit_code(outcome, logged_evidence(store, run))


def offer_delivery(project: Project, store: Store, stands: RunStatus) -> None:
    """Ask whether to deliver a good, undelivered result, if `git.merge` is `ask` and a person sits at the terminal."""
    result = stands.result
    if result is None or not result.awaits_answer or not is_good(stands.outcome):
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return
    if not typer.confirm(f"Move {result.into} forward to the result of {stands.run}?", default=False):
        return
    try:
        typer.echo(deliver_result(project, store, stands.run))
    except TreadleError as error:  # the run itself has ended well
        complain(blame(error))
