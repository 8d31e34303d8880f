"""A tree with some of its files exchanged, made of the folders that they lie in; the rest of it is not looked at."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from typing import Final

from treadle.errors import PortError
from treadle.git.process import shorten
from treadle.git.repository import Repository
from treadle.git.scan import is_reserved

Files = Mapping[str, tuple[str, str] | None]
"""By path: the mode and the id of a file, None for one that is removed."""

_FOLDER: Final = "40000"
_Entries = dict[str, tuple[str, str]]


async def grafted(repository: Repository, tree: str, files: Files) -> str:
    """The id of the new tree; it and its folders are among the objects then."""
    if unfit := [path for path in files if not all(map(_is_fit, path.split("/")))]:
        raise PortError(f"git takes no file {shorten(unfit[0])!r}", code="git.no_object")
    grafting = _Grafting(repository)
    made = await grafting.folder(tree, files) or grafting.made({})
    if made not in await repository.keep(grafting.written, "tree"):
        raise PortError(
            f"git calls the tree {made} otherwise; is it a repository of {repository.form}?", code="git.damaged"
        )
    return made


class _Grafting:
    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self.written: list[bytes] = []

    async def folder(self, tree: str, files: Files) -> str:
        """A folder with files exchanged; empty if nothing is left in it."""
        entries = dict(_read(await self._repository.raw_tree(tree), len(tree) // 2)) if tree else {}
        below: dict[str, dict[str, tuple[str, str] | None]] = {}
        for path, file in files.items():
            name, inside, rest = path.partition("/")
            if inside:
                below.setdefault(name, {})[rest] = file
            elif file:
                entries[name] = file
            elif entries.get(name, ("", ""))[0] != _FOLDER:
                entries.pop(name, None)
        for name, some in below.items():
            await self._enter(entries, name, some)
        return self.made(entries) if entries else ""

    async def _enter(self, entries: _Entries, name: str, files: Files) -> None:
        mode, id_ = entries.get(name, (_FOLDER, ""))
        made = await self.folder(id_ if mode == _FOLDER else "", files)
        if made:
            entries[name] = _FOLDER, made
        elif mode == _FOLDER:
            entries.pop(name, None)

    def made(self, entries: _Entries) -> str:
        """A folder's id, and its contents noted as what has to be written."""
        named = {os.fsencode(name): entry for name, entry in entries.items()}
        order = sorted(named, key=lambda name: name + b"/" if named[name][0] == _FOLDER else name)
        data = b"".join(b"%b %b\0%b" % (named[one][0].encode(), one, bytes.fromhex(named[one][1])) for one in order)
        self.written.append(data)
        return hashlib.new(self._repository.form, b"tree %d\0%b" % (len(data), data)).hexdigest()


def _read(data: bytes, length: int) -> Iterator[tuple[str, tuple[str, str]]]:
    start = 0
    while start < len(data):
        end = data.index(b"\0", start)
        mode, _, name = data[start:end].partition(b" ")
        start = end + 1 + length
        yield os.fsdecode(name), (mode.decode(), data[end + 1 : start].hex())


def _is_fit(name: str) -> bool:
    return name not in ("", ".", "..") and not is_reserved(name) and "\0" not in name
