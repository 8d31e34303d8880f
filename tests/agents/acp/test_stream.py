"""What the stream of a client is taken for, also when it is damaged."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treadle.agents.acp.stream import AcpReader
from treadle.agents.told import Told, read_all
from treadle.kernel.events import Outages, Usage

STREAMS = {
    path.stem: path.read_bytes().splitlines(keepends=True)
    for path in sorted(Path(__file__).parents[1].joinpath("streams").glob("acp-*.jsonl"))
}
GOOD = [lines for name, lines in STREAMS.items() if name in ("acp-gemini-step", "acp-opencode-step")]
BAD = [lines for lines in STREAMS.values() if lines not in GOOD]


def told(*events: dict[str, Any]) -> Told:
    return read_all(AcpReader(), b"".join(json.dumps(event).encode() + b"\n" for event in events))


def succeeds(data: bytes) -> bool:
    found = read_all(AcpReader(), data)
    return found.is_over and not found.trouble


@pytest.mark.parametrize("name", ["acp-gemini-step", "acp-opencode-step"])
def test_a_step(name: str) -> None:
    found = read_all(AcpReader(), b"".join(STREAMS[name]))
    assert (found.is_over, found.trouble, found.final) == (True, "", "It is handed in.")
    assert found.usage.tokens_in == 9000
    assert found.usage.unpriced == 9220
    assert "it was refused" in found.notes[0]
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
def test_errors(error: dict[str, Any], outage: Outages | None, wait: int) -> None:
    found = told({"type": "error", "during": "prompt", **error}, {"type": "ended", "stop_reason": "end_turn"})
    assert found.trouble
    assert (found.outage, found.wait) == (outage, wait)


@pytest.mark.parametrize("reason", ["max_tokens", "max_turn_requests", "refusal", "cancelled", "odd", "", None, 7])
def test_only_the_end_of_a_turn_is_a_success(reason: object) -> None:
    assert told({"type": "ended", "stop_reason": reason}).trouble
    assert not told({"type": "ended", "stop_reason": "end_turn"}).trouble


def test_who_has_taken_all_turns_is_over_its_budget() -> None:
    assert told({"type": "ended", "stop_reason": "max_turn_requests"}).outage == "budget"
    assert told({"type": "ended", "stop_reason": "refusal"}).outage is None


def test_prices_of_nothing_are_unknown() -> None:
    used = {"type": "usage", "tokens_in": 10, "tokens_out": 5, "cached": 20}
    assert told(used).usage == Usage(10, 5, cached=10, unpriced=15)
    assert told({**used, "cost": 0}).usage.unpriced == 15
    assert told({**used, "cost": 0.5}).usage == Usage(10, 5, 0.5, cached=10)


def test_a_name_that_could_be_an_option_is_none() -> None:
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
def test_no_event_makes_it_fail(events: list[dict[str, Any]]) -> None:
    reader = AcpReader()
    for event in events:
        reader.take(event)
    reader.told()


@given(st.data(), st.sampled_from(GOOD))
def test_without_its_last_event_nothing_is_a_success(data: st.DataObject, lines: list[bytes]) -> None:
    rest = data.draw(st.permutations([*lines[:-1], *data.draw(st.lists(st.sampled_from(lines[:-1]), max_size=2))]))
    assert not succeeds(b"".join(rest))
    cut = data.draw(st.integers(0, len(lines[-1]) - 3))
    assert not succeeds(b"".join(lines[:-1]) + lines[-1][:cut])


@given(st.data(), st.sampled_from(BAD))
def test_what_failed_never_becomes_a_success(data: st.DataObject, lines: list[bytes]) -> None:
    mark = next(line for line in lines if b'"error"' in line or b'"ended"' in line)
    others = [line for line in lines if line != mark]
    kept = data.draw(st.lists(st.sampled_from([*others, b'{"type":"new","a":[]}\n', b"\xff\n"]), max_size=8))
    assert not succeeds(b"".join(data.draw(st.permutations([*kept, mark, GOOD[0][-1]]))))


@given(st.data(), st.sampled_from(list(STREAMS.values())))
def test_a_flipped_bit_never_makes_a_success(data: st.DataObject, lines: list[bytes]) -> None:
    whole = bytearray(b"".join(lines))
    whole[data.draw(st.integers(0, len(whole) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    assert not succeeds(bytes(whole)) or lines in GOOD
