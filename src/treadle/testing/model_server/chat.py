"""OpenAI's chat completions, which many others speak too."""

import time
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from treadle.testing.model_server import openai_errors
from treadle.testing.model_server.answer import Answer, Made, new_id, pieces
from treadle.testing.model_server.request import Asked, By, Entry, Tool, entries_of, text_in
from treadle.testing.model_server.wire import Document, event

NAME: Final = "chat"
_BY: Final[dict[str, By]] = {"assistant": "model", "user": "prompt", "tool": "result", "function": "result"}
_STOPS: Final = {"end_turn": "stop", "tool_use": "tool_calls", "max_tokens": "length", "refusal": "content_filter"}

refusal = openai_errors.refusal


class _Message(msgspec.Struct):
    role: str
    content: Any = None


class _Function(msgspec.Struct):
    name: str


class _Tool(msgspec.Struct):
    type: str = "function"
    function: _Function | None = None


class _StreamOptions(msgspec.Struct):
    include_usage: bool = False


class _Body(msgspec.Struct):
    model: str
    messages: list[msgspec.Raw]
    tools: list[_Tool] | None = None
    stream: bool | None = None
    stream_options: _StreamOptions | None = None


def read(body: bytes) -> Asked:
    """What is asked for."""
    found = msgspec.json.decode(body, type=_Body)
    return Asked(
        model=found.model,
        entries=tuple(entries_of(found.messages, _Message, _entries)),
        tools=tuple(Tool(each.function.name) for each in found.tools or () if each.function),
        is_streamed=bool(found.stream),
        wants_usage=bool(found.stream_options and found.stream_options.include_usage),
    )


def _entries(message: _Message) -> Iterator[Entry]:
    yield Entry(_BY.get(message.role, "system"), text_in(message.content))


def whole(asked: Asked, answer: Answer) -> Document:
    """The answer as one document."""
    message: Document = {"role": "assistant", "content": answer.text or None}
    if answer.calls:
        message["tool_calls"] = [_call(call) for call in answer.calls]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _STOPS[answer.stop_reason]}
    return {**_head(asked, "chat.completion"), "choices": [choice], "usage": _usage(answer)}


def stream(asked: Asked, answer: Answer) -> Iterator[bytes]:
    """The answer as server-sent events."""
    head = _head(asked, "chat.completion.chunk")

    def told(delta: Document, finish: str | None = None) -> bytes:
        return event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    yield told({"role": "assistant", "content": ""})
    for piece in pieces(answer.text):
        yield told({"content": piece})
    for at, call in enumerate(answer.calls):
        made = _call(call)
        start = {**made, "index": at, "function": {"name": call.tool.name, "arguments": ""}}
        yield told({"tool_calls": [start]})
        for piece in pieces(call.written):
            yield told({"tool_calls": [{"index": at, "function": {"arguments": piece}}]})
    yield told({}, _STOPS[answer.stop_reason])
    if asked.wants_usage:
        yield event({**head, "choices": [], "usage": _usage(answer)})
    yield b"data: [DONE]\n\n"


def _head(asked: Asked, kind: str) -> Document:
    return {"id": new_id("chatcmpl"), "object": kind, "created": int(time.time()), "model": asked.model}


def _call(call: Made) -> Document:
    return {"id": call.id, "type": "function", "function": {"name": call.tool.name, "arguments": call.written}}


def _usage(answer: Answer) -> Document:
    usage = answer.usage
    given = usage.tokens_in + usage.cache_read + usage.cache_write
    return {
        "prompt_tokens": given,
        "completion_tokens": usage.tokens_out,
        "total_tokens": given + usage.tokens_out,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }
