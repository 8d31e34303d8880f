"""Recorded streams of Claude Code, whole and damaged: the reader never fails, and believes no damaged success."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treadle.agents.claude import ClaudeReader
from treadle.agents.event_stream import StreamSummary, event_of, read_all
from treadle.kernel.events import Usage
from treadle.ports import Progress

STREAMS = {path.stem: path.read_bytes() for path in sorted((Path(__file__).parent / "streams").glob("claude-*.jsonl"))}
GOOD = ("claude-write", "claude-subagent", "claude-two-results", "claude-refused")
BAD = tuple(name for name in STREAMS if name not in GOOD)
RESULT = {"type": "result", "subtype": "success", "is_error": False, "result": "Done.", "result_index": 0}
SPENT = {"inputTokens": 10, "cacheReadInputTokens": 80, "cacheCreationInputTokens": 10, "outputTokens": 5}


def told(*events: dict[str, Any]) -> StreamSummary:
    return read_all(ClaudeReader(), b"".join(json.dumps(event).encode() + b"\n" for event in events))


def is_success(told: StreamSummary) -> bool:
    return told.is_over and not told.trouble


@pytest.mark.parametrize(
    ("name", "final", "usage", "trouble", "outage"),
    [
        ("write", "DONE: hello.txt written.", Usage(5800, 140, 0.01878, cached=1900), "", None),
        ("subagent", "subagent finished, done", Usage(4000, 200, 0.02), "", None),
        ("two-results", "lead done 2", Usage(8000, 400, 0.04), "", None),
        ("refused", "Done.", Usage(3000, 150, 0.015), "", None),
        ("interrupted", "", Usage(2000, 50, 0.005, unpriced=1000), "(aborted_streaming)", None),
        ("forbidden", "Failed to authenticate. API Error: 403 scripted 403", Usage(), "403 scripted", "login"),
        ("budget", "", Usage(400_000, 40_000, unpriced=440_000), "Reached maximum budget ($3)", "budget"),
        ("schema", "", Usage(4000, 200, unpriced=4200), "(structured_output_retry_exhausted)", None),
        ("rate", "API Error: Request rejected (429) · scripted 429", Usage(), "(429)", "rate"),
        ("offline", None, Usage(), "ECONNREFUSED", "network"),
        ("no-login", "Not logged in · Please run /login", Usage(), "Please run /login", "login"),
    ],
)
def test_a_recorded_stream(name: str, final: str | None, usage: Usage, trouble: str, outage: str | None) -> None:
    found = read_all(ClaudeReader(), STREAMS[f"claude-{name}"])
    assert found.is_over
    assert found.outage == outage
    assert final is None or found.final == final
    assert found.usage == rounded(usage, found.usage.cost)
    assert trouble in found.trouble
    assert bool(found.trouble) == bool(trouble)
    assert len(found.session) == 36


def rounded(usage: Usage, cost: float) -> Usage:
    assert usage.cost == pytest.approx(cost)
    return Usage(usage.tokens_in, usage.tokens_out, cost, usage.cached, usage.unpriced)


def test_progress_has_texts_tool_calls_and_token_counts() -> None:
    reader = ClaudeReader()
    heard = [reader.take(event) for line in STREAMS["claude-write"].splitlines() if (event := event_of(line))]
    assert [progress.text for progress in heard if progress and progress.text] == [
        "I will write the file.",
        "Write hello.txt",
        "Bash: cat hello.txt && git status --short",
        "DONE: hello.txt written.",
    ]
    counts = [progress.usage.tokens_in for progress in heard if progress and progress.usage]
    assert counts == [1200, 1200, 3400, 5800, 5800]


@pytest.mark.parametrize(
    ("event", "note"),
    [
        ({"subtype": "init", "mcp_servers": [{"name": "treadle", "status": "connected"}]}, ""),
        (
            {"subtype": "init", "mcp_servers": [{"name": "treadle", "status": "failed"}]},
            "its tool server 'treadle' is not connected",
        ),
        (
            {"subtype": "permission_denied", "tool_name": "Write", "decision_reason": "Path is outside"},
            "it was refused Write: Path is outside",
        ),
        ({"subtype": "permission_denied", "tool_name": "Web\x1b[31m"}, "it was refused Web [31m: it is not allowed"),
    ],
)
def test_unconnected_servers_and_denied_tools_become_notes_once(event: dict[str, Any], note: str) -> None:
    reader = ClaudeReader()
    assert reader.take({"type": "system", **event}) == Progress(note=note)
    assert reader.take({"type": "system", **event}) == Progress(), "it is told once"


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ({"type": "text", "text": "One\ntwo \x1b[2J three"}, "One two [2J three"),
        ({"type": "text", "text": "long " * 100}, ("long " * 24)[:119] + "…"),
        ({"type": "thinking", "thinking": "hm"}, ""),
        ({"type": "tool_use", "name": "Edit", "input": {"file_path": "/lane/src/x.py"}}, "Edit src/x.py"),
        ({"type": "tool_use", "name": "Bash", "input": {"command": "pytest -q"}}, "Bash: pytest -q"),
        ({"type": "tool_use", "name": "mcp__treadle__emit_exit", "input": {"exit": {}}}, "emit_exit"),
        ({"type": "tool_use", "name": "Grep", "input": {"pattern": "def ", "path": "src"}}, "Grep def"),
        ({"type": "tool_use", "name": 7, "input": []}, ""),
    ],
)
def test_the_words_of_a_message(block: dict[str, Any], words: str) -> None:
    reader = ClaudeReader()
    reader.take({"type": "system", "subtype": "init", "cwd": "/lane"})
    progress = reader.take({"type": "assistant", "message": {"id": "m", "content": [block]}})
    assert progress is not None
    assert progress.text == words


@pytest.mark.parametrize(
    ("basis", "usage"),
    [
        ({"costUSD": 0.5, "costBasis": "list"}, Usage(100, 5, 0.5, cached=80)),
        ({"costUSD": 0.5}, Usage(100, 5, 0.5, cached=80)),
        ({"costUSD": 0.5, "costBasis": "unknown"}, Usage(100, 5, cached=80, unpriced=105)),
        ({}, Usage(100, 5, cached=80, unpriced=105)),
    ],
)
def test_a_guessed_price_counts_as_unknown(basis: dict[str, Any], usage: Usage) -> None:
    assert told({**RESULT, "model_usage_since_last_result": {"m": SPENT | basis}}).usage == usage


def test_usage_is_known_even_if_it_was_killed() -> None:
    message = {"id": "m", "usage": {"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 1}}
    found = told({"type": "assistant", "message": message}, {"type": "assistant", "message": message})
    assert found.usage == Usage(100, 1, cached=90, unpriced=101)
    assert not found.is_over


@pytest.mark.parametrize(
    "change",
    [{"is_error": True}, {"is_error": None}, {"subtype": "error_max_turns"}, {"terminal_reason": "aborted_tools"}],
)
def test_a_result_that_is_no_success(change: dict[str, Any]) -> None:
    assert is_success(told(RESULT))
    assert not is_success(told(RESULT | change))


def test_a_message_after_the_result_revokes_the_success() -> None:
    for more in ({"type": "system", "subtype": "init"}, {"type": "assistant"}, {"type": "user"}):
        assert not is_success(told(RESULT, more))
    assert is_success(told(RESULT, {"type": "system", "subtype": "hook_response"}, {"type": "new"}))


@pytest.mark.parametrize(
    ("status", "words", "outage"),
    [
        (429, "rate limited", "rate"),
        (529, "overloaded", "overload"),
        (500, "Internal server error", "overload"),
        (401, "invalid x-api-key", "login"),
        (400, "Your credit balance is too low", "billing"),
        (400, "prompt is too long", None),
        (404, "model: no-such-model", None),
        (None, "Connection error.", "network"),
    ],
)
def test_an_api_error_becomes_an_outage(status: int | None, words: str, outage: str | None) -> None:
    failed = {"is_error": True, "terminal_reason": "api_error", "api_error_status": status, "result": words}
    assert told(RESULT | failed).outage == outage
    assert told(RESULT | failed | {"terminal_reason": "x", "api_error_status": None}).outage is None, (
        "the agent's words"
    )


def test_a_quota_says_when_it_can_be_used_again() -> None:
    limit = {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": int(time.time()) + 3600}}
    failed = RESULT | {"is_error": True, "terminal_reason": "api_error", "api_error_status": 429}
    found = told(limit, failed)
    assert found.outage == "quota"
    assert 3500 < found.wait <= 3600
    assert told(limit, RESULT).outage is None


def test_an_error_result_stays_an_error_in_any_order() -> None:
    error = RESULT | {"is_error": True, "result_index": 1}
    for events in ((RESULT, error), (error, RESULT), (error, RESULT, error), (RESULT | {"result_index": 1}, error)):
        assert not is_success(told(*events))
        assert not is_success(told(*reversed(events)))


@st.composite
def damaged(draw: st.DrawFn, names: tuple[str, ...]) -> bytes:
    """A stream after one or two accidents."""
    data = STREAMS[draw(st.sampled_from(names))]
    for accident in draw(st.lists(st.sampled_from(ACCIDENTS), min_size=1, max_size=2)):
        data = accident(draw, data)
    return data


def flipped(draw: st.DrawFn, data: bytes) -> bytes:
    at = draw(st.integers(0, len(data) - 1)) if data else 0
    return data[:at] + bytes([data[at] ^ (1 << draw(st.integers(0, 7)))]) + data[at + 1 :] if data else data


def ended_early(draw: st.DrawFn, data: bytes) -> bytes:
    return data[: draw(st.integers(0, len(data)))]


def without_a_line(draw: st.DrawFn, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    at = draw(st.integers(0, max(len(lines) - 1, 0)))
    return b"".join(lines[:at] + lines[at + 1 :])


def with_a_half_line(draw: st.DrawFn, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True) or [b"\n"]
    at = draw(st.integers(0, len(lines) - 1))
    lines[at] = lines[at][: len(lines[at]) // 2] + b"\n"
    return b"".join(lines)


def reordered(draw: st.DrawFn, data: bytes) -> bytes:
    return b"".join(draw(st.permutations(data.splitlines(keepends=True))))


def doubled(draw: st.DrawFn, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True) or [b"\n"]
    at = draw(st.integers(0, len(lines) - 1))
    return b"".join([*lines[: at + 1], *lines[at:]])


def with_another(draw: st.DrawFn, data: bytes) -> bytes:
    line = json.dumps(draw(EVENTS)).encode() + b"\n"
    lines = data.splitlines(keepends=True)
    at = draw(st.integers(0, len(lines)))
    return b"".join([*lines[:at], line, *lines[at:]])


ACCIDENTS = (flipped, ended_early, without_a_line, with_a_half_line, reordered, doubled, with_another)
LEAF = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
VALUES = st.recursive(
    LEAF,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=3,
)
TYPES = st.sampled_from(["assistant", "user", "system", "rate_limit_event", "stream_event", "news", 7, None])
PARTS = ("subtype", "message", "session_id", "content", "usage", "mcp_servers", "rate_limit_info", "cwd", "errors")
EVENTS = st.builds(
    lambda kind, rest: {**rest, "type": kind}, TYPES, st.dictionaries(st.sampled_from(PARTS), VALUES, max_size=4)
)


@given(damaged(BAD))
@settings(max_examples=100, deadline=None)
def test_no_damage_makes_a_success_of_a_failure(data: bytes) -> None:
    assert not is_success(read_all(ClaudeReader(), data))


@given(damaged(GOOD))
@settings(max_examples=100, deadline=None)
def test_a_damaged_success_counts_only_if_its_result_is_whole(data: bytes) -> None:
    found = read_all(ClaudeReader(), data)
    events = [event for line in data.split(b"\n") if (event := event_of(line))]
    last = [at for at, event in enumerate(events) if event.get("type") == "result" and event.get("is_error") is False]
    assert not is_success(found) or last
    assert not is_success(found) or not any(event.get("type") == "assistant" for event in events[last[-1] :])


@given(st.lists(st.dictionaries(st.text(max_size=5), VALUES, max_size=4) | EVENTS, max_size=3))
@settings(max_examples=50, deadline=None)
def test_any_events_without_a_result_are_no_success(events: list[dict[str, Any]]) -> None:
    assert not is_success(told(*events))


@given(st.dictionaries(st.sampled_from([*RESULT, "usage", "errors", "model_usage_since_last_result"]), VALUES))
@settings(max_examples=50, deadline=None)
def test_the_reader_survives_any_result(change: dict[str, Any]) -> None:
    found = told(RESULT | change)
    assert not is_success(found) or (change.get("is_error", False) is False)
