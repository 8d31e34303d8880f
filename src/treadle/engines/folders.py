"""Lanes that are plain folders, until git stands behind them."""

import asyncio
from pathlib import Path

from treadle.kernel.commands import RunAgent
from treadle.kernel.state import State
from treadle.ports import Lane
from treadle.runtime.dispatch import folder_name


class Folders:
    """One folder for each lane of each instance; nothing in them is ever deleted."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def open(self, state: State, job: RunAgent) -> Lane:
        path = self._root / state.run / folder_name(job.inst) / folder_name(job.lane)
        await asyncio.to_thread(path.mkdir, parents=True, exist_ok=True)
        return Lane(path=path, base="")

    async def save(self, run: str, act: str) -> str:  # noqa: ARG002
        return ""

    async def close(self, run: str) -> None:
        """Everything stays."""
