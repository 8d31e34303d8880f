"""What is told beside the events."""

import asyncio
import dataclasses
import sys
from pathlib import Path

import msgspec

from tests.runtime.stage import ONE_STEP, Stage, with_role
from treadle.agents.command import Command
from treadle.agents.process import Patience
from treadle.kernel.commands import RunChecks
from treadle.kernel.events import CheckResult
from treadle.ports import Case, Progress, Verdict
from treadle.protocol.model import CheckRef
from treadle.runtime.world import World
from treadle.store.records import Run

HONEST = (sys.executable, str(Path(__file__).with_name("liars.py")), "honest")


class Knowing:
    """Checks that pass, and have something to say to people."""

    async def verify(self, job: RunChecks, case: Case) -> Verdict:  # noqa: ARG002
        return Verdict(results=tuple(CheckResult(one.name, ok=True) for one in job.checks), notes=("mind this",))


class Heard(Stage):
    """A stage that hears what is told."""

    notes: tuple[tuple[str, str], ...] = ()

    def world(self, run: Run) -> World:
        return dataclasses.replace(super().world(run), checks=Knowing(), progress=self.hear)

    def hear(self, act: str, progress: Progress) -> None:
        if progress.note:
            self.notes += ((act, progress.note),)


def test_what_checks_have_to_say_to_people_is_told_whatever_the_verdict(tmp_path: Path) -> None:
    table = with_role(ONE_STEP)
    main = table.graphs["main"]
    work = msgspec.structs.replace(main.steps["work"], gates={"Ok": (CheckRef(name="scope"),)})
    table = msgspec.structs.replace(table, graphs={"main": msgspec.structs.replace(main, steps={"work": work})})
    runner = Command(argv=HONEST, root=tmp_path, patience=Patience(answered=5, asked=1))
    play = Heard(tmp_path, table, runner)
    state = asyncio.run(asyncio.wait_for(play.drive(), 60))
    assert (state.outcome, play.notes) == ("Done", (("root:work#1.1", "mind this"),))
