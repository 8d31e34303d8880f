"""What commits hold and how they differ, read from the objects alone."""

import os
from collections.abc import Iterable
from hashlib import sha256
from typing import Final, Literal

import msgspec

from treadle.git.globs import matches
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
        self._latest: tuple[str, tuple[Entry, ...]] = ("", ())

    async def entries(self, commit: str) -> tuple[Entry, ...]:
        """Everything in a tree, submodules as such."""
        tree = await self._repository.tree(commit)
        if tree != self._latest[0]:
            self._latest = (tree, await self._listed(tree))
        return self._latest[1]

    async def _listed(self, tree: str) -> tuple[Entry, ...]:
        said = await self._repository.git("ls-tree", "-r", "-z", "--full-tree", tree)
        lines = os.fsdecode(said.out).split("\0")
        heads = (line.partition("\t") for line in lines if line)
        return tuple(Entry(head.split()[0], head.split()[2], path) for head, _, path in heads)

    async def changes(self, base: str, commit: str) -> list[Change]:
        """The paths that differ, renames found."""
        said = await self._repository.git("diff-tree", "-r", "-z", "--raw", "-M", "--full-index", base, commit)
        words = iter(os.fsdecode(said.out).split("\0"))
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
        options = ("-r", "-p", "-M", "--no-color", "--no-ext-diff", "--no-textconv", "--full-index")
        said = await self._repository.git("diff-tree", *options, base, commit)
        text = said.out[:most].decode(errors="replace")
        return text if len(said.out) <= most else f"{text}\n… cut: the diff has {len(said.out)} bytes\n"

    async def digest(self, commit: str, globs: Iterable[str]) -> str:
        """A hash of the files that globs name: equal if and only if paths, modes and contents are."""
        wanted = tuple(globs)
        chosen = [entry for entry in await self.entries(commit) if matches(entry.path, wanted)]
        lines = [f"{entry.mode} {entry.id} {entry.path}\0" for entry in sorted(chosen, key=lambda one: one.path)]
        return sha256(os.fsencode("".join(lines))).hexdigest()
