"""Brings what older versions left in a repository to the names of today, for every run that no other process drives."""

from collections.abc import Iterator
from contextlib import suppress

from treadle.engines.pinned import pinned
from treadle.errors import PortError, TreadleError
from treadle.git.names import Names, slug
from treadle.git.older_refs import move_older_refs
from treadle.git.refs import Refs
from treadle.git.repository import Repository
from treadle.store.owner import is_alive, me, parse
from treadle.store.records import Run
from treadle.store.sqlite import Store


async def move_older_branches(repository: Repository, refs: Refs, store: Store, *, dry: bool = False) -> list[str]:
    """Move branches of the runs in a store below `refs/treadle/`; their old names. Branches that no run owns stay."""
    there, moved = await refs.below("refs/heads/"), list[str]()
    for run in store.runs():
        for names in () if is_driven(run) else _names(run):
            if any(names.moved(ref) for ref in there):
                with suppress(PortError):  # the next start tries again; until then runs find them where they are
                    moved += await move_older_refs(repository, refs, names, _lanes(store, run), dry=dry)
    return moved


def is_driven(run: Run) -> bool:
    """Whether another process drives a run; one of an older version needs its refs where they are."""
    owner = parse(run.owner)
    return owner is not None and owner != me() and is_alive(owner) is not False


def _names(run: Run) -> Iterator[Names]:
    try:
        yield Names(run.id, pinned(run).config.git.branch_prefix)
    except PortError:  # started by another version, which will go on with it
        return


def _lanes(store: Store, run: Run) -> frozenset[str]:
    """The slugs of the lanes that the protocol of a run has."""
    try:
        protocol = store.protocol(run.protocol)
    except TreadleError:
        return frozenset({"main"})
    steps = (step for graph in protocol.graphs.values() for step in graph.steps.values())
    return frozenset("int,lane" if slug(step.lane) == "int" else slug(step.lane) for step in steps)
