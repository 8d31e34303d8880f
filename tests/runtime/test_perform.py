"""What is told beside the events."""

import asyncio
import dataclasses
import sys
from pathlib import Path

import msgspec

from tests.runtime.stage import ONE_STEP, Stage, with_role
from treadle.agents.command import CommandRunner
from treadle.agents.program import Patience
from treadle.config.bug_reports import BugReports
from treadle.kernel.commands import RunChecks
from treadle.kernel.events import CheckResult
from treadle.ports import Case, Checks, Progress, Verdict
from treadle.protocol.model import CheckRef
from treadle.runtime.world import RunWorld
from treadle.store.records import Run

HONEST = (sys.executable, str(Path(__file__).with_name("liars.py")), "honest")


class Knowing:
    """Checks that pass, and have something to say to people."""

    async def verify(self, job: RunChecks, case: Case) -> Verdict:  # noqa: ARG002
        return Verdict(results=tuple(CheckResult(one.name, ok=True) for one in job.checks), notes=("mind this",))


class Advising:
    """Checks that pass unless they are among those that find something."""

    def __init__(self, *finding: str) -> None:
        self._finding = finding

    async def verify(self, job: RunChecks, case: Case) -> Verdict:
        ref = case.payloads.put({"report": "- a.md: was rewritten\n- b.md: was rewritten"})
        results = (CheckResult(one.name, ok=not self._finds(one), report_ref=ref, arg=one.arg) for one in job.checks)
        return Verdict(results=tuple(results))

    def _finds(self, check: CheckRef) -> bool:
        return check.name in self._finding or f"{check.name}:{check.arg}" in self._finding


class Heard(Stage):
    """A stage that hears what is told."""

    notes: tuple[tuple[str, str], ...] = ()
    checks: Checks = Knowing()

    def world(self, run: Run) -> RunWorld:
        bugs = BugReports(self.root / "bugs")
        return dataclasses.replace(super().world(run), checks=self.checks, progress=self.hear, bugs=bugs)

    def hear(self, act: str, progress: Progress) -> None:
        if progress.note:
            self.notes += ((act, progress.note),)


def played(tmp_path: Path, checks: Checks, *gates: CheckRef) -> tuple[str, tuple[tuple[str, str], ...]]:
    """How a run of one step with these gates ends, and what is told meanwhile."""
    table = with_role(ONE_STEP)
    main = table.graphs["main"]
    work = msgspec.structs.replace(main.steps["work"], gates={"Ok": gates})
    table = msgspec.structs.replace(table, graphs={"main": msgspec.structs.replace(main, steps={"work": work})})
    runner = CommandRunner(argv=HONEST, root=tmp_path, patience=Patience(answered=5, asked=1))
    play = Heard(tmp_path, table, runner)
    play.checks = checks
    state = asyncio.run(asyncio.wait_for(play.drive(), 60))
    return state.outcome, play.notes


def test_notes_of_checks_are_reported_to_people(tmp_path: Path) -> None:
    told = played(tmp_path, Knowing(), CheckRef(name="scope"))
    assert told == ("Done", (("root:work#1.1", "mind this"),))


def test_advice_is_reported_with_the_accepted_step(tmp_path: Path) -> None:
    gates = (CheckRef(name="scope"), CheckRef(name="diff_only", advisory=True), CheckRef(name="lint", advisory=True))
    told = played(tmp_path, Advising("diff_only"), *gates)
    outcome, ((act, note),) = told
    assert (outcome, act) == ("Done", "root:work#1.1")
    assert [text for text in ("accepted", "diff_only: a.md: ") if text not in note] == []


def test_advice_on_refused_work_is_not_reported(tmp_path: Path) -> None:
    gates = (CheckRef(name="scope"), CheckRef(name="diff_only", advisory=True))
    outcome, notes = played(tmp_path, Advising("scope", "diff_only"), *gates)
    assert (outcome != "Done", notes) == (True, ())


def test_one_failure_of_a_check_with_two_arguments_refuses_the_work(tmp_path: Path) -> None:
    gates = (CheckRef(name="schema", arg="gherkin"), CheckRef(name="schema", arg="delta"))
    advisory = CheckRef(name="diff_only", advisory=True)
    outcome, notes = played(tmp_path, Advising("schema:delta", "diff_only"), *gates, advisory)
    assert (outcome != "Done", notes) == (True, ())


def test_advice_beside_a_check_of_the_same_name_refuses_nothing(tmp_path: Path) -> None:
    gates = (CheckRef(name="post_check", arg="duty"), CheckRef(name="post_check", arg="advice", advisory=True))
    outcome, notes = played(tmp_path, Advising("post_check:advice"), *gates)
    assert (outcome, len(notes)) == ("Done", 1)


class Crashing:
    """Checks with a bug."""

    async def verify(self, job: RunChecks, case: Case) -> Verdict:
        raise IndexError(job.step, case.state.run)


def test_a_bug_charges_no_attempt_and_leaves_one_report(tmp_path: Path) -> None:
    outcome, notes = played(tmp_path, Crashing(), CheckRef(name="scope"))
    assert (outcome, notes) == ("Crashed", ()), "the agent is not asked again"
    (report,) = (tmp_path / "bugs").iterdir()
    assert "raise IndexError(job.step, case.state.run)" in report.read_text(encoding="utf-8")
