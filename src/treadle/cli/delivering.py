"""The result of a run that a person takes over, or is asked about."""

import asyncio
import sys
from typing import Final

import typer

from treadle.cli.guard import blame, complain
from treadle.cli.standing import Standing, exit_code
from treadle.config.project import Project
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
from treadle.errors import TreadleError
from treadle.git.delivery import MOVED
from treadle.store.sqlite import Store
from treadle.views.evidence_words import score
from treadle.views.result import is_good

_ROUNDS: Final = 3
"""How often a run is taken up again because its branch has moved once more."""


def deliver(project: Project, store: Store, run: str, *, rebase: bool = False, accept: str = "") -> str:
    """Move the user's branch forward to the result of a run; what is said about it.

    `accept` is a person's reason to deliver a result of which not every criterion is verified.
    """
    record = store.run(run)
    if not record.outcome:
        raise TreadleError(
            f"{run} has not ended; `treadle resume {run}` drives it, `treadle status {run}` shows it",
            code="run.open",
        )
    if not has_good_end(store, record):
        said = f"{run} has ended with {record.outcome}; only the result of a good end is taken over"
        raise TreadleError(said, code="deliver.bad_end")
    _hold_back(store, run, accept)
    taking = take_over_rebased(project, store, record, complain) if rebase else take_over(project, record)
    found = asyncio.run(taking)
    return f"{found.into} has the result of {run}, {found.commit[:12]}"


def _hold_back(store: Store, run: str, accept: str) -> None:
    """Refuse a result that is not verified, unless a person lets it pass; the log keeps the word."""
    found = logged_evidence(store, run)
    if found.verdict != "unverified":
        return
    if not accept.strip():
        open_ = [f"{one.spec}/{one.id}" for one in found.criteria if one.standing != "verified" and not one.waiver]
        named = f"{', '.join(open_[:5])}{' …' if len(open_) > 5 else ''}"
        raise TreadleError(
            f"{score(found)}, without {named}; `treadle evidence {run}` says what is missing, and "
            f'`treadle deliver {run} --accept "WHY"` delivers it by your word',
            code="deliver.unproved",
        )
    asyncio.run(vouch(store, store.run(run), accept))


def deliver_rebased(project: Project, store: Store, run: str, accept: str = "") -> int:
    """Deliver onto a branch that has moved; conflicts go to the run's own rebase step, if it has one. The exit code."""
    from treadle.cli.driving import drive  # which asks here what becomes of a result

    if is_reopened(store, store.run(run)) and (code := drive(project, store, [run])):
        return code
    for _ in range(_ROUNDS):
        try:
            typer.echo(deliver(project, store, run, rebase=True, accept=accept))
            return delivery_code(store, run)
        except DeliveryRefusal as refusal:
            if refusal.code != CONFLICT or not asyncio.run(reopen(project, store, store.run(run))):
                raise
            files = ", ".join(refusal.files)
            complain(f"both the result and your branch have changed {files}; {run} goes on at its own rebase step")
        if code := drive(project, store, [run]):
            return code
    raise TreadleError(f"your branch does not hold still; `treadle deliver {run} --rebase` again", code=MOVED)


def delivery_code(store: Store, run: str) -> int:
    """The exit code of a delivery that has moved the branch, by the verdict on the run's criteria."""
    record = store.run(run)
    outcome = record.outcome if is_good(record.outcome) else "Delivered"  # a rebase of it was given up before
    return exit_code(outcome, logged_evidence(store, run))


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
