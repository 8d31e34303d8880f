"""The runner of agents that speak ACP, with one that does what its prompt says."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agents import acp_stand_in as stand_in
from tests.agents import hostile
from treadle.agents.acp import Acp, AcpReader, AcpRunner
from treadle.agents.acp_client import AcpJob
from treadle.agents.event_stream import StreamSummary, read_all
from treadle.agents.processes import find_process
from treadle.agents.program import Patience
from treadle.agents.registry import AgentSetup, parse_runner
from treadle.enclosures.port import NoEnclosure
from treadle.errors import PortError, TreadleError
from treadle.kernel.events import Outages, Usage
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


def test_a_continued_session_keeps_its_id_and_counts_prices_from_its_beginning(tmp_path: Path) -> None:
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


def test_a_service_error_becomes_an_outage_with_its_wait(tmp_path: Path) -> None:
    ended = asyncio.run(play(worked(tmp_path, ("fail", 429, "Slow down, retry after 9s")), []))
    assert (ended.how, ended.outage, ended.wait) == ("failed", "rate", 9)
    assert "Slow down" in ended.detail


def test_cancelling_it_leaves_no_process_behind(tmp_path: Path) -> None:
    pids = tmp_path / "lane" / "pids"

    async def cancel() -> Ended:
        session = await runner().start(worked(tmp_path, ("run", *HOSTILE, "works")), lambda _: None)
        await until(lambda: pids.exists() and bool(pids.read_text()), "it works")
        await session.cancel()
        return await asyncio.wait_for(session.wait(), PATIENCE)

    assert asyncio.run(cancel()).how == "lost"
    assert not find_process(int(pids.read_text()))


# what it is told


def test_an_acp_agent_is_named_by_program_or_by_command(tmp_path: Path) -> None:
    around = AgentSetup(root=tmp_path)
    short, long = parse_runner("gemini", around), parse_runner("acp:gemini --acp", around)
    assert short == long
    assert isinstance(short, AcpRunner)
    assert short.dialect == Acp(program="gemini", args=("--acp",))
    assert (short.abilities.fork, parse_runner("opencode", around).abilities.fork) == (False, True)
    own = parse_runner("acp:./agent.py 'a b'", around)
    assert isinstance(own, AcpRunner)
    assert own.dialect == Acp(program=str(tmp_path / "agent.py"), args=("a b",))
    with pytest.raises(TreadleError, match="check its quotes"):
        parse_runner("acp:x '", around)
    with pytest.raises(PortError) as missing:
        own.ready()
    assert missing.value.code == "agent.missing"


def test_each_start_passes_the_client_the_whole_job(tmp_path: Path) -> None:
    work = worked(tmp_path, writes=("src/**",), model="large", fork=True)
    words = Acp(program="gemini").client(work, "talk-1")
    job = msgspec.json.decode(words.pop(), type=AcpJob)
    assert words == [sys.executable, "-P", "-m", "treadle.agents.acp_client"]
    assert (job.session, job.fork, job.model, job.lane) == ("talk-1", True, "large", str(work.lane))
    assert job.writes
    assert {"src/**", ".ai/executor-result"} <= {*job.writes}
    assert "Do it." not in str(words), "the prompt is not for everybody to see"
    assert Acp(program="gemini").job(work, "--yolo").session == ""


def test_in_a_container_the_client_of_the_image_leads_the_agent(tmp_path: Path) -> None:
    around = AgentSetup(root=tmp_path, enclosure=NoEnclosure(name="a container", is_apart=True))
    made = parse_runner("gemini", around)
    assert isinstance(made, AcpRunner)
    assert made.abilities.mcp == "stdio", "who is apart does not reach this process"
    assert made.dialect.client(worked(tmp_path), "")[0] == "python3"
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


STREAMS = {
    path.stem: path.read_bytes().splitlines(keepends=True)
    for path in sorted(Path(__file__).with_name("streams").glob("acp-*.jsonl"))
}
GOOD = [lines for name, lines in STREAMS.items() if name in ("acp-gemini-step", "acp-opencode-step")]
BAD = [lines for lines in STREAMS.values() if lines not in GOOD]


def told(*events: dict[str, Any]) -> StreamSummary:
    return read_all(AcpReader(), b"".join(json.dumps(event).encode() + b"\n" for event in events))


def succeeds(data: bytes) -> bool:
    found = read_all(AcpReader(), data)
    return found.is_over and not found.trouble


@pytest.mark.parametrize("name", ["acp-gemini-step", "acp-opencode-step"])
def test_a_recorded_step_is_read_to_its_end(name: str) -> None:
    found = read_all(AcpReader(), b"".join(STREAMS[name]))
    assert (found.is_over, found.trouble, found.final) == (True, "", "It is handed in.")
    assert found.usage.tokens_in == 9000
    assert found.usage.unpriced == 9220
    assert found.refused
    assert found.session


@pytest.mark.parametrize(
    ("error", "outage", "wait"),
    [
        ({"code": 429, "message": "Slow down"}, "rate", 0),
        ({"code": 429, "message": "You exceeded your current quota, retry in 30s"}, "quota", 30),
        ({"code": -32603, "message": "Internal error: Invalid API key"}, "login", 0),
        ({"code": -32603, "message": "Internal error", "data": '{"statusCode":503}'}, "overload", 0),
        ({"code": -32000, "message": "Authentication required"}, "login", 0),
        ({"message": "AI_APICallError: Too many requests, try again in 20 s"}, "rate", 20),
        ({"code": -32603, "message": "Internal error", "data": "fetch failed"}, "network", 0),
        ({"code": 500, "message": "exception TypeError: fetch failed sending request"}, "network", 0),
        ({"code": 500, "message": "it broke"}, "overload", 0),
        ({"code": -32602, "message": "Invalid params"}, None, 0),
        ({"during": "start", "message": "rate limit"}, None, 0),
        ({"code": "odd"}, None, 0),
    ],
)
def test_an_error_becomes_an_outage_with_its_wait(error: dict[str, Any], outage: Outages | None, wait: int) -> None:
    found = told({"type": "error", "during": "prompt", **error}, {"type": "ended", "stop_reason": "end_turn"})
    assert found.trouble
    assert (found.outage, found.wait) == (outage, wait)


@pytest.mark.parametrize("reason", ["max_tokens", "max_turn_requests", "refusal", "cancelled", "odd", "", None, 7])
def test_only_the_end_of_a_turn_is_a_success(reason: object) -> None:
    assert told({"type": "ended", "stop_reason": reason}).trouble
    assert not told({"type": "ended", "stop_reason": "end_turn"}).trouble


def test_spending_all_turns_is_a_budget_outage() -> None:
    assert told({"type": "ended", "stop_reason": "max_turn_requests"}).outage == "budget"
    assert told({"type": "ended", "stop_reason": "refusal"}).outage is None


def test_a_missing_or_zero_price_leaves_tokens_unpriced() -> None:
    used = {"type": "usage", "tokens_in": 10, "tokens_out": 5, "cached": 20}
    assert told(used).usage == Usage(10, 5, cached=10, unpriced=15)
    assert told({**used, "cost": 0}).usage.unpriced == 15
    assert told({**used, "cost": 0.5}).usage == Usage(10, 5, 0.5, cached=10)


def test_a_session_id_that_looks_like_an_option_or_a_path_is_dropped() -> None:
    assert told({"type": "session", "id": "--yolo"}).session == ""
    assert told({"type": "session", "id": "a/b"}).session == ""
    assert told({"type": "session", "id": "ses_e1aa"}).session == "ses_e1aa"


# damage

EVENTS = st.dictionaries(
    st.sampled_from(["type", "id", "text", "code", "message", "stop_reason", "cost", "tokens_in", "final", "data"]),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["error", "ended"]),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
        max_leaves=4,
    ),
)


@settings(max_examples=50)
@given(st.lists(EVENTS, max_size=4))
def test_the_reader_survives_any_events(events: list[dict[str, Any]]) -> None:
    reader = AcpReader()
    for event in events:
        reader.take(event)
    reader.summary()


@given(st.data(), st.sampled_from(GOOD))
def test_a_stream_without_its_last_event_is_no_success(data: st.DataObject, lines: list[bytes]) -> None:
    rest = data.draw(st.permutations([*lines[:-1], *data.draw(st.lists(st.sampled_from(lines[:-1]), max_size=2))]))
    assert not succeeds(b"".join(rest))
    cut = data.draw(st.integers(0, len(lines[-1]) - 3))
    assert not succeeds(b"".join(lines[:-1]) + lines[-1][:cut])


@given(st.data(), st.sampled_from(BAD))
def test_a_failed_stream_never_becomes_a_success(data: st.DataObject, lines: list[bytes]) -> None:
    mark = next(line for line in lines if b'"error"' in line or b'"ended"' in line)
    others = [line for line in lines if line != mark]
    kept = data.draw(st.lists(st.sampled_from([*others, b'{"type":"new","a":[]}\n', b"\xff\n"]), max_size=8))
    assert not succeeds(b"".join(data.draw(st.permutations([*kept, mark, GOOD[0][-1]]))))


@given(st.data(), st.sampled_from(list(STREAMS.values())))
def test_a_flipped_bit_never_makes_a_success(data: st.DataObject, lines: list[bytes]) -> None:
    whole = bytearray(b"".join(lines))
    whole[data.draw(st.integers(0, len(whole) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    assert not succeeds(bytes(whole)) or lines in GOOD
