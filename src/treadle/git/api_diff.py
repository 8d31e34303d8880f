"""What a merge means for others: which exported names it added, removed or changed, computed from both trees."""

from typing import Final, Literal

import msgspec

from treadle.git.api import Api, api_of, is_source
from treadle.git.repository import Repository
from treadle.git.trees import Trees

_AT_ONCE: Final = 50
"""Files that are read together."""

ChangeType = Literal["NewExport", "RemovedExport", "SignatureChange", "BehaviorChange"]
Impact = Literal["Trivial", "Additive", "Breaking"]


class ApiChange(msgspec.Struct, frozen=True):
    """One exported name that differs; `before` and `after` are its signatures."""

    symbol: str
    type: ChangeType
    before: str = ""
    after: str = ""


def changes(before: Api, after: Api) -> list[ApiChange]:
    """How two sets of exported names differ, by name."""
    found: list[ApiChange] = []
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old is None and new is not None:
            found.append(ApiChange(name, "NewExport", after=new.signature))
        elif new is None and old is not None:
            found.append(ApiChange(name, "RemovedExport", before=old.signature))
        elif old is not None and new is not None and old.signature != new.signature:
            found.append(ApiChange(name, "SignatureChange", old.signature, new.signature))
        elif old is not None and new is not None and old.body != new.body:
            found.append(ApiChange(name, "BehaviorChange", old.signature, new.signature))
    return found


def impact(found: list[ApiChange]) -> Impact:
    """How far changes reach: nowhere, to whoever wants something new, or to everybody who uses what there was."""
    if not found:
        return "Trivial"
    return "Additive" if all(one.type == "NewExport" for one in found) else "Breaking"


async def api(repository: Repository, commit: str, paths: set[str] | None = None) -> Api:
    """What a commit exports (in some files)."""
    files = [entry for entry in await Trees(repository).entries(commit) if entry.mode.startswith("100")]
    wanted = [one for one in files if is_source(one.path) and (paths is None or one.path in paths)]
    found: Api = {}
    for start in range(0, len(wanted), _AT_ONCE):
        some = wanted[start : start + _AT_ONCE]
        for entry, source in zip(some, await repository.blobs([one.id for one in some]), strict=True):
            found |= api_of(entry.path, source)
    return found


async def api_changes(repository: Repository, before: str, after: str) -> list[ApiChange]:
    """How what two commits export differs; only files that differ are read."""
    differing = await Trees(repository).changes(before, after)
    paths = {path for change in differing for path in change.touched}
    return changes(await api(repository, before, paths), await api(repository, after, paths))
