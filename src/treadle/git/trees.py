"""Trees: contents and differences of commits, and new trees, all from the objects alone.

Diffs are cached, because many checks ask about the same two trees. A graft replaces some files of a tree without
reading the rest. A three-way merge needs no working tree and takes milliseconds at any size.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Final, Literal
from weakref import WeakKeyDictionary

import msgspec

from treadle.errors import PortError
from treadle.git.files import is_reserved, temporary_folder
from treadle.git.globs import naming
from treadle.git.process import shorten
from treadle.git.repository import Repository

# Cached diffs between trees: many checks ask about the same two, one after the other.

_MOST: Final = 200
_LARGEST: Final = 4_000_000
"""The size limit of the cache in bytes; the latest answer always stays."""
_diffs: WeakKeyDictionary[Repository, dict[tuple[str, ...], bytes]] = WeakKeyDictionary()


async def diff_trees(repository: Repository, options: tuple[str, ...], base: str, commit: str) -> bytes:
    """Return the output of `git diff-tree` for two commits or trees, from a cache of the latest calls."""
    known = _diffs.setdefault(repository, {})
    question = (*options, await repository.tree(base), await repository.tree(commit))
    found = known.pop(question, None)
    if found is None:
        found = (await repository.git("diff-tree", *question)).out
    known[question] = found
    size = sum(map(len, known.values()))
    for old in [*known][:-1]:
        if size <= _LARGEST and len(known) <= _MOST:
            break
        size -= len(known.pop(old))
    return found


# A graft: a tree with some files replaced, built from their folders alone; the rest of it is not read.

GraftedFiles = Mapping[str, tuple[str, str] | None]
"""The mode and id of each file by path, None for a removed one."""

_FOLDER: Final = "40000"


async def graft(repository: Repository, tree: str, files: GraftedFiles) -> str:
    """Write a tree with some files replaced, and return its id; an empty `tree` starts from nothing."""
    for path in files:
        if any(part in ("", ".", "..") or is_reserved(part) or "\0" in part for part in path.split("/")):
            raise PortError(f"git refuses the path {shorten(path)!r}", code="git.no_object")
    written: list[bytes] = []

    def queue(entries: dict[str, tuple[str, str]]) -> str:
        """Compute a folder's id as git does, and queue its contents for writing."""
        named = {os.fsencode(name): entry for name, entry in entries.items()}
        # Git sorts a folder as if its name ended with a slash.
        order = sorted(named, key=lambda name: name + b"/" if named[name][0] == _FOLDER else name)
        data = b"".join(b"%b %b\0%b" % (named[one][0].encode(), one, bytes.fromhex(named[one][1])) for one in order)
        written.append(data)
        return hashlib.new(repository.form, b"tree %d\0%b" % (len(data), data)).hexdigest()

    async def graft_folder(folder: str, changes: GraftedFiles) -> str:
        """Return the id of a folder with files replaced; empty if nothing is left in it."""
        entries = dict(_parse_tree(await repository.raw_tree(folder), len(folder) // 2)) if folder else {}
        below: dict[str, dict[str, tuple[str, str] | None]] = {}
        for path, file in changes.items():
            name, inside, rest = path.partition("/")
            if inside:
                below.setdefault(name, {})[rest] = file
            elif file:
                entries[name] = file
            elif entries.get(name, ("", ""))[0] != _FOLDER:
                entries.pop(name, None)
        for name, inner in below.items():
            mode, id_ = entries.get(name, (_FOLDER, ""))
            grafted = await graft_folder(id_ if mode == _FOLDER else "", inner)
            if grafted:
                entries[name] = _FOLDER, grafted
            elif mode == _FOLDER:
                entries.pop(name, None)
        return queue(entries) if entries else ""

    made = await graft_folder(tree, files) or queue({})
    if made not in await repository.keep(written, "tree"):
        raise PortError(
            f"git gives the tree {made} another id; is it a repository of {repository.form}?", code="git.damaged"
        )
    return made


def _parse_tree(data: bytes, length: int) -> Iterator[tuple[str, tuple[str, str]]]:
    start = 0
    while start < len(data):
        end = data.index(b"\0", start)
        mode, _, name = data[start:end].partition(b" ")
        start = end + 1 + length
        yield os.fsdecode(name), (mode.decode(), data[end + 1 : start].hex())


DIFF: Final = 2_000_000
"""Bytes of a diff that are kept as text."""
LINK: Final = "120000"
SUBMODULE: Final = "160000"

Kind = Literal["added", "modified", "deleted", "renamed", "type"]
_KINDS: Final[dict[str, Kind]] = {"A": "added", "M": "modified", "D": "deleted", "R": "renamed", "T": "type"}


class TreeEntry(msgspec.Struct, frozen=True):
    """A file, link or submodule in a tree."""

    mode: str
    id: str
    path: str


class TreeListing(msgspec.Struct, frozen=True, dict=True):
    """Everything in a tree."""

    entries: tuple[TreeEntry, ...]

    @cached_property
    def by_path(self) -> dict[str, TreeEntry]:
        return {entry.path: entry for entry in self.entries}

    @cached_property
    def files(self) -> frozenset[str]:
        return frozenset(entry.path for entry in self.entries if entry.mode != SUBMODULE)

    @cached_property
    def submodules(self) -> tuple[TreeEntry, ...]:
        return tuple(entry for entry in self.entries if entry.mode == SUBMODULE)

    @cached_property
    def folders(self) -> frozenset[str]:
        """Every folder that contains an entry."""
        found: set[str] = set()
        for entry in self.entries:
            folder = entry.path.rpartition("/")[0]
            while folder and folder not in found:
                found.add(folder)
                folder = folder.rpartition("/")[0]
        return frozenset(found)


_REMEMBERED: Final = 60_000
"""The number of entries in all cached listings, which use tens of megabytes."""
_AT_LEAST: Final = 6
"""The number of listings that always stay in the cache."""
_FIELDS: Final = "--format=%(objectmode)%x00%(objectname)%x00%(path)"
"""The fields of each entry; NUL separates both fields and entries."""
_AT_ONCE: Final = 500
"""The number of files to read together."""
_CHANGES: Final = ("-r", "-z", "--raw", "-M", "--full-index")
_DIFF: Final = ("-r", "-p", "-M", "--no-color", "--no-ext-diff", "--no-textconv", "--full-index")
_listings: WeakKeyDictionary[Repository, dict[str, TreeListing]] = WeakKeyDictionary()


class PathChange(msgspec.Struct, frozen=True):
    """A path that differs between two trees; `old` is its former path if it was renamed."""

    path: str
    kind: Kind
    mode: str
    old: str = ""

    @property
    def touched(self) -> tuple[str, ...]:
        """Every path that a scope has to allow: both ends of a rename."""
        return (self.path, self.old) if self.old else (self.path,)


class Trees:
    """Reads trees."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._known = _listings.setdefault(repository, {})

    async def entries(self, commit: str) -> tuple[TreeEntry, ...]:
        """Return everything in a tree, submodules as such."""
        return (await self.listing(commit)).entries

    async def listing(self, commit: str) -> TreeListing:
        """Return everything in a tree, from a cache of the latest trees."""
        tree = await self._repository.tree(commit)
        found = self._known.pop(tree, None) or TreeListing(await self._list(tree))
        self._known[tree] = found
        kept = sum(len(one.entries) for one in self._known.values())
        for old in [*self._known][:-_AT_LEAST]:
            if kept <= _REMEMBERED:
                break
            kept -= len(self._known.pop(old).entries)
        return found

    async def _list(self, tree: str) -> tuple[TreeEntry, ...]:
        """List a tree by its diff to the latest listing: most trees differ in a few files only."""
        if latest := next(reversed(self._known), ""):
            options = ("-r", "-z", "--raw", "--no-renames", "--no-abbrev")
            answer = await self._repository.git("diff-tree", *options, latest, tree, ok=(0, 128))
            if answer.code == 0 and latest in self._known:  # another caller may have dropped it meanwhile
                entries = dict(self._known[latest].by_path)
                words = os.fsdecode(answer.out).split("\0")[:-1]
                for head, path in zip(words[0::2], words[1::2], strict=True):
                    _, mode, _, id_, letter = head.split(" ")
                    if letter == "D":
                        del entries[path]
                    else:
                        entries[path] = TreeEntry(mode, id_, path)
                return tuple(sorted(entries.values(), key=attrgetter("path")))
        answer = await self._repository.git("ls-tree", "-r", "-z", "--full-tree", _FIELDS, tree)
        words = os.fsdecode(answer.out).split("\0")[:-1]
        return tuple(map(TreeEntry, words[0::3], words[1::3], words[2::3]))

    async def shows(self, commit: str, paths: Sequence[str]) -> dict[str, bytes | None]:
        """Return the contents of many files; None for a path without a file.

        Read them by id, because for a path git reads all the folders above it, each time.
        """
        entries = (await self.listing(commit)).by_path
        known = [path for path in paths if path in entries and entries[path].mode != SUBMODULE]
        found: dict[str, bytes] = {}
        for start in range(0, len(known), _AT_ONCE):
            some = known[start : start + _AT_ONCE]
            found |= zip(some, await self._repository.blobs([entries[path].id for path in some]), strict=True)
        return {path: found.get(path) for path in paths}

    async def holding(self, commit: str, word: str, ending: str) -> list[str]:
        """Return the files of a commit with this name ending that contain a word, found by `git grep`."""
        words = ("grep", "-l", "-z", "-a", "-F", "--no-textconv", "--full-name", "-e", word)
        tree = await self._repository.tree(commit)
        answer = await self._repository.git(*words, tree, "--", f":(top,glob)**/*{ending}", ok=(0, 1))
        return [one.removeprefix(f"{tree}:") for one in os.fsdecode(answer.out).split("\0") if one]

    async def changed(self, commit: str, files: Mapping[str, TreeEntry | None]) -> str:
        """Return the tree of a commit with some files replaced or (None) removed."""
        tree, known = await self._repository.tree(commit), (await self.listing(commit)).by_path
        others = {path: entry for path, entry in files.items() if known.get(path) != entry}
        wanted = {path: (entry.mode, entry.id) if entry else None for path, entry in others.items()}
        return await graft(self._repository, tree, wanted) if wanted else tree

    async def changes(self, base: str, commit: str) -> list[PathChange]:
        """Return the paths that differ, with renames detected."""
        words = iter(os.fsdecode(await diff_trees(self._repository, _CHANGES, base, commit)).split("\0"))
        found: list[PathChange] = []
        for head in words:
            if head:
                _, mode, _, _, letter = head.removeprefix(":").split(" ")
                first = next(words)
                path, old = (next(words), first) if letter[0] in "RC" else (first, "")
                found.append(PathChange(path, _KINDS.get(letter[0], "modified"), mode, old))
        return found

    async def diff(self, base: str, commit: str, most: int = DIFF) -> str:
        """Return the diff as text, cut at `most` bytes."""
        out = await diff_trees(self._repository, _DIFF, base, commit)
        text = out[:most].decode(errors="replace")
        return text if len(out) <= most else f"{text}\n… cut: the diff has {len(out)} bytes\n"

    async def without(self, commit: str, globs: Iterable[str]) -> str:
        """Return the tree of a commit without the files that the globs match."""
        is_left_out = naming(globs)
        return await self._write([one for one in await self.entries(commit) if not is_left_out(one.path)])

    async def overlaid(self, commit: str, other: str, globs: Iterable[str]) -> str:
        """Return the tree of a commit, with the files that the globs match from another commit."""
        is_wanted = naming(globs)
        below = [entry for entry in await self.entries(commit) if not is_wanted(entry.path)]
        above = [entry for entry in await self.entries(other) if is_wanted(entry.path)]
        return await self._write([*below, *above])

    async def _write(self, entries: list[TreeEntry]) -> str:
        with temporary_folder("index") as folder:
            index = Path(folder, "index")
            await self.add_to_index(index, entries)
            return (await self._repository.git("write-tree", index=index)).text

    async def add_to_index(self, index: Path, entries: Sequence[TreeEntry]) -> None:
        """Put entries into an index by id; no file has to exist."""
        if entries:
            lines = "".join(f"{entry.mode} {entry.id}\t{entry.path}\0" for entry in entries)
            stdin = lines.encode(errors="surrogateescape")
            await self._repository.git("update-index", "-z", "--index-info", stdin=stdin, index=index)


# A three-way merge without a working tree; it takes milliseconds at any size of the repository.

_MOST_CONFLICT_TEXT: Final = 4000


class Conflict(msgspec.Struct, frozen=True):
    """A file that two sides changed differently."""

    path: str
    ours: str
    theirs: str
    """Both sides' text, cut to a sensible length; empty if a side has no such file."""


class MergedTree(msgspec.Struct, frozen=True):
    """The merged tree; files in conflict contain markers."""

    tree: str
    conflicts: tuple[Conflict, ...] = ()
    words: str = ""
    """Git's conflict messages."""

    @property
    def is_clean(self) -> bool:
        return not self.conflicts and not self.words

    @property
    def files(self) -> tuple[str, ...]:
        """The files in conflict, with undecodable characters replaced."""
        return tuple(conflict.path.encode(errors="replace").decode() for conflict in self.conflicts)


async def three_way(repository: Repository, base: str, ours: str, theirs: str) -> MergedTree:
    """Apply the changes from `base` to `theirs` to `ours`; any commit may be the base, ancestor or not."""
    # Each side becomes a child of the base, so that git finds this base and no other.
    one = await repository.commit(await repository.tree(ours), (base,), "ours", 0)
    other = await repository.commit(await repository.tree(theirs), (base,), "theirs", 0)
    answer = await repository.git("merge-tree", "--write-tree", "-z", "--messages", one, other, ok=(0, 1))
    tree, _, rest = os.fsdecode(answer.out).partition("\0")
    if answer.code == 0:
        return MergedTree(tree)

    async def text_of(commit: str, path: str) -> str:
        return ((await repository.show(commit, path)) or b"")[:_MOST_CONFLICT_TEXT].decode(errors="replace")

    # `MODE ID STAGE<TAB>PATH` for each stage of a file in conflict, an empty field, then the messages with their types.
    entries, _, messages = rest.partition("\0\0")
    paths = dict.fromkeys(entry.partition("\t")[2] for entry in entries.split("\0") if "\t" in entry)
    lines = [part.strip() for part in messages.split("\0") if part.startswith("CONFLICT") and "): " in part]
    conflicts = [Conflict(path, await text_of(ours, path), await text_of(theirs, path)) for path in paths]
    return MergedTree(tree, tuple(conflicts), "\n".join(lines) or "the merge has conflicts")
