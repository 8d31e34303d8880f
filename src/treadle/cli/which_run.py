"""Which run a command is about that changes one, if its name is not among the words: the only one that it can be.

What only shows runs takes the latest (`find_run`); what changes one never chooses among several.
"""

import asyncio
import shlex
from collections.abc import Callable, Sequence

from treadle.cli.picking import some
from treadle.cli.reading import find_run
from treadle.config.project import Project, open_project
from treadle.engines.opening import opened_store
from treadle.engines.result import result_of
from treadle.errors import TreadleError
from treadle.protocol.findings import suggest
from treadle.store.records import Run
from treadle.store.sqlite import Store
from treadle.views.result import is_good

Fits = Callable[[Run], bool]


def to_move(*words: str | None, beside: int = 0) -> tuple[str, list[str]]:
    """The run that goes on and that is meant, and the other words, of which there may be some beside its name."""
    return _meant(_said(words), beside, lambda run: not run.outcome, "every run has ended")


def to_deliver(word: str | None) -> str:
    """The run whose result is meant: the only one that has something which the user's branch has not."""
    project = open_project()
    if word is None:
        with opened_store(project) as store:
            good = [run for run in store.runs() if is_good(run.outcome)]
        left = [run.id for run in good if _is_left(project, run)]
        if len(left) == 1:
            return left[0]
        if left:
            raise TreadleError(f"say which run: {some(left)}", code="run.ambiguous")
        if len(good) > 1:
            raise TreadleError(
                f"nothing is left to deliver of {some([run.id for run in good])}", code="deliver.nothing"
            )
    return _meant(_said((word,)), 0, lambda run: is_good(run.outcome), "no run has come to a good end")[0]


def _is_left(project: Project, run: Run) -> bool:
    found = asyncio.run(result_of(project, run))
    return found is not None and not found.taken


def to_show(store: Store, first: str | None, second: str | None) -> tuple[str, str]:
    """The run, as it is called, and what of it is to be shown; without its name there must be no other run."""
    names = [run.id for run in store.runs()]
    if first is None or (second is None and first in names):
        log = f"treadle log {shlex.quote(first)}" if first else "treadle log"
        raise TreadleError(f"say what to show: an activity or a question; `{log}` names them", code="usage.missing")
    if second is not None:
        return first, second
    if len(names) > 1:
        raise TreadleError(f"say which run '{first[:80]}' is of: {some(names)}", code="run.ambiguous")
    return find_run(store, None).id, first


def _said(words: Sequence[str | None]) -> list[str]:
    return [word for word in words if word is not None]


def _meant(words: list[str], beside: int, fits: Fits, none: str) -> tuple[str, list[str]]:
    with opened_store(open_project()) as store:
        runs = store.runs()
        if words and (len(words) > beside or _is_named(words[0], runs)):
            return store.run(words[0]).id, words[1:]
        return _only(store, words, [run.id for run in runs if fits(run)], none), words


def _is_named(word: str, runs: Sequence[Run]) -> bool:
    """Whether a word is a run's name, or is meant to be one."""
    names = [run.id for run in runs]
    return word in names or bool(suggest(word, names))


def _only(store: Store, words: list[str], found: list[str], none: str) -> str:
    if len(found) == 1:
        return found[0]
    if words:
        return store.run(words[0]).id  # there is none of that name, and that says which there are
    if found:
        raise TreadleError(f"say which run: {some(found)}", code="run.ambiguous")
    raise TreadleError(f"{none}; `treadle runs` lists those there are", code="run.none")
