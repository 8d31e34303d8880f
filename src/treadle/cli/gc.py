"""`treadle gc`: remove leftovers of finished work, and forget runs on request."""

import asyncio
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated, Final, Literal

import msgspec
import typer

from treadle.cli.guard import complain
from treadle.cli.options import JsonOption
from treadle.cli.output import print_json
from treadle.config.agents import parse_agent
from treadle.config.project import open_project
from treadle.engines.gc import RemovedRuns, TidyReport, clean_runs, refuse_links, tidy
from treadle.engines.run_settings import settings_of
from treadle.errors import PortError, TreadleError
from treadle.store.records import Run
from treadle.store.sqlite import Store, opened_store
from treadle.views.words import count_words


def gc(
    run: Annotated[str | None, typer.Option("--run", help="Delete this ended run with its evidence.")] = None,
    older_than: Annotated[
        str | None,
        typer.Option(
            metavar="AGE", help="Also delete runs that ended longer ago than this (30d, 12h, 0), with their evidence."
        ),
    ] = None,
    branches: Annotated[
        bool, typer.Option("--branches", help="Also remove the result branches of the deleted runs.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what Treadle would remove, and remove nothing.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Remove lanes and other checkouts, refs and caches that ended runs and crashes left behind.

    Undelivered results, evidence and unfinished runs stay. Only `--run` and `--older-than` delete runs.
    """
    if branches and run is None and older_than is None:
        text = "--branches needs --run RUN or --older-than AGE: it removes the result branches of those runs"
        raise TreadleError(text, code="gc.branches")
    project = open_project()
    with opened_store(project) as store:
        refuse_links(project)
        runs = choose_runs_to_forget(store, run, older_than)
        tidied = None if run else asyncio.run(tidy(project, store, dry=dry_run))
        cleaned = clean_runs(project, store, runs, dry=dry_run, branches=branches)
    if as_json:
        print_json(Collected(dry_run=dry_run, tidied=tidied, forgotten=cleaned))
    else:
        for line in describe_collected(tidied, cleaned, dry=dry_run):
            typer.echo(line)


# Choose the runs to forget, and report the space that `treadle gc` has freed.

_AGE: Final = re.compile(r"(\d{1,6})([smhdw]?)")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400, "": 1}


class Collected(msgspec.Struct, frozen=True, kw_only=True):
    """The things that were, or with `--dry-run` would be, removed: `treadle gc --json`."""

    schema: Literal[1] = 1
    dry_run: bool
    tidied: TidyReport | None
    """The leftovers removed without forgetting a run; null with `--run`."""
    forgotten: RemovedRuns
    """The runs that were to be forgotten, and payloads that no run needs."""


def choose_runs_to_forget(store: Store, word: str | None, older_than: str | None) -> list[Run]:
    """Return the runs to forget; refuse a named run that has not ended, or that an unfinished run replays."""
    if word is None and older_than is None:
        return []
    replayed = _replayed(store)
    if word is None:
        assert older_than is not None
        before = time.time() - _age(older_than)
        old = [run for run in store.runs() if run.outcome and run.changed / 1000 <= before]
        for run in old:
            if run.id in replayed:
                complain(f"run {run.id} is kept, because {replayed[run.id]} has not ended and replays it")
        return [run for run in old if run.id not in replayed]
    run = store.run(word)  # by its whole name: a beginning may fit another run than the one that was meant
    if not run.outcome:
        raise TreadleError(f"run {run.id} has not ended; `treadle abort {run.id}` ends it", code="run.open")
    if other := replayed.get(run.id):
        raise TreadleError(
            f"{other} has not ended and replays run {run.id}; `treadle abort {other}` ends it", code="run.open"
        )
    return [run]


def _replayed(store: Store) -> dict[str, str]:
    """Map each replayed run to the unfinished run that replays its agents."""
    found: dict[str, str] = {}
    for run in store.runs():
        if not run.outcome:
            with suppress(PortError, ValueError):  # a run of another version goes on with that one
                agents = [parse_agent(agent) for agent in settings_of(run).agents.values()]
                found |= {agent.argument: run.id for agent in agents if agent.kind == "replay"}
    return found


def _age(text: str) -> int:
    found = _AGE.fullmatch(text)
    if found is None:
        raise TreadleError(
            f"--older-than {text[:40]!r} is not an age; give a number and s, m, h, d or w: 30d", code="usage.value"
        )
    return int(found[1]) * _SECONDS[found[2]]


_ACCEPTED: Final = "/root/int"
"""How the ref with the accepted work of a run ends; it is no branch."""
_SHOWN: Final = 3


def describe_collected(tidied: TidyReport | None, cleaned: RemovedRuns, *, dry: bool) -> Iterator[str]:
    """Describe the removed and kept things in a few lines."""
    lines = [*(_tidied(tidied) if tidied else ()), *_forgotten(cleaned)]
    freed = (tidied.bytes if tidied else 0) + cleaned.files + (cleaned.freed.bytes if dry else max(cleaned.shrunk, 0))
    if lines or freed:
        yield f"{'would free' if dry else 'freed'} {format_size(freed)}"
        yield from lines
    else:
        yield "nothing to remove"
    undelivered = tidied.undelivered if tidied else ()
    accepted = [ref for ref in undelivered if ref.endswith(_ACCEPTED)]
    for branch in [one for one in undelivered if one not in accepted]:
        yield f"kept: the branch {branch}, whose result no other branch has"
    if accepted:
        named = ", ".join(accepted[:_SHOWN]) + (f" and {len(accepted) - _SHOWN} more" if accepted[_SHOWN:] else "")
        what = f"the accepted work of {count_words(len(accepted), 'run')} without a result"
        yield f"kept: {what}, at {named}; `treadle gc --run RUN --branches` forgets a run, and that work with it"
    for branch in cleaned.forgotten.kept:
        yield f"kept: the branch {branch} (--branches removes it too), so the run's name stays taken"
    for problem in dict.fromkeys(one for one in (tidied.problem if tidied else "", cleaned.forgotten.problem) if one):
        yield f"branches and refs stay unchanged: {problem}"
    if cleaned.freed.is_busy or (tidied and tidied.is_busy):
        yield "a process drives a run, so checkouts, leftovers and payloads stay; run `treadle gc` again afterwards"


def _tidied(tidied: TidyReport) -> Iterator[str]:
    if tidied.moved:
        yield f"  {count_words(tidied.moved, 'branch', 'branches')} of an older version, now below refs/treadle/"
    if tidied.refs:
        yield f"  {count_words(tidied.refs, 'ref')} of ended runs, packed into one for each run"
    if tidied.branches:
        yield f"  {count_words(len(tidied.branches), 'result branch', 'result branches')} that your own branch has"
    if tidied.lanes:
        yield f"  {count_words(tidied.lanes, 'lane')} of ended runs; their uncommitted work is saved"
    for what, heap in (
        ("spare checkout", tidied.worktrees),
        ("conversation home", tidied.conversations),
        ("old measurement", tidied.cache),
        ("leftover", tidied.leftovers),
    ):
        if heap.count:
            yield f"  {count_words(heap.count, what)} ({format_size(heap.bytes)})"
    if tidied.containers:
        yield f"  {count_words(tidied.containers, 'container')}"


def _forgotten(cleaned: RemovedRuns) -> Iterator[str]:
    freed = cleaned.freed
    if freed.runs:
        yield f"  runs: {', '.join(freed.runs)}"
        yield f"  {count_words(freed.events, 'event')}; {format_size(cleaned.files)} of files"
        yield f"  {count_words(cleaned.forgotten.refs, 'branch or ref', 'branches and refs')}"
    if freed.payloads:
        yield f"  {count_words(freed.payloads, 'payload')} ({format_size(freed.bytes)} in the store)"
    if cleaned.containers:
        yield f"  {count_words(cleaned.containers, 'container')}"


def format_size(count: int) -> str:
    """Format a number of bytes with a suitable unit."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count} {unit}"
        count //= 1000
    return f"{count} GB"
