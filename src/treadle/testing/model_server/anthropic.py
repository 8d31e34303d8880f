"""Anthropic's Messages."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from treadle.testing.model_server.answer import Answer, Made, new_id, pieces
from treadle.testing.model_server.request import Asked, Entry, Tool, entries_of, text_in
from treadle.testing.model_server.script import Failure
from treadle.testing.model_server.wire import Document, event

NAME: Final = "anthropic"
_MARK: Final = b'"cache_control"'
"""By which a client has the service keep what stands before it."""
_TYPES: Final = {
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


class _Message(msgspec.Struct):
    role: str
    content: str | list[_Block]


class _Tool(msgspec.Struct):
    name: str


class _Body(msgspec.Struct):
    model: str
    messages: list[msgspec.Raw]
    system: Any = None
    tools: list[_Tool] | None = None
    stream: bool | None = None


def read(body: bytes) -> Asked:
    """What is asked for."""
    found = msgspec.json.decode(body, type=_Body)
    return Asked(
        model=found.model,
        entries=(Entry("system", text_in(found.system)), *entries_of(found.messages, _Message, _entries)),
        tools=tuple(Tool(each.name) for each in found.tools or ()),
        is_streamed=bool(found.stream),
        cache="asked" if _MARK in body else "",
    )


def _entries(message: _Message) -> Iterator[Entry]:
    blocks = [_Block(text=message.content)] if isinstance(message.content, str) else message.content
    if message.role == "assistant":
        yield Entry("model", "\n".join(block.text or "" for block in blocks))
        return
    for block in blocks:
        if block.type == "tool_result":
            yield Entry("result", text_in(block.content))
        elif block.text:
            yield Entry("system" if message.role == "system" else "prompt", block.text)


def whole(asked: Asked, answer: Answer) -> Document:
    """The answer as one document."""
    said = [{"type": "text", "text": answer.text}] if answer.text or not answer.calls else []
    called = [{**_call(call), "input": call.arguments} for call in answer.calls]
    return _message(asked, [*said, *called], answer.stop_reason, _usage(answer))


def stream(asked: Asked, answer: Answer) -> Iterator[bytes]:
    """The answer as server-sent events."""
    usage = _usage(answer)
    start = _message(asked, [], None, {**usage, "output_tokens": 1})
    yield _event("message_start", message=start)
    speaks = bool(answer.text or not answer.calls)
    if speaks:
        yield _event("content_block_start", index=0, content_block={"type": "text", "text": ""})
        yield _event("ping")
        for piece in pieces(answer.text):
            yield _event("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})
        yield _event("content_block_stop", index=0)
    for at, call in enumerate(answer.calls, int(speaks)):
        yield _event("content_block_start", index=at, content_block={**_call(call), "input": {}})
        for piece in pieces(call.written):
            yield _event("content_block_delta", index=at, delta={"type": "input_json_delta", "partial_json": piece})
        yield _event("content_block_stop", index=at)
    yield _event("message_delta", delta={"stop_reason": answer.stop_reason, "stop_sequence": None}, usage=usage)
    yield _event("message_stop")


def refusal(failure: Failure) -> Document:
    """The body of an answer that is no success."""
    kind = failure.type or _TYPES.get(failure.status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": failure.message}, "request_id": new_id("req")}


def _event(kind: str, **fields: Any) -> bytes:
    return event({"type": kind, **fields}, kind)


def _message(asked: Asked, content: list[Document], stop: str | None, usage: Document) -> Document:
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


def _call(call: Made) -> Document:
    return {"type": "tool_use", "id": call.id.replace("call_", "toolu_", 1), "name": call.tool.name}


def _usage(answer: Answer) -> Document:
    usage = answer.usage
    return {
        "input_tokens": usage.tokens_in,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.tokens_out,
    }
