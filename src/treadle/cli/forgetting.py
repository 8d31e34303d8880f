"""Which runs may be forgotten, and what that has freed."""

import re
import time
from collections.abc import Iterator
from typing import Final

from treadle.cli.picking import pick
from treadle.engines.cleaning import Cleaned
from treadle.engines.forgetting import Forgotten
from treadle.errors import TreadleError
from treadle.store.records import Run
from treadle.store.sqlite import Store

_AGE: Final = re.compile(r"(\d{1,6})([smhdw]?)")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400, "": 1}


def meant(store: Store, word: str | None, older_than: str) -> list[Run]:
    """The runs that a person wants to forget; one that was named must have ended."""
    if word is None:
        before = time.time() - _age(older_than)
        return [run for run in store.runs() if run.outcome and run.changed / 1000 <= before]
    run = store.run(pick(word, [run.id for run in store.runs()], "run"))
    if not run.outcome:
        raise TreadleError(f"run {run.id} has not ended; `treadle abort {run.id}` ends it")
    return [run]


def _age(text: str) -> int:
    found = _AGE.fullmatch(text)
    if found is None:
        raise TreadleError(f"--older-than {text[:40]!r} is no age; give a number and s, m, h, d or w: 30d")
    return int(found[1]) * _SECONDS[found[2]]


def said(cleaned: Cleaned, *, dry: bool) -> Iterator[str]:
    """What was done, in a few lines."""
    freed = cleaned.freed
    if not freed.runs:
        yield "there is nothing to remove; unfinished runs are never touched"
    else:
        verb = "would be removed" if dry else "removed"
        yield f"{verb}: {', '.join(freed.runs)}"
        yield f"  {freed.events} events, {freed.payloads} payloads ({size(freed.bytes)} in the store)"
        yield f"  {size(cleaned.files)} of files"
        yield from _in_repository(cleaned.forgotten)
    if freed.is_busy:
        yield "  payloads are kept while a run is driven; `treadle gc` again when none is"
    if not dry:
        yield f"  the store is {size(abs(cleaned.shrunk))} {'smaller' if cleaned.shrunk >= 0 else 'larger'}"


def _in_repository(forgotten: Forgotten) -> Iterator[str]:
    if forgotten.problem:
        yield f"  branches and refs are left: {forgotten.problem}"
        return
    yield f"  {forgotten.refs} branches and refs" + (
        f", {forgotten.worktrees} spare worktrees" if forgotten.worktrees else ""
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
