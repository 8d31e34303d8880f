"""OpenAI's chat completions, which many others speak too."""

import time
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from played_model.wire import (
    By,
    ConversationEntry,
    Document,
    ModelAnswer,
    ModelRequest,
    Tool,
    ToolCall,
    entries_of,
    event,
    new_id,
    openai_refusal,
    pieces,
    text_in,
)

NAME: Final = "chat"
_BY: Final[dict[str, By]] = {"assistant": "model", "user": "prompt", "tool": "result", "function": "result"}
_STOPS: Final = {"end_turn": "stop", "tool_use": "tool_calls", "max_tokens": "length", "refusal": "content_filter"}

refusal = openai_refusal


class _ChatMessage(msgspec.Struct):
    role: str
    content: Any = None


class _Function(msgspec.Struct):
    name: str


class _ChatTool(msgspec.Struct):
    type: str = "function"
    function: _Function | None = None


class _StreamOptions(msgspec.Struct):
    include_usage: bool = False


class _ChatBody(msgspec.Struct):
    model: str
    messages: list[msgspec.Raw]
    tools: list[_ChatTool] | None = None
    stream: bool | None = None
    stream_options: _StreamOptions | None = None


def read(body: bytes) -> ModelRequest:
    """Parse a request."""

    def entries(message: _ChatMessage) -> Iterator[ConversationEntry]:
        yield ConversationEntry(_BY.get(message.role, "system"), text_in(message.content))

    found = msgspec.json.decode(body, type=_ChatBody)
    return ModelRequest(
        model=found.model,
        entries=tuple(entries_of(found.messages, _ChatMessage, entries)),
        tools=tuple(Tool(each.function.name) for each in found.tools or () if each.function),
        is_streamed=bool(found.stream),
        wants_usage=bool(found.stream_options and found.stream_options.include_usage),
    )


def whole(asked: ModelRequest, answer: ModelAnswer) -> Document:
    """The answer as one document."""
    message: Document = {"role": "assistant", "content": answer.text or None}
    if answer.calls:
        message["tool_calls"] = [_call(call, call.written) for call in answer.calls]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _STOPS[answer.stop_reason]}
    return {**_head(asked, "chat.completion"), "choices": [choice], "usage": _usage(answer)}


def stream(asked: ModelRequest, answer: ModelAnswer) -> Iterator[bytes]:
    """The answer as server-sent events."""
    head = _head(asked, "chat.completion.chunk")

    def chunk(delta: Document, finish: str | None = None) -> bytes:
        return event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    yield chunk({"role": "assistant", "content": ""})
    for piece in pieces(answer.text):
        yield chunk({"content": piece})
    for at, call in enumerate(answer.calls):
        yield chunk({"tool_calls": [{**_call(call, ""), "index": at}]})
        for piece in pieces(call.written):
            yield chunk({"tool_calls": [{"index": at, "function": {"arguments": piece}}]})
    yield chunk({}, _STOPS[answer.stop_reason])
    if asked.wants_usage:
        yield event({**head, "choices": [], "usage": _usage(answer)})
    yield b"data: [DONE]\n\n"


def _head(asked: ModelRequest, kind: str) -> Document:
    return {"id": new_id("chatcmpl"), "object": kind, "created": int(time.time()), "model": asked.model}


def _call(call: ToolCall, arguments: str) -> Document:
    return {"id": call.id, "type": "function", "function": {"name": call.tool.name, "arguments": arguments}}


def _usage(answer: ModelAnswer) -> Document:
    usage = answer.usage
    given = usage.tokens_in + usage.cache_read + usage.cache_write
    return {
        "prompt_tokens": given,
        "completion_tokens": usage.tokens_out,
        "total_tokens": given + usage.tokens_out,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }
