"""Files a document away that has become part of another one: a rename on the instance's own branch."""

import re
from pathlib import PurePosixPath
from typing import Final

import msgspec

from treadle.errors import PortError
from treadle.git.integration import Integration
from treadle.git.repository import Repository
from treadle.git.trees import LINK, Entry, Trees
from treadle.kernel.state import State

DATE: Final = "{date}"
_AGAIN: Final = 100


class Filed(msgspec.Struct, frozen=True):
    """Where the document lies now, and the commit that has it there."""

    path: str
    commit: str


class Archiving:
    """Moves documents into the archive. The instance's lanes follow when they are opened next."""

    def __init__(self, integration: Integration) -> None:
        self._integration = integration
        self._repository: Repository = integration.repository
        self._trees = Trees(self._repository)

    async def archive(self, state: State, inst: str, source: str, target: str, date: str, message: str) -> Filed:
        """Move `source` to `target`, in whose name `{date}` stands for the date; found there, it says so."""
        head = await self._integration.head(state, inst)
        if head.drift:
            raise PortError(
                f"{source} cannot be archived: {inst} has conflicts that are not resolved", code="git.conflict"
            )
        listing = {entry.path: entry for entry in await self._trees.entries(head.commit)}
        delta = listing.get(source)
        if delta is None or delta.mode == LINK:
            return Filed(_latest(listing, source, target), head.commit)
        path = _free(listing, delta, target.replace(DATE, date))
        tree = await self._trees.changed(head.commit, {source: None, path: Entry(delta.mode, delta.id, path)})
        at = await self._repository.time(head.commit)
        commit = await self._repository.commit(tree, (head.commit,), message, at)
        await self._integration.move(state.run, inst, commit, head.base, head.commit)
        return Filed(path, commit)


def _latest(listing: dict[str, Entry], source: str, target: str) -> str:
    """The document that was archived before, by the end of its name if there are several."""
    stem, suffix = re.escape(str(PurePosixPath(target).with_suffix(""))), re.escape(PurePosixPath(target).suffix)
    name = re.compile(stem.replace(re.escape(DATE), r"\d{4}-\d\d-\d\d") + r"(-\d+)?" + suffix)
    found = sorted((path for path in listing if name.fullmatch(path)), key=lambda path: (len(path), path))
    if not found:
        raise PortError(f"there is no {source} to archive, and none in the archive ({target})", code="git.no_object")
    return found[-1]


def _free(listing: dict[str, Entry], delta: Entry, path: str) -> str:
    """A name that nothing else has: a document of the same day may lie there already."""
    place = PurePosixPath(path)
    names = [path, *(str(place.with_stem(f"{place.stem}-{n}")) for n in range(2, _AGAIN))]
    return next(name for name in names if name not in listing or listing[name].id == delta.id)
