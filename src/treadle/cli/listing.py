"""All runs of the project: from their records, or with where each stands."""

import asyncio
import shlex
import time
from functools import cache
from typing import Final

import typer

from treadle.cli.output import harmless, print_json, print_table
from treadle.cli.reading import driver, read_run, reading
from treadle.cli.situation import print_status
from treadle.cli.standing import in_hand
from treadle.config.project import Project, open_project
from treadle.engines.evidence import chronicle_and_evidence
from treadle.engines.pinned import agents_of
from treadle.errors import TreadleError
from treadle.store.records import Run, foremost
from treadle.store.sqlite import Store
from treadle.views.counting import counted
from treadle.views.listing import COLUMNS, Listing, Overview, RunLine, listed, row, run_line
from treadle.views.moment import moment, seconds
from treadle.views.status import Condition, Known, condition, status

_ENDED: Final = 5
"""Runs that have ended and are shown; the others are counted."""


def list_runs() -> Listing:
    """The runs of the project around the current folder; none if there is no store."""
    project = open_project()
    if not project.store.exists():
        return Listing(runs=())
    with reading(project) as store:
        name_of = cache(lambda digest: store.protocol(digest).name)
        return Listing(
            runs=tuple(
                listed(run, name_of(run.protocol), driver(run), _condition(project, store, run)) for run in store.runs()
            )
        )


def _condition(project: Project, store: Store, run: Run) -> Condition:
    """As `treadle status` says it; only a run that goes on has to be looked at for that."""
    if run.outcome or not run.seq:
        return "ended" if run.outcome else "new"
    history = store.load(run.id)
    return condition(history.protocol, history.state, [it.id for it in in_hand(project, run, history.state)])


def table(listing: Listing) -> list[tuple[str, ...]]:
    """A line for each run."""
    return [
        (
            harmless(run.run),
            run.protocol,
            f"{run.status}: {run.outcome}" if run.outcome else run.status,
            str(run.events),
            run.changed[:16].replace("T", " "),
            run.driver,
        )
        for run in listing.runs
    ]


def print_overview(project: Project, store: Store, *, as_json: bool) -> None:
    """Print every run that goes on and the latest that have ended, then more of the one that a person asks about.

    That is the only one that goes on, or the latest if none does; of several, each is named with its command.
    """
    found = _overview(project, store)
    if as_json:
        print_json(found)
        return
    print_table(COLUMNS, [tuple(map(harmless, row(run))) for run in found.runs])
    if found.folded:
        typer.echo(f"and {counted(found.folded, 'older run')} that ended; `treadle runs` lists all")
    going = [run for run in found.runs if not run.outcome]
    first = foremost(store.runs())
    if len(going) > 1:
        for run in going:
            hint = "shows what it asks of you" if run.status == "asks" else "shows more"
            typer.echo(harmless(f"treadle status {shlex.quote(run.run)}  {hint}"))
    elif first and not any(run.problem for run in found.runs if run.run == first.id):
        print_status(project, store, read_run(store, first.id))


def _overview(project: Project, store: Store) -> Overview:
    runs = store.runs()
    ended = [run.id for run in runs if run.outcome]
    shown = [run for run in runs if not run.outcome or run.id in ended[:_ENDED]]
    return Overview(runs=tuple(_line(project, store, run) for run in shown), folded=len(ended[_ENDED:]))


def _line(project: Project, store: Store, run: Run) -> RunLine:
    """One run; one that cannot be read says why, and hides none of the others."""
    now = time.time_ns() // 1_000_000
    try:
        chronicle, proved = asyncio.run(chronicle_and_evidence(project, store, run.id))
        state, record = chronicle.state, store.run(run.id)
        known = Known(
            run=run.id,
            name=run.name,
            driver=driver(record),
            yours=in_hand(project, record, state),
            result=proved.result,
        )
        agents = agents_of(record, chronicle.protocol)
        return run_line(status(chronicle, known, now), chronicle, proved, agents)
    except TreadleError as error:
        return RunLine(
            run=run.id,
            name=run.name,
            spec="",
            protocol="",
            status="ended" if run.outcome else "new",
            outcome=run.outcome,
            driver=driver(run),
            began=moment(run.created),
            changed=moment(run.changed),
            elapsed=seconds(run.created, run.changed if run.outcome else now),
            problem=str(error),
        )
