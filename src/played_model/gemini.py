"""Gemini's generateContent. The address names the model and whether the answer is a stream, not the body."""

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

NAME: Final = "gemini"
_STOPS: Final = {"end_turn": "STOP", "tool_use": "STOP", "max_tokens": "MAX_TOKENS", "refusal": "SAFETY"}
_STATUSES: Final = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


class _GeminiPart(msgspec.Struct, rename="camel"):
    text: str | None = None
    function_response: Any = None


class _Content(msgspec.Struct):
    parts: list[_GeminiPart] | None = None
    role: str | None = None


class _Declaration(msgspec.Struct):
    name: str


class _GeminiTool(msgspec.Struct, rename="camel"):
    function_declarations: list[_Declaration] | None = None


class _GeminiBody(msgspec.Struct, rename="camel"):
    contents: list[msgspec.Raw]
    system_instruction: Any = None
    tools: list[_GeminiTool] | None = None


def read(body: bytes) -> ModelRequest:
    """Parse a request; the caller adds the model, which is part of the address."""

    def entries(content: _Content) -> Iterator[ConversationEntry]:
        parts = content.parts or []
        if content.role == "model":
            yield ConversationEntry("model", "\n".join(part.text or "" for part in parts))
            return
        for part in parts:
            if part.function_response is not None:
                yield ConversationEntry("result", text_in(part.function_response))
            elif part.text:
                yield ConversationEntry("prompt", part.text)

    found = msgspec.json.decode(body, type=_GeminiBody)
    system = ConversationEntry("system", text_in(found.system_instruction))
    declared = [each for tool in found.tools or () for each in tool.function_declarations or ()]
    return ModelRequest(
        model="",
        entries=(system, *entries_of(found.contents, _Content, entries)),
        tools=tuple(Tool(each.name) for each in declared),
    )


def whole(asked: ModelRequest, answer: ModelAnswer) -> Document:
    """The answer as one document."""
    text = [{"text": answer.text}] if answer.text or not answer.calls else []
    return _document(asked, answer, [*text, *map(_call, answer.calls)], is_last=True)


def stream(asked: ModelRequest, answer: ModelAnswer) -> Iterator[bytes]:
    """The answer as server-sent events."""
    parts = [*({"text": piece} for piece in pieces(answer.text)), *map(_call, answer.calls)] or [{"text": ""}]
    for at, part in enumerate(parts, 1):
        yield event(_document(asked, answer, [part], is_last=at == len(parts)))


def refusal(failure: ModelFailure) -> Document:
    """The body of an answer that is no success."""
    status = failure.type or _STATUSES.get(failure.status, "UNKNOWN")
    error: Document = {"code": failure.status, "message": failure.message, "status": status}
    for name, value in failure.headers.items():
        if name.lower() == "retry-after":  # its clients look for the wait in the body
            error["details"] = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{value}s"}]
    return {"error": error}


def _document(asked: ModelRequest, answer: ModelAnswer, parts: list[Document], *, is_last: bool) -> Document:
    candidate: Document = {"content": {"role": "model", "parts": parts}, "index": 0}
    if is_last:
        candidate["finishReason"] = _STOPS[answer.stop_reason]
    usage = answer.usage
    given = usage.tokens_in + usage.cache_read + usage.cache_write
    counts = {
        "promptTokenCount": given,
        "cachedContentTokenCount": usage.cache_read,
        "candidatesTokenCount": usage.tokens_out - usage.reasoning,
        "thoughtsTokenCount": usage.reasoning,
        "totalTokenCount": given + usage.tokens_out,
    }
    return {
        "candidates": [candidate],
        "usageMetadata": counts,
        "modelVersion": asked.model,
        "responseId": new_id("resp"),
    }


def _call(call: ToolCall) -> Document:
    return {"functionCall": {"id": call.id, "name": call.tool.name, "args": call.arguments}}
