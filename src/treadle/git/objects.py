"""Objects, read and written by git processes that stay: starting one costs more than what it does."""

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, get_args

import msgspec

from treadle.errors import PortError
from treadle.git.process import OUTPUT, shorten
from treadle.git.servant import BrokenError, Servant

_READING: Final = ("cat-file", "--batch", "-z")
_WRITING: Final = ("hash-object", "-w", "--no-filters", "--stdin-paths", "-t")

Kind = Literal["blob", "tree", "commit"]


class Object(msgspec.Struct, frozen=True):
    """An object as git keeps it."""

    id: str
    kind: str
    data: bytes


class Objects:
    """The objects of a repository, named as one of its git folders (`own`) names them."""

    def __init__(self, own: Path, objects: Path) -> None:
        env = {"GIT_DIR": str(own), "GIT_OBJECT_DIRECTORY": str(objects)}
        self._reading = Servant(_READING, own, env)
        self._writing = {kind: Servant((*_WRITING, kind), own, env) for kind in get_args(Kind)}

    async def read(self, names: Sequence[str], most: int = OUTPUT) -> list[Object | None]:
        """Objects by their names (ids, refs, `commit:path`), None for those that do not exist.

        A `PortError` if they are too large in all, or git does not answer.
        """
        if unfit := [name for name in names if "\0" in name or "\n" in name]:
            raise PortError(f"git has no object {shorten(unfit[0])!r}", code="git.no_object")

        async def answers(stream: asyncio.StreamReader) -> list[Object | None]:
            found: list[Object | None] = []
            left = most
            for _ in names:
                one = await _read(stream, left)
                left -= len(one.data) if one else 0
                found.append(one)
            return found

        question = b"".join(name.encode(errors="surrogateescape") + b"\0" for name in names)
        try:
            return await self._reading.ask(question, answers)
        except BrokenError:
            named = shorten(", ".join(names))
            raise PortError(
                f"git could not read {named}; `git fsck` tells what is damaged", code="git.damaged"
            ) from None

    async def write(self, kind: Kind, contents: Sequence[bytes]) -> list[str]:
        """Keep objects, as git writes them; their ids, or a `BrokenError` if git does not take one."""

        async def ids(stream: asyncio.StreamReader) -> list[str]:
            return [(await stream.readuntil(b"\n")).decode().strip() for _ in contents]

        with tempfile.TemporaryDirectory(prefix="treadle-objects-") as folder:
            paths = [Path(folder, str(number)) for number in range(len(contents))]
            await asyncio.to_thread(_put, dict(zip(paths, contents, strict=True)))
            return await self._writing[kind].ask("".join(f"{path}\n" for path in paths).encode(), ids)


def _put(files: Mapping[Path, bytes]) -> None:
    for path, data in files.items():
        path.write_bytes(data)


async def _read(stream: asyncio.StreamReader, most: int) -> Object | None:
    match (await stream.readuntil(b"\n")).split():
        case [*_, b"missing" | b"ambiguous"]:
            return None
        case [id_, kind, size]:
            if int(size) > most:
                raise PortError(
                    f"the object {id_.decode()} has {int(size)} bytes, which is too much", code="git.too_large"
                )
            data = await stream.readexactly(int(size) + 1)
            return Object(id_.decode(), kind.decode(), data[:-1])
        case _:
            raise BrokenError
