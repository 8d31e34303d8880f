"""What is particular to each wire format; what they have in common is in test_server."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from played_model import anthropic, chat, gemini, responses
from played_model.player import Player
from played_model.script import read_scripts
from played_model.server import ModelServer
from played_model.wire import Wire
from tests.played_model.clients import BY_NAME, events, gemini_streamed, post

WIRES: list[Wire] = [anthropic, responses, chat, gemini]
KEYS = """model messages input contents role content parts text type tools name function functionDeclarations system
    instructions stream output functionResponse systemInstruction stream_options""".split()
WORDS = ["user", "assistant", "model", "tool", "message", "text", "tool_result", "namespace", "[[script:a]]", "b"]
PLAYER = Player(read_scripts("scripts: {a: [say: x, call: {tool: '*'}], b: [say: y]}", "s.yaml"))

leaves = (
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.sampled_from(WORDS) | st.text()
)
documents = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6)
)
messages = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(WORDS)}, optional={"content": documents}), max_size=4
)
bodies = st.fixed_dictionaries(
    {"model": st.just("m"), "messages": messages, "input": messages, "contents": documents},
    optional={"tools": documents, "system": documents, "stream": leaves},
)


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.NAME)
@settings(max_examples=30)
@given(body=bodies | documents)
def test_any_json_is_read_and_answered_or_refused(wire: Wire, body: Any) -> None:
    try:
        asked = wire.read(json.dumps(body).encode())
    except msgspec.DecodeError:
        return
    answer = PLAYER.answer(asked)
    assert msgspec.json.encode(wire.whole(asked, answer))
    assert all(frame.endswith(b"\n\n") for frame in wire.stream(asked, answer))


RESPONSES = BY_NAME["responses"]
CALLING = """
scripts:
  patch: [call: {tool: apply_patch, input: "*** Begin Patch"}]
  exit: [call: {tool: "mcp__exit__emit_exit", with: {type: Done}}]
  short: [call: {tool: emit_exit, with: {type: Done}}]
"""
CUSTOM = {"type": "custom", "name": "apply_patch"}
FUNCTION = {"type": "function", "name": "apply_patch"}
SPACE = {"type": "namespace", "name": "mcp__exit", "tools": [{"type": "function", "name": "emit_exit"}]}


@pytest.mark.parametrize(
    ("script", "tools", "call"),
    [
        ("patch", [CUSTOM], ("apply_patch", "*** Begin Patch")),
        ("patch", [FUNCTION], ("apply_patch", {"input": "*** Begin Patch"})),
        ("exit", [SPACE], ("mcp__exitemit_exit", {"type": "Done"})),
        ("short", [{"type": "web_search"}, SPACE], ("mcp__exitemit_exit", {"type": "Done"})),
        ("exit", [{"type": "custom", "name": "mcp__exit__emit_exit"}], ("mcp__exit__emit_exit", '{"type":"Done"}')),
    ],
)
def test_a_call_has_the_form_that_its_tool_declares(script: str, tools: list[dict[str, object]], call: object) -> None:
    asked = {"model": "m", "input": f"[[script:{script}]]", "tools": tools}
    with ModelServer(read_scripts(CALLING, "s.yaml")) as server:
        assert RESPONSES.whole(post(server, RESPONSES.path, asked).json()).calls == [call]
        streamed = post(server, RESPONSES.path, {**asked, "stream": True})
        assert RESPONSES.streamed(list(events(streamed.body))).calls == [call]


def test_tools_may_stand_in_the_conversation() -> None:
    items = [
        {"type": "additional_tools", "role": "developer", "tools": [SPACE]},
        {"type": "message", "role": "user", "content": "[[script:short]]"},
        {"type": "additional_tools", "role": "developer", "tools": [CUSTOM]},
    ]
    with ModelServer(read_scripts(CALLING, "s.yaml")) as server:
        found = RESPONSES.whole(post(server, RESPONSES.path, {"model": "m", "input": items}).json())
    assert found.calls == [("mcp__exitemit_exit", {"type": "Done"})]


def test_items_of_one_turn_count_once() -> None:
    script = "scripts: {a: [say: one, say: two, say: three]}"
    items = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "[[script:a]]"}]},
        *({"type": kind} for kind in ("reasoning", "function_call", "custom_tool_call")),
        *({"type": kind, "output": "x"} for kind in ("function_call_output", "custom_tool_call_output")),
    ]
    with ModelServer(read_scripts(script, "s.yaml")) as server:
        assert RESPONSES.whole(post(server, RESPONSES.path, {"model": "m", "input": items}).json()).text == "two"


def test_without_server_sent_events_a_stream_is_a_list(server: ModelServer) -> None:
    body = BY_NAME["gemini"].body([("prompt", "[[script:hello]]")], ["read"], True)
    reply = post(server, "/v1beta/models/gemini-x:streamGenerateContent", body)
    assert reply.headers["content-type"] == "application/json"
    assert gemini_streamed(reply.json()).text == "Hello, ünïcode world."
    assert reply.json()[0]["modelVersion"] == "gemini-x"


def test_a_stream_has_its_usage_only_on_request(server: ModelServer) -> None:
    body = BY_NAME["chat"].body([("prompt", "[[script:hello]]")], ["read"], True)
    with_usage = post(server, "/v1/chat/completions", body)
    without = post(server, "/chat/completions", {**body, "stream_options": None})
    assert [bool(event.get("usage")) for event in events(with_usage.body)][-1]
    assert not any("usage" in event for event in events(without.body))
    assert with_usage.body.endswith(b"data: [DONE]\n\n")
    assert without.body.endswith(b"data: [DONE]\n\n")
