"""`treadle runs`: list the runs of the project, from their records or with the status of each."""

import asyncio
import shlex
import time
from functools import cache
from typing import Final

import typer

from treadle.cli.options import JsonOption
from treadle.cli.output import harmless, print_json, print_table
from treadle.cli.run_reader import NO_RUNS, open_for_reading
from treadle.cli.run_status import print_status
from treadle.config.project import Project, open_project
from treadle.engines.evidence import chronicle_and_evidence
from treadle.engines.run_settings import agents_of
from treadle.engines.status import describe_driver, list_work_in_hand, read_status
from treadle.errors import TreadleError
from treadle.store.records import Run, default_run
from treadle.store.sqlite import Store
from treadle.views.run_status import (
    COLUMNS,
    Listing,
    Overview,
    RunLine,
    list_run,
    run_line,
    run_row,
    run_status,
    status_at,
)
from treadle.views.status import Condition, StatusInputs
from treadle.views.words import count_words, moment, seconds


def runs(
    as_json: JsonOption = False,
) -> None:
    """List the project's runs, latest first."""
    project, listed = open_project(), Listing(runs=())
    if project.store.exists():
        with open_for_reading(project) as store:
            name_of = cache(lambda digest: store.protocol(digest).name)
            listed = Listing(
                runs=tuple(
                    list_run(run, name_of(run.protocol), describe_driver(run), _condition(project, store, run))
                    for run in store.runs()
                )
            )
    if as_json:
        print_json(listed)
    elif listed.runs:
        rows = [
            (
                harmless(run.run),
                run.protocol,
                f"{run.status}: {run.outcome}" if run.outcome else run.status,
                str(run.events),
                run.changed[:16].replace("T", " "),
                run.driver,
            )
            for run in listed.runs
        ]
        print_table(("Run", "Protocol", "Status", "Events", "Changed", "Driver"), rows)
    else:
        typer.echo(NO_RUNS)


# All runs of the project: as a plain list, or as an overview with the status of each.

_ENDED: Final = 5
"""Runs that have ended and are shown; the others are counted."""


def _condition(project: Project, store: Store, run: Run) -> Condition:
    """Return the same condition as `treadle status`; only an unfinished run must be loaded for it."""
    if run.outcome or not run.seq:
        return "ended" if run.outcome else "new"
    history = store.load(run.id)
    return status_at(history.protocol, history.state, yours=list_work_in_hand(project, run, history.state)).status


def print_overview(project: Project, store: Store, *, as_json: bool) -> None:
    """Print all unfinished runs and the latest ended ones, then details of one run.

    The details are for the only unfinished run, or for the latest run if all have ended. With several unfinished runs,
    print the `status` command of each instead.
    """
    runs = store.runs()
    ended = [run.id for run in runs if run.outcome]
    shown = [run for run in runs if not run.outcome or run.id in ended[:_ENDED]]
    found = Overview(runs=tuple(_line(project, store, run) for run in shown), folded=len(ended[_ENDED:]))
    if not found.runs:
        print_no_runs(as_json=as_json)
        return
    if as_json:
        print_json(found)
        return
    print_table(COLUMNS, [tuple(map(harmless, run_row(run))) for run in found.runs])
    if found.folded:
        typer.echo(f"and {count_words(found.folded, 'older run')} that ended; `treadle runs` lists all")
    going = [run for run in found.runs if not run.outcome]
    first = default_run(runs)
    if len(going) > 1:
        for run in going:
            hint = "shows what you can do" if run.status == "asks" else "shows more"
            typer.echo(harmless(f"treadle status {shlex.quote(run.run)}  {hint}"))
    elif first and not any(run.problem for run in found.runs if run.run == first.id):
        print_status(read_status(project, store, first.id))


def print_no_runs(*, as_json: bool) -> None:
    """Print that a project has no runs yet, and how to start one or continue a story."""
    if as_json:
        print_json(Overview(runs=(), folded=0))
        return
    # Imported here: only a project without runs has to wait for it.
    from treadle.cli.unfinished_stories import describe_stories_before_any_run

    for line in (NO_RUNS, *describe_stories_before_any_run()):
        typer.echo(harmless(line))


def _line(project: Project, store: Store, run: Run) -> RunLine:
    """Return the line of one run; a run that cannot be read shows its error and does not hide the others."""
    now = time.time_ns() // 1_000_000
    try:
        chronicle, proved = asyncio.run(chronicle_and_evidence(project, store, run.id))
        state, record = chronicle.state, store.run(run.id)
        known = StatusInputs(
            run=run.id,
            name=run.name,
            driver=describe_driver(record),
            yours=list_work_in_hand(project, record, state),
            result=proved.result,
        )
        agents = agents_of(record, chronicle.protocol)
        return run_line(run_status(chronicle, known, now), chronicle, proved, agents)
    except TreadleError as error:
        return RunLine(
            run=run.id,
            name=run.name,
            spec="",
            protocol="",
            status="ended" if run.outcome else "new",
            outcome=run.outcome,
            driver=describe_driver(run),
            began=moment(run.created),
            changed=moment(run.changed),
            elapsed=seconds(run.created, run.changed if run.outcome else now),
            problem=str(error),
        )
