"""Find the run that a command is about, and read it without a lease while others drive it."""

import asyncio
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from treadle.config.project import Project, open_project
from treadle.engines.delivery import has_good_end
from treadle.engines.result import result_of
from treadle.engines.status import RunFollower, follow_run
from treadle.errors import TreadleError
from treadle.protocol.findings import suggest
from treadle.store.records import Run, default_run
from treadle.store.sqlite import Store, opened_store
from treadle.views.outcomes import is_good

# Resolve a word to a name: the whole name, or a part that only one name contains.


def pick(word: str, known: Iterable[str], what: str) -> str:
    """Return the one known name that a word stands for; raise an error that lists the candidates."""
    names, is_run = list(dict.fromkeys(known)), what == "run"
    if word in names:
        return word
    starts = [name for name in names if name.startswith(word)]
    found = starts or [name for name in names if word in name]
    if len(found) == 1 and word:
        return found[0]
    if word and found:
        code = "run.ambiguous" if is_run else "usage.ambiguous"
        raise TreadleError(f"'{word[:80]}' matches several: {list_some(found)}; type more of the name", code=code)
    hint = suggest(word, names) or (f"choose from {list_some(names)}" if names else "there are none yet")
    code = "run.unknown" if is_run else "usage.unknown"
    raise TreadleError(f"there is no {what} '{word[:80]}'; {hint}", code=code)


def list_some(names: list[str]) -> str:
    """List the first five names, and count the rest."""
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


NO_RUNS: Final = "no runs yet; `treadle run SPEC` starts one"


@contextmanager
def open_for_reading(project: Project | None = None) -> Iterator[Store]:
    """Open the project's store, for reading only."""
    project = project or open_project()
    if not project.store.exists():
        # Imported here: only a project without runs has to wait for it.
        from treadle.cli.unfinished_stories import describe_stories_before_any_run

        raise TreadleError("; ".join([NO_RUNS, *describe_stories_before_any_run()]), code="run.none")
    store = Store(project.store, reading=True)
    try:
        yield store
    finally:
        store.close()


def find_run(store: Store, word: str | None, *, going: bool = False) -> Run:
    """Return the named run, else the latest one; with `going`, the latest unfinished one if there is one."""
    runs = store.runs()
    first = default_run(runs) if going else next(iter(runs), None)
    if first is None:
        raise TreadleError(NO_RUNS, code="run.none")
    return first if word is None else store.run(pick(word, [run.id for run in runs], "run"))


def read_run(store: Store, word: str | None) -> RunFollower:
    """Read a run with its whole history."""
    return follow_run(store, find_run(store, word).id)


# Find the run for a command that changes one: if no word names it, it must be the only candidate.
#
# Commands that only show runs take the latest (`find_run`); a command that changes one never chooses among several.


def find_run_to_move(*words: str | None, beside: int = 0) -> tuple[str, list[str]]:
    """Return the unfinished run that the words name or imply, and the other words.

    `beside` is the number of words that may follow the name.
    """
    return _find_run_among_words(words, beside, lambda run: not run.outcome, "every run has ended")


def find_run_to_deliver(word: str | None) -> str:
    """Return the run to deliver: the named one, else the only one with a result that the user's branch lacks."""
    project = open_project()
    if word is None:
        with opened_store(project) as store:
            good = [run for run in store.runs() if has_good_end(store, run)]
        results = {run.id: asyncio.run(result_of(project, run)) for run in good}
        left = [run for run, result in results.items() if result is not None and not result.taken]
        if len(left) == 1:
            return left[0]
        if left:
            raise TreadleError(f"several runs fit; name one: {list_some(left)}", code="run.ambiguous")
        if len(good) > 1:
            raise TreadleError(
                f"no result is left to deliver: your branch has those of {list_some([run.id for run in good])}",
                code="deliver.nothing",
            )
    return _find_run_among_words([word], 0, lambda run: is_good(run.outcome), "no run has ended well")[0]


def find_run_to_show(store: Store, first: str | None, second: str | None) -> tuple[str, str]:
    """Return the run as named, and the id to show; the name may be left out only if there is one run."""
    names = [run.id for run in store.runs()]
    if first is None or (second is None and first in names):
        log = f"treadle log {shlex.quote(first)}" if first else "treadle log"
        raise TreadleError(f"name an activity or a question; `{log}` lists them", code="usage.missing")
    if second is not None:
        return first, second
    if len(names) > 1:
        raise TreadleError(f"name the run of '{first[:80]}': {list_some(names)}", code="run.ambiguous")
    return find_run(store, None).id, first


def _find_run_among_words(
    given: Sequence[str | None], beside: int, fits: Callable[[Run], bool], none: str
) -> tuple[str, list[str]]:
    words = [word for word in given if word is not None]
    with opened_store(open_project()) as store:
        runs = store.runs()
        names, fitting = [run.id for run in runs], [run.id for run in runs if fits(run)]
        # The first word is a run's name, or is meant to be one.
        if words and (len(words) > beside or words[0] in names or suggest(words[0], names)):
            return store.run(words[0]).id, words[1:]
        if len(fitting) == 1:
            return fitting[0], words
        if words:
            return store.run(words[0]).id, words  # there is none of that name, and the error lists those there are
    if fitting:
        raise TreadleError(f"several runs fit; name one: {list_some(fitting)}", code="run.ambiguous")
    raise TreadleError(f"{none}; `treadle runs` lists all runs", code="run.none")
