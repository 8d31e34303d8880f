"""What a merge means for others: which exported names it added, removed or changed, computed from both trees."""

from typing import Literal

import msgspec

from treadle.git.api.dumped import completed
from treadle.git.api.reader import ApiReader
from treadle.git.api.symbol import Api
from treadle.git.repository import Repository

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


async def api_changes(
    repository: Repository, before: str, after: str, printed: tuple[Api, Api] | None = None
) -> list[ApiChange]:
    """How what two commits export differs; only files that differ are read, and what they are linked with.

    `printed` is what a command of the project says of both, for what cannot be read here.
    """
    old, new = await ApiReader(repository).both(before, after)
    if printed is None:
        return changes(old.symbols, new.symbols)
    return changes(completed(old.symbols, printed[0]), completed(new.symbols, printed[1]))
