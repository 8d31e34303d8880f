"""Clean checkouts of a commit, for checks: nothing in them but what the commit holds."""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import msgspec

from treadle.errors import PortError, writing
from treadle.git.record import Recorder
from treadle.git.repository import Repository
from treadle.git.slots import Contents, Slot, Slots

_MOST: Final = 256


class Overlay(msgspec.Struct, frozen=True):
    """Files that are laid over a checkout as another commit has them: frozen tests, their configuration."""

    commit: str
    globs: tuple[str, ...]


class Checkouts:
    """Slots for checks; each is held by a lock that ends with its process, so a crash leaves none behind."""

    def __init__(self, repository: Repository, recorder: Recorder, folder: Path) -> None:
        self._repository, self._recorder, self._folder = repository, recorder, folder
        self._slots = Slots(repository, recorder.trees)
        self._open: dict[Path, str] = {}

    @asynccontextmanager
    async def clean(self, commit: str, *overlays: Overlay) -> AsyncIterator[Path]:
        """A folder that holds exactly a commit, with other commits' files laid over it; nobody else has it."""
        tree = await self._repository.tree(commit)
        for overlay in overlays:
            tree = await self._recorder.overlaid(tree, overlay.commit, overlay.globs)
        slot, lock = await asyncio.to_thread(self._take)
        try:
            await self._slots.fill(slot, Contents(tree, commit))
            self._open[slot.path] = tree
            yield slot.path
        finally:
            self._open.pop(slot.path, None)
            os.close(lock)

    def tree_at(self, path: Path) -> str:
        """The tree that a checkout was made of; empty if it is none, or was given back."""
        return self._open.get(path, "")

    def _take(self) -> tuple[Slot, int]:
        for n in range(1, _MOST):
            slot = Slot(self._folder / f"check-{n}")
            lock = self._opened(slot.path.with_name(f"{slot.path.name}.lock"))
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
            else:
                return slot, lock
        raise PortError(
            f"{_MOST} checks run at once in {self._folder}; wait for some to end", retryable=True, code="git.no_room"
        )

    def _opened(self, lock: Path) -> int:
        with writing(lock):
            self._folder.mkdir(parents=True, exist_ok=True)
            return os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
