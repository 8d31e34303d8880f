"""Moves what older versions kept as branches (integration branches, lanes) to `refs/treadle/`.

Git moves all refs of a run in one transaction, and writes new names before it removes old ones. Whatever a crash leaves
half done, the next start finishes: a branch goes only when its commit is under the new name.
"""

from collections.abc import Container
from typing import Final

from treadle.errors import PortError
from treadle.git.names import Names
from treadle.git.refs import Refs
from treadle.git.repository import Repository

_INTEGRATION: Final = "int"


async def move_older_refs(
    repository: Repository, refs: Refs, names: Names, lanes: Container[str], *, dry: bool = False
) -> list[str]:
    """Move the branches of one run; their old names. `lanes` are the slugs of the lanes of its protocol.

    A branch that some worktree is on is copied, and stays. Any other name below the run's place is the user's own.
    """
    there = await refs.below(names.older, names.spaces[1])
    if not any(names.moved(ref) for ref in there):
        return []
    checked_out = await refs.checked_out()
    values: dict[str, str] = {}
    expected: dict[str, str] = {}
    for old, value in there.items():
        new = names.moved(old)
        if not new or not _is_ours(names, old, there, lanes):
            continue
        now = there.get(new, "")
        if now in ("", value):
            values[new], expected[new] = value, now
        elif not await repository.is_ancestor(value, now):
            continue  # it holds what the new one does not: for a person to look at
        if old not in checked_out:
            values[old], expected[old] = "", value
    moved = [ref for ref, value in values.items() if not value]
    if dry:
        return moved
    try:
        await refs.put_all(values, expected)
    except PortError:
        # Another process may have moved them between our look and our move; whatever is left is its fault, or ours.
        if any(names.moved(ref) in values for ref in await refs.below(names.older) if ref not in checked_out):
            raise
    return moved


def _is_ours(names: Names, old: str, there: Container[str], lanes: Container[str]) -> bool:
    """Whether an older version made a branch: it noted the base of each instance before it made one for it."""
    inst, _, name = old.removeprefix(names.older).partition("/")
    return f"{names.spaces[1]}inst/{inst}/base" in there and (name == _INTEGRATION or name in lanes)
