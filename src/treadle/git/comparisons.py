"""How trees differ, as git tells it: many checks ask about the same two, one after the other."""

from typing import Final
from weakref import WeakKeyDictionary

from treadle.git.repository import Repository

_MOST: Final = 200
_LARGEST: Final = 4_000_000
"""Bytes of all that is remembered; the latest answer is, in any case."""
_remembered: WeakKeyDictionary[Repository, dict[tuple[str, ...], bytes]] = WeakKeyDictionary()


async def compared(repository: Repository, options: tuple[str, ...], base: str, commit: str) -> bytes:
    """What `git diff-tree` says about two commits or trees, asked once for each of the latest questions."""
    known = _remembered.setdefault(repository, {})
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
