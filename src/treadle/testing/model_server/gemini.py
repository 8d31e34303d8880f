"""Gemini's generateContent. The address names the model and whether the answer is a stream, not the body."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from treadle.testing.model_server.answer import Answer, Made, new_id, pieces
from treadle.testing.model_server.request import Asked, Entry, Tool, entries_of, text_in
from treadle.testing.model_server.script import Failure
from treadle.testing.model_server.wire import Document, event

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
_RETRY: Final = "type.googleapis.com/google.rpc.RetryInfo"


class _Part(msgspec.Struct, rename="camel"):
    text: str | None = None
    function_response: Any = None


class _Content(msgspec.Struct):
    parts: list[_Part] | None = None
    role: str | None = None


class _Declaration(msgspec.Struct):
    name: str


class _Tool(msgspec.Struct, rename="camel"):
    function_declarations: list[_Declaration] | None = None


class _Body(msgspec.Struct, rename="camel"):
    contents: list[msgspec.Raw]
    system_instruction: Any = None
    tools: list[_Tool] | None = None


def read(body: bytes) -> Asked:
    """What is asked for; the model is added by whoever has read the address."""
    found = msgspec.json.decode(body, type=_Body)
    system = Entry("system", text_in(found.system_instruction))
    declared = [each for tool in found.tools or () for each in tool.function_declarations or ()]
    entries = (system, *entries_of(found.contents, _Content, _entries))
    return Asked(model="", entries=entries, tools=tuple(Tool(each.name) for each in declared))


def _entries(content: _Content) -> Iterator[Entry]:
    parts = content.parts or []
    if content.role == "model":
        yield Entry("model", "\n".join(part.text or "" for part in parts))
        return
    for part in parts:
        if part.function_response is not None:
            yield Entry("result", text_in(part.function_response))
        elif part.text:
            yield Entry("prompt", part.text)


def whole(asked: Asked, answer: Answer) -> Document:
    """The answer as one document."""
    said = [{"text": answer.text}] if answer.text or not answer.calls else []
    return _document(asked, answer, [*said, *map(_call, answer.calls)], is_last=True)


def stream(asked: Asked, answer: Answer) -> Iterator[bytes]:
    """The answer as server-sent events."""
    parts = [*({"text": piece} for piece in pieces(answer.text)), *map(_call, answer.calls)] or [{"text": ""}]
    for at, part in enumerate(parts, 1):
        yield event(_document(asked, answer, [part], is_last=at == len(parts)))


def refusal(failure: Failure) -> Document:
    """The body of an answer that is no success."""
    status = failure.type or _STATUSES.get(failure.status, "UNKNOWN")
    error: Document = {"code": failure.status, "message": failure.message, "status": status}
    wait = next((value for name, value in failure.headers.items() if name.lower() == "retry-after"), "")
    if wait:
        error["details"] = [{"@type": _RETRY, "retryDelay": f"{wait}s"}]
    return {"error": error}


def _document(asked: Asked, answer: Answer, parts: list[Document], *, is_last: bool) -> Document:
    candidate: Document = {"content": {"role": "model", "parts": parts}, "index": 0}
    if is_last:
        candidate["finishReason"] = _STOPS[answer.stop_reason]
    return {
        "candidates": [candidate],
        "usageMetadata": _usage(answer),
        "modelVersion": asked.model,
        "responseId": new_id("resp"),
    }


def _call(call: Made) -> Document:
    return {"functionCall": {"id": call.id, "name": call.tool.name, "args": call.arguments}}


def _usage(answer: Answer) -> Document:
    usage = answer.usage
    given = usage.tokens_in + usage.cache_read + usage.cache_write
    return {
        "promptTokenCount": given,
        "cachedContentTokenCount": usage.cache_read,
        "candidatesTokenCount": usage.tokens_out - usage.reasoning,
        "thoughtsTokenCount": usage.reasoning,
        "totalTokenCount": given + usage.tokens_out,
    }
