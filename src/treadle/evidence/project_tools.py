"""The project's toolchain as the checks ask it."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from treadle.toolchains.build import build
from treadle.toolchains.results import Built, Collected, TestRun
from treadle.toolchains.toolchain import Toolchain


class ProjectTools:
    """`needs.Tools` over a toolchain."""

    def __init__(self, toolchain: Toolchain) -> None:
        self._toolchain = toolchain
        settings = msgspec.json.encode([toolchain.settings, str(toolchain.root)], order="deterministic")
        self.identity = hashlib.sha256(settings).hexdigest()

    async def test(
        self, path: Path, ids: tuple[str, ...] | None = None, files: tuple[str, ...] | None = None
    ) -> TestRun:
        return await self._toolchain.test(path, ids, files)

    async def collect(self, path: Path, files: tuple[str, ...] | None = None) -> Collected:
        return await self._toolchain.collect(path, files)

    async def command(self, name: str, path: Path) -> Built | None:
        return await self._toolchain.run(name, path)

    async def run(self, argv: Sequence[str], path: Path) -> Built:
        settings = self._toolchain.settings
        return await build(tuple(argv), path, timeout=settings.timeout, sandbox=self._toolchain.sandbox)
