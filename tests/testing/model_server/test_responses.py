"""What only OpenAI's Responses have: tools that take text, and tools in a namespace."""

import pytest

from tests.testing.model_server.clients import BY_NAME, events, post
from treadle.testing.model_server.script_reading import read_scripts
from treadle.testing.model_server.server import ModelServer

CLIENT = BY_NAME["responses"]
SCRIPTS = """
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
def test_a_call_is_made_as_its_tool_takes_it(script: str, tools: list[dict[str, object]], call: object) -> None:
    asked = {"model": "m", "input": f"[[script:{script}]]", "tools": tools}
    with ModelServer(read_scripts(SCRIPTS, "s.yaml")) as server:
        assert CLIENT.whole(post(server, CLIENT.path, asked).json()).calls == [call]
        streamed = post(server, CLIENT.path, {**asked, "stream": True})
        assert CLIENT.streamed(list(events(streamed.body))).calls == [call]


def test_tools_may_stand_in_the_conversation() -> None:
    items = [
        {"type": "additional_tools", "role": "developer", "tools": [SPACE]},
        {"type": "message", "role": "user", "content": "[[script:short]]"},
        {"type": "additional_tools", "role": "developer", "tools": [CUSTOM]},
    ]
    with ModelServer(read_scripts(SCRIPTS, "s.yaml")) as server:
        found = CLIENT.whole(post(server, CLIENT.path, {"model": "m", "input": items}).json())
    assert found.calls == [("mcp__exitemit_exit", {"type": "Done"})]


def test_items_of_one_turn_count_once() -> None:
    script = "scripts: {a: [say: one, say: two, say: three]}"
    items = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "[[script:a]]"}]},
        *({"type": kind} for kind in ("reasoning", "function_call", "custom_tool_call")),
        *({"type": kind, "output": "x"} for kind in ("function_call_output", "custom_tool_call_output")),
    ]
    with ModelServer(read_scripts(script, "s.yaml")) as server:
        assert CLIENT.whole(post(server, CLIENT.path, {"model": "m", "input": items}).json()).text == "two"
