"""Whatever a client sends, a wire format reads it or says that it cannot, and can answer."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treadle.testing.model_server import anthropic, chat, gemini, responses
from treadle.testing.model_server.playing import Player
from treadle.testing.model_server.script_reading import read_scripts
from treadle.testing.model_server.wire import Wire

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
