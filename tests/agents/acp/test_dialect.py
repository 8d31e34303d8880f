"""The runner of agents that speak ACP, with one that does what its prompt says."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.agents import hostile
from tests.agents.acp import stand_in
from treadle.agents.acp.dialect import Acp, AcpRunner
from treadle.agents.acp.job import Job
from treadle.agents.process import Patience
from treadle.agents.processes import look
from treadle.agents.registry import Surroundings, runner_of
from treadle.enclosures.enclosure import Open
from treadle.errors import PortError, TreadleError
from treadle.ports import Ended, Progress, Work
from treadle.testing.runner_contract import PATIENCE, Behaviour, Clause, clauses, make_work, until

ABLE = {"loadSession": True, "sessionCapabilities": {"fork": {}, "resume": {}}}
HOSTILE = (sys.executable, "-I", "-S", hostile.__file__)


def runner(*actions: tuple[object, ...]) -> AcpRunner:
    args = ("-I", "-S", stand_in.__file__, json.dumps(ABLE), json.dumps(actions))
    return AcpRunner(dialect=Acp(program=sys.executable, args=args), patience=Patience(asked=5))


def worked(folder: Path, *actions: tuple[object, ...], **changes: Any) -> Work:
    lane = folder / "lane"
    lane.mkdir(exist_ok=True)
    return make_work(folder, lane, prompt=f"Do it. ACTIONS:{json.dumps(actions)}", **changes)


async def play(work: Work, heard: list[Progress]) -> Ended:
    session = await runner().start(work, heard.append)
    return await asyncio.wait_for(session.wait(), PATIENCE)


def test_an_activity_and_one_that_goes_on_with_it(tmp_path: Path) -> None:
    priced = {"stopReason": "end_turn", "usage": {"totalTokens": 12, "inputTokens": 10, "outputTokens": 2}}
    heard: list[Progress] = []
    actions = [
        ("say", "Hello."),
        ("update", "usage_update", {"used": 1, "size": 2, "cost": {"amount": 0.5, "currency": "USD"}}),
    ]
    first = asyncio.run(play(worked(tmp_path, *actions, ("end", priced)), heard))
    assert (first.how, first.code, first.final) == ("done", 0, "Hello.")
    assert (first.usage.tokens_in, first.usage.cost, first.usage.unpriced) == (10, 0.5, 0)
    assert [progress.text for progress in heard if progress.text][-1] == "Hello."
    later = asyncio.run(play(worked(tmp_path, *actions, ("end", priced), session=first.session, round=1), heard))
    assert (later.session, later.usage.cost) == (first.session, 0.0), "prices count from the beginning of it"


def test_what_its_service_says(tmp_path: Path) -> None:
    ended = asyncio.run(play(worked(tmp_path, ("fail", 429, "Slow down, retry after 9s")), []))
    assert (ended.how, ended.outage, ended.wait) == ("failed", "rate", 9)
    assert "Slow down" in ended.detail


def test_cancelled_it_leaves_nothing_behind(tmp_path: Path) -> None:
    pids = tmp_path / "lane" / "pids"

    async def cancel() -> Ended:
        session = await runner().start(worked(tmp_path, ("run", *HOSTILE, "works")), lambda _: None)
        await until(pids.exists, "it works")
        await session.cancel()
        return await asyncio.wait_for(session.wait(), PATIENCE)

    assert asyncio.run(cancel()).how == "lost"
    assert not look(int(pids.read_text()))


# what it is told


def test_it_is_known_by_its_name_or_its_command(tmp_path: Path) -> None:
    around = Surroundings(root=tmp_path)
    short, long = runner_of("gemini", around), runner_of("acp:gemini --acp", around)
    assert short == long
    assert isinstance(short, AcpRunner)
    assert short.dialect == Acp(program="gemini", args=("--acp",))
    assert (short.abilities.fork, runner_of("opencode", around).abilities.fork) == (False, True)
    own = runner_of("acp:./agent.py 'a b'", around)
    assert isinstance(own, AcpRunner)
    assert own.dialect == Acp(program=str(tmp_path / "agent.py"), args=("a b",))
    with pytest.raises(TreadleError, match="check its quotes"):
        runner_of("acp:x '", around)
    with pytest.raises(PortError, match="no program"):
        own.ready()


def test_its_client_is_told_everything_each_time(tmp_path: Path) -> None:
    work = worked(tmp_path, writes=("src/**",), model="large", fork=True)
    words = Acp(program="gemini").through(work, "talk-1")
    job = msgspec.json.decode(words.pop(), type=Job)
    assert words == [sys.executable, "-P", "-m", "treadle.agents.acp.client"]
    assert (job.session, job.fork, job.model, job.lane) == ("talk-1", True, "large", str(work.lane))
    assert job.writes
    assert {"src/**", ".ai/executor-result"} <= {*job.writes}
    assert "Do it." not in str(words), "the prompt is not for everybody to see"
    assert Acp(program="gemini").job(work, "--yolo").session == ""


def test_in_an_image_it_is_led_by_the_treadle_there(tmp_path: Path) -> None:
    around = Surroundings(root=tmp_path, enclosure=Open(name="a container", is_apart=True))
    made = runner_of("gemini", around)
    assert isinstance(made, AcpRunner)
    assert made.abilities.mcp == "stdio", "who is apart does not reach this process"
    assert made.dialect.through(worked(tmp_path), "")[0] == "python3"
    assert made.dialect.is_enclosed


# the contract, in full: it starts many a client


class AcpBench:
    behaviours: tuple[Behaviour, ...] = ("answers", "works", "leaves", "floods", "dumps")

    def lane(self, folder: Path) -> Path:
        lane = folder / "lane"
        lane.mkdir()
        return lane

    def runner(self, behaviour: Behaviour, work: Work) -> AcpRunner:  # noqa: ARG002
        return runner(("flood", 40) if behaviour == "floods" else ("run", *HOSTILE, behaviour))

    async def help(self, behaviour: Behaviour, work: Work) -> None:
        if behaviour == "works":
            await until((work.lane / "pids").exists, "it works")


BENCH = AcpBench()


@pytest.mark.agents
@pytest.mark.parametrize("clause", clauses(BENCH), ids=lambda clause: clause.name)
def test_contract(clause: Clause, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_USER", "hunter2")
    clause.hold(BENCH, tmp_path)
