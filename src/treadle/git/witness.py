"""A verifier that remembers what was asked and what came of it, so that a merge leaves evidence like any claim."""

from collections.abc import Awaitable
from pathlib import Path
from typing import Final

from treadle.git.verifier import Tried, Verifier
from treadle.kernel.events import CheckResult
from treadle.ports import Payloads
from treadle.protocol.items import Json

_NO_COMMAND: Final[dict[str, Json]] = {"command": [], "exit": None, "duration": 0.0, "output": ""}


class Witness:
    """Passes every question on, and keeps the answers of the last try."""

    def __init__(self, verifier: Verifier) -> None:
        self._verifier = verifier
        self.seen: dict[str, Tried] = {}

    async def build(self, path: Path) -> Tried:
        self.seen.clear()  # a new try: what was seen on another tree says nothing about this one
        return await self._noted("build", self._verifier.build(path))

    async def contract(self, path: Path) -> Tried:
        return await self._noted("contract", self._verifier.contract(path))

    async def suite(self, path: Path) -> Tried:
        return await self._noted("suite", self._verifier.suite(path))

    async def same_colour(self, before: str, after: str) -> Tried:
        return await self._noted("same_colour", self._verifier.same_colour(before, after))

    async def _noted(self, check: str, asked: Awaitable[Tried]) -> Tried:
        tried = self.seen[check] = await asked
        return tried

    def results(self, payloads: Payloads, commit: str, tree: str) -> tuple[CheckResult, ...]:
        """What came of each check on that commit, with its evidence in the payload store."""
        return tuple(
            CheckResult(check, tried.ok, payloads.put(_evidence(check, tried, commit, tree)))
            for check, tried in self.seen.items()
        )


def _evidence(check: str, tried: Tried, commit: str, tree: str) -> Json:
    head: dict[str, Json] = {"check": check, "ok": tried.ok, "commit": commit, "tree": tree}
    return {**head, **_NO_COMMAND, **tried.ran, "report": tried.details, "findings": list(tried.findings)}
