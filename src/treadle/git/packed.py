"""The refs of a finished run as one: a commit that holds every commit they led to, and their names in its message.

Git keeps whatever a ref leads to, so a run of twenty activities would need eighty refs for ever. Packed, it needs one;
no commit changes, and evidence and replays find each by its name.
"""

from collections.abc import Mapping
from typing import Final

from treadle.git.names import Names
from treadle.git.refs import Refs
from treadle.git.repository import Repository

_LINE: Final = "Treadle-Ref: "


async def refs_of(repository: Repository, refs: Refs, names: Names) -> dict[str, str]:
    """Every ref of a run by its name of today: packed ones, and those that still have an older version's name."""
    found = await refs.below(*names.spaces, names.older)
    known = {new: value for old, value in found.items() if (new := names.moved(old))}
    live = {ref: value for ref, value in found.items() if ref != names.packed and not names.moved(ref)}
    return await _unpacked(repository, found.get(names.packed, "")) | known | live


async def pack(repository: Repository, refs: Refs, names: Names, chosen: Mapping[str, str]) -> int:
    """Replace refs of a run by one that holds them all, in one transaction; how many there are fewer."""
    before = await refs.get(names.packed)
    if not chosen or names.packed in chosen:
        return 0
    every = await _unpacked(repository, before) | dict(chosen)
    start = every.get(names.start) or next(iter(every.values()))
    lines = "".join(f"{_LINE}{value} {ref}\n" for ref, value in sorted(every.items()))
    tree, at = await repository.tree(start), await repository.time(start)
    commit = await repository.commit(tree, tuple(sorted({*every.values()})), f"refs of {names.run}\n\n{lines}", at)
    gone = dict.fromkeys(chosen, "")
    await refs.put_all({names.packed: commit} | gone, {names.packed: before} | dict(chosen))
    return len(chosen) - (not before)


async def _unpacked(repository: Repository, commit: str) -> dict[str, str]:
    if not commit:
        return {}
    lines = (await repository.message(commit)).splitlines()
    pairs = (line.removeprefix(_LINE).partition(" ") for line in lines if line.startswith(_LINE))
    return {ref: value for value, _, ref in pairs}
