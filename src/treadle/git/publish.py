"""Writes documents of a run into the user's own tree, where a protocol wants them; what a person changed stays."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec

from treadle.errors import PortError
from treadle.git.integration import Integration
from treadle.git.trees import LINK, SUBMODULE, Trees
from treadle.git.users_files import put_unless
from treadle.kernel.state import State


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
            if await asyncio.to_thread(put_unless, root, path, data, _unlike([one[path] for one in earlier])):
                files.append(path)
        await self._integration.refs.put(ref, commit)
        return Published(commit, tuple(files), tuple(path for path in wanted if path not in files))

    async def _root(self) -> Path:
        if (await self._repository.users("rev-parse", "--is-bare-repository")).text == "true":
            raise PortError(
                "nothing can be published: the repository is bare, so nobody has files here", code="git.bare"
            )
        return self._repository.root

    async def _existing(self, commit: str, paths: list[str]) -> dict[str, bytes]:
        plain = {one.path for one in await self._trees.entries(commit) if one.mode not in (LINK, SUBMODULE)}
        wanted = [path for path in dict.fromkeys(paths) if path in plain]
        found = await self._trees.shows(commit, wanted)
        return {path: data for path, data in found.items() if data is not None}


def _unlike(earlier: list[bytes | None]) -> Callable[[bytes], bool]:
    return lambda there: there not in earlier
