"""Agents in rounds: who ends without an answer is told so once in the same conversation, and all rounds are counted."""

import asyncio
import json
import os
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from tests.fakes import StillClock
from tests.kernel.protocols import agent, graph, protocol, to
from tests.runtime.stage import ONE_STEP, Stage, with_role
from treadle.config.secrets import NO_REDACTION, redaction_of
from treadle.kernel.advance import is_out
from treadle.kernel.events import Event, Exited, Failed, SessionStarted, Unavailable, Usage
from treadle.ports import Abilities, Ended, Progress, Watch, Work
from treadle.protocol.model import Exit, Thread
from treadle.results import channels
from treadle.runtime.agent import DEGRADED, REMINDER, Silence
from treadle.runtime.redaction import redact_files
from treadle.runtime.world import BudgetAllowance, Budgets, RunWorld
from treadle.store.records import Run
from treadle.testing.runner_contract import make_work, until
from treadle.views.tree import outage_line

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

    def world(self, run: Run) -> RunWorld:
        return replace(super().world(run), budgets=Budgets(step=BudgetAllowance(tokens=self.tokens)))


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


def test_an_agent_without_an_answer_gets_a_second_round_in_the_same_conversation(tmp_path: Path) -> None:
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


def test_a_wrong_answer_comes_back_with_its_mistake(tmp_path: Path) -> None:
    runner = Rounds(ended('{"exit": {"type": "Okay"}}'), ended(OK))
    drive(tmp_path, runner)
    assert "Okay" in runner.works[1].prompt


def test_an_agent_without_an_answer_gets_no_third_round(tmp_path: Path) -> None:
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
def test_an_agent_that_was_refused_a_tool_and_gives_no_answer_is_blocked(
    ends: list[Ended], why: str, tmp_path: Path
) -> None:
    stage = Stage(tmp_path, with_role(ONE_STEP, infra_retries=0), Rounds(*ends))
    asyncio.run(stage.drive())
    (failed,) = [event for event in stage.events() if isinstance(event, Failed)]
    assert failed.why == why
    detail = stage.store.payloads.get(failed.detail_ref)
    stage.store.close()
    assert "Bash: no" in str(detail)


def test_an_agent_that_was_refused_a_tool_may_still_answer(tmp_path: Path) -> None:
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
def test_an_agent_without_a_session_gets_no_second_round(end: Ended, resume: bool, tmp_path: Path) -> None:
    runner = Rounds(*[end] * 6, resume=resume)
    drive(tmp_path, runner)
    assert {work.round for work in runner.works} == {0}


def test_an_outage_is_no_reason_for_a_further_round(tmp_path: Path) -> None:
    happened = drive(tmp_path, Rounds(ended(outage="rate", wait=60)))
    (out,) = [event for event in happened if isinstance(event, Unavailable)]
    assert (out.why, out.wait, out.usage) == ("rate", 60, USED)


def test_an_outage_is_notified_with_the_time_of_its_end(tmp_path: Path) -> None:
    stage = Stage(tmp_path, with_role(ONE_STEP), Rounds(ended(outage="quota", wait=3600)))
    state = asyncio.run(stage.drive(is_out))
    stage.store.close()
    ((run, what, text),) = stage.told.messages
    assert (run, what) == ("r", "outage")
    assert text == f"an agent is {outage_line(state)}"
    assert "continues at" in text


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


def test_an_agent_over_its_budget_is_stopped_and_its_usage_counts(tmp_path: Path) -> None:
    happened = drive(tmp_path, Rounds(None, usage=USED), tokens=110)
    (out,) = [event for event in happened if isinstance(event, Unavailable)]
    assert (out.why, out.grant, out.usage) == ("budget", "step:root:work#1.1", USED)
    assert [event.session for event in happened if isinstance(event, SessionStarted)] == ["talk"]


def test_all_rounds_share_one_budget(tmp_path: Path) -> None:
    runner = Rounds(ended("no answer"), None, usage=USED)
    happened = drive(tmp_path, runner, tokens=220)
    assert [work.round for work in runner.works] == [0, 1]
    assert usage_of(happened) == USED.plus(USED)


def test_a_spent_budget_stops_the_agent(tmp_path: Path) -> None:
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
def test_an_agent_that_cannot_fork_begins_anew_with_a_note(fork: bool, tmp_path: Path) -> None:
    runner, heard = Rounds(ended(OK), ended(OK)), list[str]()
    runner.abilities = Abilities(resume=True, fork=fork)

    class Heard(Stage):
        def world(self, run: Run) -> RunWorld:
            return replace(super().world(run), progress=lambda _act, progress: heard.append(progress.note))

    stage = Heard(tmp_path, with_role(TWO_STEPS), runner)
    asyncio.run(asyncio.wait_for(stage.drive(), 30))
    started = [event.is_new for event in stage.events() if isinstance(event, SessionStarted)]
    stage.store.close()
    second = runner.works[1]
    assert (second.session, second.fork) == (("talk", True) if fork else ("", False))
    assert started == [False, not fork]
    assert (DEGRADED in heard) is not fork


def test_the_last_words_of_an_agent_without_an_answer_are_reported(tmp_path: Path) -> None:
    stage = Metered(
        tmp_path, with_role(ONE_STEP, infra_retries=0), Rounds(ended("no"), ended("I have no such tool.\n\n"))
    )
    asyncio.run(asyncio.wait_for(stage.drive(is_out), 30))
    (failed,) = [event for event in stage.events() if isinstance(event, Failed)]
    detail = stage.store.payloads.get(failed.detail_ref)
    last_words = "I have no such tool."
    assert [text for text in ("Ok or Nok", last_words) if text not in json.dumps(detail)] == []


# Silence counts from the last sign of life.


def test_every_stretch_of_silence_is_counted_until_the_end() -> None:
    async def run() -> list[tuple[int, float]]:
        clock = StillClock()
        heard: list[tuple[int, float]] = []
        silence = Silence(clock)
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        async def listen() -> None:
            heard.extend([(count, clock.elapsed()) async for count in silence.beyond(60, ended)])

        listening = asyncio.create_task(listen())
        await clock.advance(50)
        silence.end()
        await clock.advance(59)
        await clock.advance(61)
        ended.set_result(None)
        await listening
        return heard

    assert asyncio.run(run()) == [(1, 110.0), (2, 170.0)]


def test_without_a_limit_silence_is_not_counted() -> None:
    async def run() -> list[int]:
        clock = StillClock()
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(0.01, ended.set_result, None)
        return [count async for count in Silence(clock).beyond(0, ended)]

    assert asyncio.run(run()) == []


# What an agent leaves is kept without the keys that it was lent; nothing else is touched.

KEY = "sk-" + "lent-0123456789abcdef"
HIDDEN = redaction_of({"SERVICE_KEY": KEY})
LONG_AGO = 1_000_000_000


@pytest.fixture
def work(tmp_path: Path) -> Work:
    lane = tmp_path / "lane"
    (lane / "src").mkdir(parents=True)
    made = make_work(tmp_path, lane)
    (made.home / "agent" / "0").mkdir(parents=True)
    made.out.mkdir(parents=True, exist_ok=True)
    (made.home / channels.BEFORE_FILE).write_text("{}")
    return made


def _redacted(work: Work) -> list[tuple[str, str]]:
    """The files in which a value was replaced, and the names of the values."""
    return [(line.split()[0], line.split()[-1]) for line in redact_files(work, HIDDEN)]


def test_a_key_in_the_lane_is_replaced_and_reported(work: Work) -> None:
    script = work.lane / "src" / "run.sh"
    script.write_text(f"#!/bin/sh\ncurl -H 'x-api-key: {KEY}'\n")
    script.chmod(0o755)
    os.utime(script, (LONG_AGO, LONG_AGO))  # an agent can say what it likes about when it wrote
    assert _redacted(work) == [("src/run.sh", "SERVICE_KEY")]
    assert script.read_text() == "#!/bin/sh\ncurl -H 'x-api-key: (redacted: SERVICE_KEY)'\n"
    assert script.stat().st_mode & 0o777 == 0o755


def test_a_key_that_was_written_before_the_agent_went_on_is_replaced_as_well(work: Work) -> None:
    (work.lane / "notes.txt").write_text(KEY)
    later(work.lane / "notes.txt", work.home / "work.json")
    assert _redacted(work) == [("notes.txt", "SERVICE_KEY")]


def test_a_file_from_before_the_agent_is_left_as_it_was(work: Work) -> None:
    (work.lane / "fixture.txt").write_text(KEY)
    later(work.lane / "fixture.txt", work.home / channels.BEFORE_FILE)
    assert redact_files(work, HIDDEN) == []
    assert (work.lane / "fixture.txt").read_text() == KEY


def later(than: Path, path: Path) -> None:
    """Write a file, by the clock of the file system later than another one."""
    path.write_text("{}")
    while path.stat().st_ctime_ns <= than.stat().st_ctime_ns:
        path.write_text("{}")


def test_answers_and_output_are_kept_without_it(work: Work) -> None:
    left = [work.out / "answer.json", work.home / "agent" / "0" / "stdout"]
    for path in left:
        path.write_bytes(b'{"said": "' + KEY.encode() + b'", "odd": "\xff"}')
    assert redact_files(work, HIDDEN) == []
    assert all(path.read_bytes() == b'{"said": "(redacted: SERVICE_KEY)", "odd": "\xff"}' for path in left)


def test_files_outside_of_the_lane_stay_as_they_are(work: Work, tmp_path: Path) -> None:
    users, linked = tmp_path / "auth.json", tmp_path / "other.json"
    for path in (users, linked):
        path.write_text(KEY)
    (work.lane / "link").symlink_to(users)
    (work.lane / "hard").hardlink_to(linked)
    (work.lane / "folder").symlink_to(tmp_path)
    os.mkfifo(work.lane / "pipe")
    (work.lane / ".git").mkdir()
    (work.lane / ".git" / "config").write_text(KEY)
    assert _redacted(work) == [("hard", "SERVICE_KEY")]
    assert (users.read_text(), linked.read_text(), (work.lane / ".git" / "config").read_text()) == (KEY, KEY, KEY)
    assert KEY not in (work.lane / "hard").read_text()


def test_without_keys_no_file_is_redacted(work: Work) -> None:
    (work.lane / "a").write_text(KEY)
    assert redact_files(work, NO_REDACTION) == []
    assert (work.lane / "a").read_text() == KEY
