"""A world without git and without measurements, for tests of everything around them: whatever is claimed is believed.

Each port leaves a line in a journal when it really does something, so that a test can tell what was done twice.
"""

import asyncio
import shutil
from pathlib import Path
from typing import Final

from treadle.kernel.commands import RunAgent, RunChecks, RunEffect
from treadle.kernel.events import CheckResult
from treadle.kernel.state import State
from treadle.ports import Case, Lane, Outcome, Verdict
from treadle.protocol.items import Json
from treadle.protocol.model import tag_of
from treadle.runtime.dispatch import folder_name
from treadle.testing.plausible import computed, plausible

_BAD: Final = ("Rejected", "Conflict", "Drift", "Failed")


class Journal:
    """Lines in a file, one for each thing that was done; they survive whoever wrote them."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def note(self, *words: str) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(" ".join(words) + "\n")

    def lines(self) -> list[str]:
        return self._path.read_text(encoding="utf-8").splitlines() if self._path.exists() else []


class PlainWorkspace:
    """Lanes are plain folders, one for each lane of each instance."""

    def __init__(self, root: Path, journal: Journal) -> None:
        self._root, self._journal = root, journal

    async def open(self, state: State, job: RunAgent) -> Lane:
        path = self._root / "lanes" / folder_name(f"{state.run}/{job.inst}") / job.lane
        await asyncio.to_thread(path.mkdir, parents=True, exist_ok=True)
        return Lane(path=path, base="")

    async def save(self, run: str, act: str) -> str:
        self._journal.note("save", run, act)
        return ""

    async def changed(self, run: str, act: str) -> tuple[str, ...]:  # noqa: ARG002 - nobody knows what was there before
        return ()

    async def close(self, run: str) -> None:
        shutil.rmtree(self._root / "lanes" / run, ignore_errors=True)


class BelievingChecks:
    """Every check passes, and computed fields get values that could be true."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    async def verify(self, job: RunChecks, case: Case) -> Verdict:
        self._journal.note("checks", case.state.run, f"{job.id}~{job.retry}")
        results = tuple(CheckResult(check.name, ok=True) for check in job.checks)
        fields = computed(case.protocol, tag_of(job.exit)) if job.exit else {}
        own = {name for name in fields if case.protocol.exits[tag_of(job.exit)].fields[name].by == "kernel"}
        return Verdict(results=results, fields={name: one for name, one in fields.items() if name not in own})


class SmoothEffects:
    """Every effect ends by the first of its exits that is not a failure."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    async def perform(self, job: RunEffect, case: Case) -> Outcome:
        self._journal.note("effect", case.state.run, f"{job.id}~{job.retry}")
        exits = case.protocol.graphs[job.graph].steps[job.step].exits
        good = next((name for name in exits if not name.endswith(_BAD)), exits[0])
        fields: dict[str, Json] = plausible(case.protocol, case.protocol.exits[good].fields)
        return Outcome(exit=good, fields=fields)


class Told:
    """A notifier that only remembers."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, str, str]] = []

    async def notify(self, run: str, what: str, text: str) -> None:
        self.messages.append((run, what, text))
