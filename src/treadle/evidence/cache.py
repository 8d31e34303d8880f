"""Results that need not be measured again: they depend on a tree, a command and its parameters, and on nothing else.

Each is signed, together with what it is the answer to, by a key that lies elsewhere: whoever can write to the folder
can neither make one up nor put one in the place of another. A file that cannot be read, or is not what was written, is
measured anew.
"""

import asyncio
import hashlib
import hmac
import os
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

import msgspec

T = TypeVar("T")
VERSION: Final = 2
_MOST: Final = 64_000_000


class Cache:
    """A folder of results, by the hash of what they depend on."""

    def __init__(self, folder: Path, key: bytes) -> None:
        self._folder, self._key = folder, key

    async def get(self, key: tuple[object, ...], kind: type[T]) -> T | None:
        """What was kept; None if nothing was, or if it is damaged."""
        return await asyncio.to_thread(self._get, key, kind)

    async def put(self, key: tuple[object, ...], value: msgspec.Struct) -> None:
        """Keep a result; failing to do so costs time, nothing else."""
        with suppress(OSError):
            await asyncio.to_thread(self._put, key, value)

    def _get(self, key: tuple[object, ...], kind: type[T]) -> T | None:
        path = self._path(key)
        try:
            if path.is_symlink() or path.stat().st_size > _MOST:
                return None
            signature, _, body = path.read_bytes().partition(b"\n")
            if not hmac.compare_digest(signature, self._signature(path, body)):
                return None
            return msgspec.json.decode(body, type=kind)
        except (OSError, ValueError, msgspec.MsgspecError):
            return None

    def _put(self, key: tuple[object, ...], value: msgspec.Struct) -> None:
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        body = msgspec.json.encode(value)
        draft = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
        draft.write_bytes(self._signature(path, body) + b"\n" + body)
        draft.replace(path)

    def _signature(self, path: Path, body: bytes) -> bytes:
        question = f"{path.parent.name}{path.name}".encode()
        return hmac.new(self._key, question + b"\n" + body, hashlib.sha256).hexdigest().encode()

    def _path(self, key: tuple[object, ...]) -> Path:
        name = hashlib.sha256(msgspec.json.encode([VERSION, *key])).hexdigest()
        return self._folder / name[:2] / f"{name[2:]}.json"
