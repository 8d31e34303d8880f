"""Which runs may be forgotten, and what that has freed."""

import re
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from treadle.cli.guard import complain
from treadle.cli.picking import pick
from treadle.config.agents import parse_agent
from treadle.engines.cleaning import Cleaned
from treadle.engines.forgetting import Forgotten
from treadle.engines.pinned import pinned
from treadle.errors import PortError, TreadleError
from treadle.store.records import Run
from treadle.store.sqlite import Store
from treadle.views.counting import counted

_AGE: Final = re.compile(r"(\d{1,6})([smhdw]?)")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400, "": 1}


def meant(store: Store, word: str | None, older_than: str) -> list[Run]:
    """The runs that a person wants to forget; one that was named must have ended, and nobody may replay it."""
    replayed = _replayed(store)
    if word is None:
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


def said(cleaned: Cleaned, *, dry: bool) -> Iterator[str]:
    """What was done, in a few lines."""
    freed = cleaned.freed
    if not freed.runs:
        yield "there is nothing to remove; unfinished runs are never touched"
    else:
        verb = "would be removed" if dry else "removed"
        yield f"{verb}: {', '.join(freed.runs)}"
        payloads = counted(freed.payloads, "payload")
        yield f"  {counted(freed.events, 'event')}, {payloads} ({size(freed.bytes)} in the store)"
        yield f"  {size(cleaned.files)} of files"
        if cleaned.containers:
            yield f"  {cleaned.containers} containers"
        yield from _in_repository(cleaned.forgotten)
    if freed.is_busy:
        yield "  payloads are kept while a run is driven; `treadle gc` again when none is"
    if not dry:
        yield f"  the store is {size(abs(cleaned.shrunk))} {'smaller' if cleaned.shrunk >= 0 else 'larger'}"


def _in_repository(forgotten: Forgotten) -> Iterator[str]:
    if forgotten.problem:
        yield f"  branches and refs are left: {forgotten.problem}"
        return
    spare = counted(forgotten.worktrees, "spare worktree")
    yield f"  {counted(forgotten.refs, 'branch or ref', 'branches and refs')}" + (
        f", {spare}" if forgotten.worktrees else ""
    )
    for branch in forgotten.kept:
        yield f"  kept: the branch {branch} (--branches removes it too), so the run's name stays taken"


def size(count: int) -> str:
    """A number of bytes, in the unit that suits it."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count} {unit}"
        count //= 1000
    return f"{count} GB"
