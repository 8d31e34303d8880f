"""A merge of three commits without a working tree; it takes milliseconds at any size of the repository."""

import os
from typing import Final

import msgspec

from treadle.git.repository import Repository

_MOST: Final = 4000


class Conflict(msgspec.Struct, frozen=True):
    """A file that two sides changed differently."""

    path: str
    ours: str
    theirs: str
    """Both sides' text, cut to a sensible length; empty if a side has no such file."""


class Merged(msgspec.Struct, frozen=True):
    """The tree that came out; where there are conflicts, their files hold markers."""

    tree: str
    conflicts: tuple[Conflict, ...] = ()
    words: str = ""
    """What git said about it."""

    @property
    def is_clean(self) -> bool:
        return not self.conflicts and not self.words

    @property
    def files(self) -> tuple[str, ...]:
        """The files in conflict, as anybody can read their names."""
        return tuple(conflict.path.encode(errors="replace").decode() for conflict in self.conflicts)


async def three_way(repository: Repository, base: str, ours: str, theirs: str) -> Merged:
    """What `theirs` made of `base`, done to `ours`. Any commit may be the base, whatever their ancestry is."""
    one = await _on(repository, base, ours, "ours")
    other = await _on(repository, base, theirs, "theirs")
    said = await repository.git("merge-tree", "--write-tree", "-z", "--messages", one, other, ok=(0, 1))
    tree, _, rest = os.fsdecode(said.out).partition("\0")
    if said.code == 0:
        return Merged(tree)
    files, words = _conflicted(rest)
    conflicts = [await _conflict(repository, path, ours, theirs) for path in files]
    return Merged(tree, tuple(conflicts), words or "the merge has conflicts")


async def _on(repository: Repository, base: str, side: str, name: str) -> str:
    """The side as a child of the base, so that git finds this base and no other."""
    return await repository.commit(await repository.tree(side), (base,), name, 0)


def _conflicted(rest: str) -> tuple[list[str], str]:
    entries, _, messages = rest.partition("\0\0")
    files = dict.fromkeys(entry.partition("\t")[2] for entry in entries.split("\0") if "\t" in entry)
    lines = [part.strip() for part in messages.split("\0") if part.startswith("CONFLICT") and "): " in part]
    return list(files), "\n".join(lines)


async def _conflict(repository: Repository, path: str, ours: str, theirs: str) -> Conflict:
    return Conflict(path, await _text(repository, ours, path), await _text(repository, theirs, path))


async def _text(repository: Repository, commit: str, path: str) -> str:
    data = await repository.show(commit, path)
    return (data or b"")[:_MOST].decode(errors="replace")
