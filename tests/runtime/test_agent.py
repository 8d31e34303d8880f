"""Agents in rounds: who ends without an answer is told so once in the same conversation, and all rounds are counted."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from tests.kernel.protocols import agent, graph, protocol, to
from tests.runtime.stage import ONE_STEP, Stage, with_role
from treadle.kernel.advance import is_out
from treadle.kernel.events import Event, Exited, Failed, SessionStarted, Unavailable, Usage
from treadle.ports import Abilities, Ended, Progress, Watch, Work
from treadle.protocol.model import Exit, Thread
from treadle.runtime.agent import DEGRADED, REMINDER
from treadle.runtime.budgets import Allowance, Budgets
from treadle.runtime.world import World
from treadle.store.records import Run
from treadle.testing.runner_contract import until
from treadle.views.outage import held

OK = '{"exit": {"type": "Ok"}}'
USED = Usage(100, 10, 0.5, 80, 1)


class Played:
    """A session that ends as it is told, or (None) not before it is cancelled."""

    def __init__(self, ended: Ended | None) -> None:
        self._ended: asyncio.Future[Ended] = asyncio.get_running_loop().create_future()
        if ended:
            self._ended.set_result(ended)

    async def wait(self) -> Ended:
        return await asyncio.shield(self._ended)

    async def nudge(self, text: str) -> bool:  # noqa: ARG002
        return False

    async def cancel(self) -> None:
        if not self._ended.done():
            self._ended.set_result(Ended(how="lost", session="talk"))


class Rounds:
    """A runner whose sessions end one after the other as they are told; each reports the usage that it is told."""

    def __init__(self, *ends: Ended | None, resume: bool = True, usage: Usage | None = None) -> None:
        self.abilities = Abilities(resume=resume)
        self._ends, self._usage = list(ends), usage
        self.works: list[Work] = []
        self.harvested: list[int] = []

    async def start(self, work: Work, watch: Watch) -> Played:
        self.works.append(work)
        if self._usage:
            watch(Progress(usage=self._usage))
        return Played(self._ends.pop(0))

    async def attach(self, work: Work, watch: Watch) -> None: ...

    async def harvest(self, work: Work) -> None:
        self.harvested.append(work.round)


class Metered(Stage):
    """A stage with a budget for each agent."""

    tokens = 0

    def world(self, run: Run) -> World:
        return replace(super().world(run), budgets=Budgets(step=Allowance(tokens=self.tokens)))


def ended(final: str = "", **fields: object) -> Ended:
    return Ended(how="done", code=0, final=final, session="talk", usage=USED, **fields)  # type: ignore[arg-type]


def drive(root: Path, runner: Rounds, tokens: int = 0) -> list[Event]:
    """What has happened until the run ended, or waits for a person or for a time."""
    stage = Metered(root, with_role(ONE_STEP, infra_retries=0), runner)
    stage.tokens = tokens
    asyncio.run(asyncio.wait_for(stage.drive(is_out), 30))
    found = stage.events()
    stage.store.close()
    return found


def usage_of(events: list[Event]) -> Usage:
    (event,) = [event for event in events if isinstance(event, Exited | Failed | Unavailable)]
    return event.usage


def test_who_ends_without_an_answer_may_go_on_once_in_the_same_conversation(tmp_path: Path) -> None:
    runner = Rounds(ended("all done!"), ended(OK))
    happened = drive(tmp_path, runner)
    first, second = runner.works
    assert (second.session, second.fork, second.round, second.used) == ("talk", False, 1, USED)
    assert (second.lane, second.token, second.home, second.retry) == (first.lane, first.token, first.home, 0)
    assert second.prompt.endswith(f"\n{REMINDER}")
    assert "Ok" in second.prompt
    assert usage_of(happened) == USED.plus(USED)
    (started,) = [event for event in happened if isinstance(event, SessionStarted)]
    assert started.session == "talk"


def test_an_answer_that_is_wrong_comes_back_with_what_is_wrong(tmp_path: Path) -> None:
    runner = Rounds(ended('{"exit": {"type": "Okay"}}'), ended(OK))
    drive(tmp_path, runner)
    assert "Okay" in runner.works[1].prompt


def test_there_is_no_third_round(tmp_path: Path) -> None:
    runner = Rounds(ended("no answer"), ended("still none"))
    happened = drive(tmp_path, runner)
    assert [(work.attempt, work.round) for work in runner.works] == [(1, 0), (1, 1)]
    (failed,) = [event for event in happened if isinstance(event, Failed)]
    assert (failed.why, failed.usage) == ("invalid", USED.plus(USED))


@pytest.mark.parametrize(
    ("ends", "why"),
    [
        ([ended("no answer", refused=("Bash: no",)), ended("still none")], "blocked"),
        ([ended("no answer"), ended("still none", refused=("Bash: no",))], "blocked"),
        ([msgspec.structs.replace(ended("its turn was cancelled", refused=("Bash: no",)), how="failed")], "blocked"),
        ([msgspec.structs.replace(ended("no answer", refused=("Bash: no",)), how="lost")] * 6, "crash"),
    ],
)
def test_who_was_refused_something_and_gives_no_answer_is_blocked(ends: list[Ended], why: str, tmp_path: Path) -> None:
    stage = Stage(tmp_path, with_role(ONE_STEP, infra_retries=0), Rounds(*ends))
    asyncio.run(stage.drive())
    (failed,) = [event for event in stage.events() if isinstance(event, Failed)]
    assert failed.why == why
    detail = stage.store.payloads.get(failed.detail_ref)
    stage.store.close()
    assert "it was refused Bash: no" in str(detail)


def test_who_was_refused_something_may_answer_all_the_same(tmp_path: Path) -> None:
    happened = drive(tmp_path, Rounds(ended(OK, refused=("Bash: no",))))
    assert [event for event in happened if isinstance(event, Exited)]


@pytest.mark.parametrize(
    ("end", "resume"),
    [
        (ended("no answer"), False),
        (msgspec.structs.replace(ended("no answer"), session=""), True),
        (msgspec.structs.replace(ended("no answer"), how="lost"), True),
        (msgspec.structs.replace(ended("no answer"), how="failed"), True),
    ],
)
def test_who_cannot_be_spoken_to_gets_no_further_round(end: Ended, resume: bool, tmp_path: Path) -> None:
    runner = Rounds(*[end] * 6, resume=resume)
    drive(tmp_path, runner)
    assert {work.round for work in runner.works} == {0}


def test_an_outage_is_no_reason_for_a_further_round(tmp_path: Path) -> None:
    happened = drive(tmp_path, Rounds(ended(outage="rate", wait=60)))
    (out,) = [event for event in happened if isinstance(event, Unavailable)]
    assert (out.why, out.wait, out.usage) == ("rate", 60, USED)


def test_people_are_told_of_an_outage_with_the_time_at_which_it_ends(tmp_path: Path) -> None:
    stage = Stage(tmp_path, with_role(ONE_STEP), Rounds(ended(outage="quota", wait=3600)))
    state = asyncio.run(stage.drive(is_out))
    stage.store.close()
    ((run, what, text),) = stage.told.messages
    assert (run, what) == ("r", "outage")
    assert text == f"an agent is {held(state)}"
    assert "goes on at" in text


def test_an_answer_counts_although_the_service_went_away_afterwards(tmp_path: Path) -> None:
    happened = drive(tmp_path, Rounds(ended(OK, outage="rate", wait=60)))
    assert [event for event in happened if isinstance(event, Exited)]


def test_a_round_that_a_crash_has_prevented_is_made_up_for(tmp_path: Path) -> None:
    table = with_role(ONE_STEP, infra_retries=0)
    first = Rounds(ended("all done!"), None)

    async def interrupted() -> None:
        stage = Stage(tmp_path, table, first)
        driving = asyncio.ensure_future(stage.drive())
        await until(lambda: len(first.works) == 2, "the second round has begun")
        driving.cancel()
        await asyncio.wait([driving])
        stage.store.close()

    asyncio.run(interrupted())
    second = Rounds(ended(OK))
    happened = drive(tmp_path, second)
    (again,) = second.works
    assert again == first.works[1]
    assert second.harvested == [1]
    assert usage_of(happened) == USED.plus(USED)


def test_who_has_used_what_one_may_is_stopped_and_its_usage_counts(tmp_path: Path) -> None:
    happened = drive(tmp_path, Rounds(None, usage=USED), tokens=110)
    (out,) = [event for event in happened if isinstance(event, Unavailable)]
    assert (out.why, out.grant, out.usage) == ("budget", "step:root:work#1.1", USED)
    assert [event.session for event in happened if isinstance(event, SessionStarted)] == ["talk"]


def test_all_rounds_together_use_what_one_agent_may(tmp_path: Path) -> None:
    runner = Rounds(ended("no answer"), None, usage=USED)
    happened = drive(tmp_path, runner, tokens=220)
    assert [work.round for work in runner.works] == [0, 1]
    assert usage_of(happened) == USED.plus(USED)


def test_nobody_goes_on_whose_budget_is_spent(tmp_path: Path) -> None:
    runner = Rounds(ended("no answer"))
    happened = drive(tmp_path, runner, tokens=110)
    assert [event.why for event in happened if isinstance(event, Unavailable)] == ["budget"]
    assert len(runner.works) == 1


TWO_STEPS = protocol(
    graph(
        {
            "work": agent({"Ok": to("again")}, timeout=60, nudge_after=0),
            "again": agent({"Ok": to("@end:Done")}, timeout=60, nudge_after=0, thread=Thread(kind="fork", step="work")),
        },
        input=("task", ""),
    ),
    exits={"Ok": Exit()},
    templates={"work.jinja": "Do your part."},
)


@pytest.mark.parametrize("fork", [True, False])
def test_who_cannot_branch_off_begins_anew_and_that_is_told(fork: bool, tmp_path: Path) -> None:
    runner, heard = Rounds(ended(OK), ended(OK)), list[str]()
    runner.abilities = Abilities(resume=True, fork=fork)

    class Heard(Stage):
        def world(self, run: Run) -> World:
            return replace(super().world(run), progress=lambda _act, progress: heard.append(progress.note))

    stage = Heard(tmp_path, with_role(TWO_STEPS), runner)
    asyncio.run(asyncio.wait_for(stage.drive(), 30))
    started = [event.is_new for event in stage.events() if isinstance(event, SessionStarted)]
    stage.store.close()
    second = runner.works[1]
    assert (second.session, second.fork) == (("talk", True) if fork else ("", False))
    assert started == [False, not fork]
    assert (DEGRADED in heard) is not fork


def test_what_it_said_instead_of_an_answer_is_told_to_people(tmp_path: Path) -> None:
    stage = Metered(
        tmp_path, with_role(ONE_STEP, infra_retries=0), Rounds(ended("no"), ended("I have no such tool.\n\n"))
    )
    asyncio.run(asyncio.wait_for(stage.drive(is_out), 30))
    (failed,) = [event for event in stage.events() if isinstance(event, Failed)]
    detail = stage.store.payloads.get(failed.detail_ref)
    assert "how the step ended: with Ok or Nok\\nits last words: I have no such tool." in json.dumps(detail)
