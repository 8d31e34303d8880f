"""Writes documents of a run into the user's own tree, where a protocol wants them; what a person changed stays."""

import asyncio
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from treadle.errors import PortError, writing
from treadle.git.integration import Integration
from treadle.git.scan import is_reserved
from treadle.git.trees import LINK, SUBMODULE, Trees
from treadle.kernel.state import State

_LARGEST: Final = 10_000_000


class Published(msgspec.Struct, frozen=True):
    """The files that are as the run has them, and those that were left alone because a person changed them."""

    commit: str
    files: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


class Publishing:
    """Publishes files of an instance. Nothing is ever deleted, and neither index nor branch is touched."""

    def __init__(self, integration: Integration) -> None:
        self._integration, self._repository = integration, integration.repository
        self._trees = Trees(self._repository)

    async def publish(self, state: State, inst: str, paths: list[str]) -> Published:
        """Write some files as the instance's head has them; those that are there already are left as they are."""
        root = await self._root()
        commit = (await self._integration.head(state, inst)).commit
        ref = self._integration.names(state.run).of_instance(inst, "published")
        trunk = (await self._integration.begin(state.run)).commit
        known = [one for one in (await self._integration.refs.get(ref), trunk) if one]
        wanted = await self._existing(commit, paths)
        earlier = [await self._trees.shows(one, list(wanted)) for one in known]
        files: list[str] = []
        for path, data in wanted.items():
            if await asyncio.to_thread(_put, root, path, data, [one[path] for one in earlier]):
                files.append(path)
        await self._integration.refs.put(ref, commit)
        return Published(commit, tuple(files), tuple(path for path in wanted if path not in files))

    async def _root(self) -> Path:
        if (await self._repository.users("rev-parse", "--is-bare-repository")).text == "true":
            raise PortError("nothing can be published: the repository is bare, so nobody has files here")
        return self._repository.root

    async def _existing(self, commit: str, paths: list[str]) -> dict[str, bytes]:
        plain = {one.path for one in await self._trees.entries(commit) if one.mode not in (LINK, SUBMODULE)}
        wanted = [path for path in dict.fromkeys(paths) if path in plain]
        found = await self._trees.shows(commit, wanted)
        return {path: data for path, data in found.items() if data is not None}


def _put(root: Path, path: str, data: bytes, earlier: list[bytes | None]) -> bool:
    """Write a file unless somebody else has written it; whether it is as wanted."""
    folder, name = _folder(root, path)
    if folder is None:
        return False
    try:
        there = _read(folder, name)
        if there is not None and there != data and there not in earlier:
            return False
        if there != data:
            with writing(root / path):
                _write(folder, name, data)
        return True
    except OSError:  # a link, a folder, or something that may not be read stands in its place
        return False
    finally:
        os.close(folder)


def _folder(root: Path, path: str) -> tuple[int | None, str]:
    """The opened folder of a file, made where it is missing; no link on the way is followed."""
    *folders, name = path.split("/")
    if any(part in ("", ".", "..") or is_reserved(part) for part in (*folders, name)):
        return None, name
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for part in folders:
        try:
            with suppress(FileExistsError):
                os.mkdir(part, dir_fd=handle)
            inner = os.open(part, flags, dir_fd=handle)
        except OSError:
            os.close(handle)
            return None, name
        os.close(handle)
        handle = inner
    return handle, name


def _read(folder: int, name: str) -> bytes | None:
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        return None
    with os.fdopen(handle, "rb") as file:
        return file.read(_LARGEST)


def _write(folder: int, name: str, data: bytes) -> None:
    draft = f".{name}.{os.getpid()}.{os.urandom(4).hex()}"
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644, dir_fd=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with suppress(OSError):
            os.unlink(draft, dir_fd=folder)
        raise
