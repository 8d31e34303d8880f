"""What agents' programs say on standard input, and what anybody else might."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.hooks.call import LARGEST, HookCall, read_call
from treadle.results.intake import Faulty

STREAMS = Path(__file__).parent / "said"


def lines(name: str) -> list[bytes]:
    return (STREAMS / f"{name}.jsonl").read_bytes().splitlines()


@pytest.mark.parametrize("name", ["claude", "claude-tasks", "codex"])
def test_every_recorded_call_is_understood(name: str) -> None:
    for line in lines(name):
        call = read_call(line)
        assert isinstance(call, HookCall)
        assert call.event == json.loads(line)["hook_event_name"]
        assert call.cwd == "/repo"
        assert call.session


def test_a_stop_call_has_the_last_message() -> None:
    (stop,) = [it for it in map(read_call, lines("codex")) if isinstance(it, HookCall) and it.event == "Stop"]
    assert (stop.last, stop.is_again) == ("DONE.", False)
    calls = [it for it in map(read_call, lines("claude")) if isinstance(it, HookCall)]
    ended = {it.event: it for it in calls}
    assert ended["SubagentStop"].last == "sub done"
    assert ended["SubagentStop"].mate == "afbfff8048299b802"
    assert ended["Stop"].last == "subagent finished, done"


def test_a_completed_task_has_its_name() -> None:
    calls = [it for it in map(read_call, lines("claude-tasks")) if isinstance(it, HookCall)]
    assert [it.task for it in calls if it.event == "TaskCompleted"] == ["write mate.txt"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is not JSON"),
        (b"{", "is not JSON"),
        (b"[]", "not a JSON object"),
        (b"\xff\xfe", "not UTF-8"),
        (b'{"a": 1, "a": 2}', "appears twice"),
        (b"[" * 100_000, "nested"),
        (b'{"cwd": "' + b"a" * LARGEST + b'"}', "the limit is"),
    ],
)
def test_malformed_input_is_faulty_with_its_reason(data: bytes, words: str) -> None:
    found = read_call(data)
    assert isinstance(found, Faulty)
    assert words in found.problems[0]


def test_a_field_of_another_type_counts_as_missing() -> None:
    told = {"cwd": 1, "stop_hook_active": "true", "last_assistant_message": None, "session_id": "a\0b"}
    assert read_call(json.dumps(told).encode()) == HookCall()


@given(st.binary(max_size=200) | st.recursive(st.none() | st.text() | st.floats(), st.lists).map(repr).map(str.encode))
def test_any_input_gives_a_call_or_a_fault(data: bytes) -> None:
    assert isinstance(read_call(data), HookCall | Faulty)
