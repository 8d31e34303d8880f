"""Anthropic's Messages."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from played_model.script import ModelFailure
from played_model.wire import (
    ConversationEntry,
    Document,
    ModelAnswer,
    ModelRequest,
    Tool,
    ToolCall,
    entries_of,
    event,
    new_id,
    pieces,
    text_in,
)

NAME: Final = "anthropic"
_ERROR_TYPES: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


class _Block(msgspec.Struct):
    type: str = "text"
    text: str | None = None
    content: Any = None


class _AnthropicMessage(msgspec.Struct):
    role: str
    content: str | list[_Block]


class _AnthropicTool(msgspec.Struct):
    name: str


class _AnthropicBody(msgspec.Struct):
    model: str
    messages: list[msgspec.Raw]
    system: Any = None
    tools: list[_AnthropicTool] | None = None
    stream: bool | None = None


def read(body: bytes) -> ModelRequest:
    """Parse a request."""

    def entries(message: _AnthropicMessage) -> Iterator[ConversationEntry]:
        blocks = [_Block(text=message.content)] if isinstance(message.content, str) else message.content
        if message.role == "assistant":
            yield ConversationEntry("model", "\n".join(block.text or "" for block in blocks))
            return
        for block in blocks:
            if block.type == "tool_result":
                yield ConversationEntry("result", text_in(block.content))
            elif block.text:
                yield ConversationEntry("system" if message.role == "system" else "prompt", block.text)

    found = msgspec.json.decode(body, type=_AnthropicBody)
    system = ConversationEntry("system", text_in(found.system))
    return ModelRequest(
        model=found.model,
        entries=(system, *entries_of(found.messages, _AnthropicMessage, entries)),
        tools=tuple(Tool(each.name) for each in found.tools or ()),
        is_streamed=bool(found.stream),
        # The service caches only what a client marks.
        cache="asked" if b'"cache_control"' in body else "",
    )


def whole(asked: ModelRequest, answer: ModelAnswer) -> Document:
    """The answer as one document."""
    text = [{"type": "text", "text": answer.text}] if answer.text or not answer.calls else []
    calls = [_call(call, call.arguments) for call in answer.calls]
    return _message(asked, [*text, *calls], answer.stop_reason, _usage(answer))


def stream(asked: ModelRequest, answer: ModelAnswer) -> Iterator[bytes]:
    """The answer as server-sent events."""
    usage = _usage(answer)
    yield _event("message_start", message=_message(asked, [], None, {**usage, "output_tokens": 1}))
    speaks = bool(answer.text or not answer.calls)
    if speaks:
        yield _event("content_block_start", index=0, content_block={"type": "text", "text": ""})
        yield _event("ping")
        for piece in pieces(answer.text):
            yield _event("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})
        yield _event("content_block_stop", index=0)
    for at, call in enumerate(answer.calls, int(speaks)):
        yield _event("content_block_start", index=at, content_block=_call(call, {}))
        for piece in pieces(call.written):
            yield _event("content_block_delta", index=at, delta={"type": "input_json_delta", "partial_json": piece})
        yield _event("content_block_stop", index=at)
    yield _event("message_delta", delta={"stop_reason": answer.stop_reason, "stop_sequence": None}, usage=usage)
    yield _event("message_stop")


def refusal(failure: ModelFailure) -> Document:
    """The body of an answer that is no success."""
    kind = failure.type or _ERROR_TYPES.get(failure.status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": failure.message}, "request_id": new_id("req")}


def _event(kind: str, **fields: Any) -> bytes:
    return event({"type": kind, **fields}, kind)


def _message(asked: ModelRequest, content: list[Document], stop: str | None, usage: Document) -> Document:
    return {
        "id": new_id("msg"),
        "type": "message",
        "role": "assistant",
        "model": asked.model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
    }


def _call(call: ToolCall, arguments: Document) -> Document:
    toolu = call.id.replace("call_", "toolu_", 1)
    return {"type": "tool_use", "id": toolu, "name": call.tool.name, "input": arguments}


def _usage(answer: ModelAnswer) -> Document:
    usage = answer.usage
    return {
        "input_tokens": usage.tokens_in,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.tokens_out,
    }
