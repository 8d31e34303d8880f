"""Which runs may be forgotten, and what `treadle gc` has freed."""

import re
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Final, Literal

import msgspec

from treadle.cli.guard import complain
from treadle.cli.picking import pick
from treadle.config.agents import parse_agent
from treadle.engines.cleaning import Cleaned
from treadle.engines.pinned import pinned
from treadle.engines.tidying import Tidied
from treadle.errors import PortError, TreadleError
from treadle.store.records import Run
from treadle.store.sqlite import Store
from treadle.views.counting import counted

_AGE: Final = re.compile(r"(\d{1,6})([smhdw]?)")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400, "": 1}


class Collected(msgspec.Struct, frozen=True, kw_only=True):
    """What was, or would be, removed: `treadle gc --json`."""

    schema: Literal[1] = 1
    dry_run: bool
    tidied: Tidied | None
    """What goes while every run stays; null with `--run`."""
    forgotten: Cleaned
    """The runs that were to be forgotten, and payloads that no run needs."""


def meant(store: Store, word: str | None, older_than: str | None) -> list[Run]:
    """The runs that a person wants to forget; one that was named must have ended, and nobody may replay it."""
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
    run = store.run(pick(word, [run.id for run in store.runs()], "run"))
    if not run.outcome:
        raise TreadleError(f"run {run.id} has not ended; `treadle abort {run.id}` ends it", code="run.open")
    if other := replayed.get(run.id):
        raise TreadleError(
            f"{other} has not ended and replays run {run.id}; `treadle abort {other}` ends it", code="run.open"
        )
    return [run]


def _replayed(store: Store) -> dict[str, str]:
    """The runs whose agents an unfinished run plays again, and which run that is."""
    found: dict[str, str] = {}
    for run in store.runs():
        if not run.outcome:
            with suppress(PortError, ValueError):  # a run of another version goes on with that one
                agents = [parse_agent(agent) for agent in pinned(run).agents.values()]
                found |= {agent.argument: run.id for agent in agents if agent.kind == "replay"}
    return found


def _age(text: str) -> int:
    found = _AGE.fullmatch(text)
    if found is None:
        raise TreadleError(
            f"--older-than {text[:40]!r} is no age; give a number and s, m, h, d or w: 30d", code="usage.value"
        )
    return int(found[1]) * _SECONDS[found[2]]


def said(tidied: Tidied | None, cleaned: Cleaned, *, dry: bool) -> Iterator[str]:
    """What was done, in a few lines."""
    lines = [*(_tidied(tidied) if tidied else ()), *_forgotten(cleaned)]
    freed = (tidied.bytes if tidied else 0) + cleaned.files + (cleaned.freed.bytes if dry else max(cleaned.shrunk, 0))
    if lines or freed:
        yield f"{'would free' if dry else 'freed'} {size(freed)}"
        yield from lines
    else:
        yield "nothing to remove"
    for branch in tidied.undelivered if tidied else ():
        yield f"kept: the branch {branch}, whose result no other branch has"
    for branch in cleaned.forgotten.kept:
        yield f"kept: the branch {branch} (--branches removes it too), so the run's name stays taken"
    for problem in dict.fromkeys(one for one in (tidied.problem if tidied else "", cleaned.forgotten.problem) if one):
        yield f"branches and refs are left as they are: {problem}"
    if cleaned.freed.is_busy or (tidied and tidied.is_busy):
        yield "a run is being driven, so worktrees, leftovers and payloads stay; `treadle gc` again when none is"


def _tidied(tidied: Tidied) -> Iterator[str]:
    if tidied.moved:
        yield f"  {counted(tidied.moved, 'branch', 'branches')} of an older version, now below refs/treadle/"
    if tidied.refs:
        yield f"  {counted(tidied.refs, 'ref')} of ended runs, packed into one for each run"
    if tidied.branches:
        yield f"  {counted(len(tidied.branches), 'result branch', 'result branches')} that your own branch has"
    if tidied.lanes:
        yield f"  {counted(tidied.lanes, 'lane')} of ended runs; what was in them is saved"
    for what, heap in (
        ("spare worktree", tidied.worktrees),
        ("conversation home", tidied.conversations),
        ("old measurement", tidied.cache),
        ("leftover", tidied.leftovers),
    ):
        if heap.count:
            yield f"  {counted(heap.count, what)} ({size(heap.bytes)})"
    if tidied.containers:
        yield f"  {counted(tidied.containers, 'container')}"


def _forgotten(cleaned: Cleaned) -> Iterator[str]:
    freed = cleaned.freed
    if freed.runs:
        yield f"  runs: {', '.join(freed.runs)}"
        yield f"  {counted(freed.events, 'event')}; {size(cleaned.files)} of files"
        yield f"  {counted(cleaned.forgotten.refs, 'branch or ref', 'branches and refs')}"
    if freed.payloads:
        yield f"  {counted(freed.payloads, 'payload')} ({size(freed.bytes)} in the store)"
    if cleaned.containers:
        yield f"  {counted(cleaned.containers, 'container')}"


def size(count: int) -> str:
    """A number of bytes, in the unit that suits it."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count} {unit}"
        count //= 1000
    return f"{count} GB"
