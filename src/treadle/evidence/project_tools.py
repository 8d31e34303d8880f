"""The project's toolchain as the checks ask it."""

import hashlib
import math
from collections.abc import Sequence
from pathlib import Path

import msgspec

from treadle.toolchains.build import build
from treadle.toolchains.line_coverage import LineCoverage
from treadle.toolchains.results import Built, Collected, TestRun
from treadle.toolchains.scaling import Measured, Probe
from treadle.toolchains.toolchain import Toolchain, tests_of


class ProjectTools:
    """`needs.Tools` over a toolchain."""

    def __init__(self, toolchain: Toolchain) -> None:
        self._toolchain = toolchain
        self.settings = toolchain.settings
        where = toolchain.sandbox.name if toolchain.sandbox else ""  # in another image, tests may end otherwise
        settings = msgspec.json.encode([toolchain.settings, str(toolchain.root), where], order="deterministic")
        self.identity = hashlib.sha256(settings).hexdigest()

    async def test(
        self,
        path: Path,
        ids: tuple[str, ...] | None = None,
        files: tuple[str, ...] | None = None,
        limit: float | None = None,
        *,
        mirrors: bool = True,
    ) -> TestRun:
        return await _adapted(self._toolchain, limit, mirrors).test(path, ids, files)

    async def collect(self, path: Path, files: tuple[str, ...] | None = None) -> Collected:
        return await self._toolchain.collect(path, files)

    async def coverage(self, path: Path) -> LineCoverage:
        return await self._toolchain.coverage(path)

    async def scaling(self, path: Path, probe: Probe) -> Measured:
        return await self._toolchain.scaling(path, probe)

    async def command(self, name: str, path: Path) -> Built | None:
        return await self._toolchain.run(name, path)

    async def run(self, argv: Sequence[str], path: Path) -> Built:
        settings = self._toolchain.settings
        return await build(tuple(argv), path, timeout=settings.timeout, sandbox=self._toolchain.sandbox)


def _adapted(chain: Toolchain, limit: float | None, mirrors: bool) -> Toolchain:
    """A toolchain whose runs end after so many seconds, if they do not have to end before, or have no mirrors."""
    given = chain.settings
    timeout = given.timeout if limit is None else min(given.timeout, math.ceil(limit))
    settings = msgspec.structs.replace(given, timeout=timeout, mirrors=given.mirrors if mirrors else 0)
    if chain.tests is None or settings == given:
        return chain
    tests = tests_of(settings, chain.root, chain.sandbox)
    return msgspec.structs.replace(chain, settings=settings, tests=tests)
