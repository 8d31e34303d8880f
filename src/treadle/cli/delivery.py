"""Delivery of a run's result: at a person's command, or after asking."""

import asyncio

from treadle.cli.guard import complain
from treadle.cli.run_status import exit_code
from treadle.config.project import Project
from treadle.engines.delivery import has_good_end, take_over, take_over_rebased, vouch
from treadle.engines.evidence import logged_evidence
from treadle.errors import TreadleError
from treadle.store.sqlite import Store
from treadle.views.evidence_text import score
from treadle.views.outcomes import is_good
from treadle.views.result import excused_lines


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
    _refuse_or_vouch(store, run, accept)
    taking = take_over_rebased(project, store, record, complain) if rebase else take_over(project, record)
    found = asyncio.run(taking)
    again = f", verified again on top of {found.verified_on[:12]}" if found.verified_on else ""
    return "\n".join([f"{found.into} has the result of {run}, {found.commit[:12]}{again}", *excused_lines(found)])


def _refuse_or_vouch(store: Store, run: str, accept: str) -> None:
    """Refuse a result with unverified criteria; if a person accepts it, vouch for it in the log with that reason."""
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


def delivery_code(store: Store, run: str) -> int:
    """Return the exit code of a delivery that has moved the branch, by the verdict on the run's criteria."""
    record = store.run(run)
    outcome = record.outcome if is_good(record.outcome) else "Delivered"  # a rebase of it was given up before
    return exit_code(outcome, logged_evidence(store, run))
