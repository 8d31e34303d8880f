"""What commits hold and how they differ, read from the objects alone."""

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from operator import attrgetter
from typing import Final, Literal
from weakref import WeakKeyDictionary

import msgspec

from treadle.git.comparisons import compared
from treadle.git.globs import naming
from treadle.git.graft import grafted
from treadle.git.repository import Repository

DIFF: Final = 2_000_000
"""Bytes of a diff that are kept as text."""
LINK: Final = "120000"
SUBMODULE: Final = "160000"

Kind = Literal["added", "modified", "deleted", "renamed", "type"]
_KINDS: Final[dict[str, Kind]] = {"A": "added", "M": "modified", "D": "deleted", "R": "renamed", "T": "type"}


class Entry(msgspec.Struct, frozen=True):
    """A file, link or submodule in a tree."""

    mode: str
    id: str
    path: str


class Listing(msgspec.Struct, frozen=True, dict=True):
    """Everything in a tree."""

    entries: tuple[Entry, ...]

    @cached_property
    def by_path(self) -> dict[str, Entry]:
        return {entry.path: entry for entry in self.entries}

    @cached_property
    def files(self) -> frozenset[str]:
        return frozenset(entry.path for entry in self.entries if entry.mode != SUBMODULE)

    @cached_property
    def submodules(self) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.entries if entry.mode == SUBMODULE)

    @cached_property
    def folders(self) -> frozenset[str]:
        """Every folder that something lies in."""
        found: set[str] = set()
        for entry in self.entries:
            folder = entry.path.rpartition("/")[0]
            while folder and folder not in found:
                found.add(folder)
                folder = folder.rpartition("/")[0]
        return frozenset(found)


_REMEMBERED: Final = 60_000
"""Entries of trees whose listings are kept, which take tens of megabytes."""
_AT_LEAST: Final = 6
"""Listings that are kept in any case."""
_FIELDS: Final = "--format=%(objectmode)%x00%(objectname)%x00%(path)"
"""Of each entry; what ends them parts them as well."""
_AT_ONCE: Final = 500
"""Files that are read together."""
_PATH: Final = attrgetter("path")
_CHANGES: Final = ("-r", "-z", "--raw", "-M", "--full-index")
_DIFF: Final = ("-r", "-p", "-M", "--no-color", "--no-ext-diff", "--no-textconv", "--full-index")
_listings: WeakKeyDictionary[Repository, dict[str, Listing]] = WeakKeyDictionary()


class Change(msgspec.Struct, frozen=True):
    """A path that differs between two trees; `old` is its former path if it was renamed."""

    path: str
    kind: Kind
    mode: str
    old_mode: str
    old: str = ""

    @property
    def touched(self) -> tuple[str, ...]:
        """Every path that a scope has to allow: both ends of a renaming."""
        return (self.path, self.old) if self.old else (self.path,)


class Trees:
    """Reads trees."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._known = _listings.setdefault(repository, {})

    async def entries(self, commit: str) -> tuple[Entry, ...]:
        """Everything in a tree, submodules as such."""
        return (await self.listing(commit)).entries

    async def listing(self, commit: str) -> Listing:
        """Everything in a tree; asked once for each of the latest trees."""
        tree = await self._repository.tree(commit)
        found = self._known.pop(tree, None) or Listing(await self._listed(tree))
        self._known[tree] = found
        kept = sum(len(one.entries) for one in self._known.values())
        for old in [*self._known][:-_AT_LEAST]:
            if kept <= _REMEMBERED:
                break
            kept -= len(self._known.pop(old).entries)
        return found

    async def _listed(self, tree: str) -> tuple[Entry, ...]:
        """Most trees differ in a few files only from one that was listed before."""
        if latest := next(reversed(self._known), ""):
            options = ("-r", "-z", "--raw", "--no-renames", "--no-abbrev")
            said = await self._repository.git("diff-tree", *options, latest, tree, ok=(0, 128))
            if said.code == 0 and latest in self._known:
                return _altered(self._known[latest], os.fsdecode(said.out).split("\0")[:-1])
        said = await self._repository.git("ls-tree", "-r", "-z", "--full-tree", _FIELDS, tree)
        words = os.fsdecode(said.out).split("\0")[:-1]
        return tuple(map(Entry, words[0::3], words[1::3], words[2::3]))

    async def shows(self, commit: str, paths: Sequence[str]) -> dict[str, bytes | None]:
        """Many files' contents; None for what is no file there.

        By their ids, for to find a file in a commit by its path git reads all the folders above it, each time.
        """
        entries = (await self.listing(commit)).by_path
        known = [path for path in paths if path in entries and entries[path].mode != SUBMODULE]
        found: dict[str, bytes] = {}
        for start in range(0, len(known), _AT_ONCE):
            some = known[start : start + _AT_ONCE]
            found |= zip(some, await self._repository.blobs([entries[path].id for path in some]), strict=True)
        return {path: found.get(path) for path in paths}

    async def holding(self, commit: str, word: str, ending: str) -> list[str]:
        """The files of a commit whose names end so and which hold a word; git looks, and none of them is read here."""
        words = ("grep", "-l", "-z", "-a", "-F", "--no-textconv", "--full-name", "-e", word)
        tree = await self._repository.tree(commit)
        said = await self._repository.git(*words, tree, "--", f":(top,glob)**/*{ending}", ok=(0, 1))
        return [one.removeprefix(f"{tree}:") for one in os.fsdecode(said.out).split("\0") if one]

    async def changed(self, commit: str, files: Mapping[str, Entry | None]) -> str:
        """The tree of a commit with some files replaced or (None) removed."""
        tree, known = await self._repository.tree(commit), (await self.listing(commit)).by_path
        others = {path: entry for path, entry in files.items() if known.get(path) != entry}
        wanted = {path: (entry.mode, entry.id) if entry else None for path, entry in others.items()}
        return await grafted(self._repository, tree, wanted) if wanted else tree

    async def changes(self, base: str, commit: str) -> list[Change]:
        """The paths that differ, renames found."""
        words = iter(os.fsdecode(await compared(self._repository, _CHANGES, base, commit)).split("\0"))
        found: list[Change] = []
        for head in words:
            if head:
                old_mode, mode, _, _, letter = head.removeprefix(":").split(" ")
                first = next(words)
                path, old = (next(words), first) if letter[0] in "RC" else (first, "")
                found.append(Change(path, _KINDS.get(letter[0], "modified"), mode, old_mode, old))
        return found

    async def diff(self, base: str, commit: str, most: int = DIFF) -> str:
        """The difference as text, cut where it gets too long."""
        out = await compared(self._repository, _DIFF, base, commit)
        text = out[:most].decode(errors="replace")
        return text if len(out) <= most else f"{text}\n… cut: the diff has {len(out)} bytes\n"

    async def digest(self, commit: str, globs: Iterable[str]) -> str:
        """A hash of the files that globs name: equal if and only if paths, modes and contents are."""
        is_named = naming(globs)
        chosen = [entry for entry in await self.entries(commit) if is_named(entry.path)]
        lines = [f"{entry.mode} {entry.id} {entry.path}\0" for entry in sorted(chosen, key=lambda one: one.path)]
        return sha256(os.fsencode("".join(lines))).hexdigest()


def _altered(listing: Listing, raw: list[str]) -> tuple[Entry, ...]:
    """A listing with the differences between its tree and another one applied."""
    entries = dict(listing.by_path)
    for head, path in zip(raw[0::2], raw[1::2], strict=True):
        _, mode, _, id_, letter = head.split(" ")
        if letter == "D":
            del entries[path]
        else:
            entries[path] = Entry(mode, id_, path)
    return tuple(sorted(entries.values(), key=_PATH))
