"""OpenAI's Responses."""

import time
from collections.abc import Iterator
from itertools import count
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

NAME: Final = "responses"
_BY: Final[dict[str, By]] = {"assistant": "model", "user": "prompt"}
_INCOMPLETE: Final = {"max_tokens": "max_output_tokens", "refusal": "content_filter"}

refusal = openai_refusal


class _Item(msgspec.Struct):
    type: str = "message"
    role: str = ""
    content: Any = None
    output: Any = None
    tools: list["_Tool"] | None = None


class _Tool(msgspec.Struct):
    type: str
    name: str = ""
    tools: list["_Tool"] | None = None


class _ResponsesBody(msgspec.Struct):
    model: str
    input: str | list[msgspec.Raw] = ""
    instructions: str | None = None
    tools: list[_Tool] | None = None
    stream: bool | None = None


def read(body: bytes) -> ModelRequest:
    """Parse a request; Codex also offers tools within the conversation, and tools in a namespace."""
    found = msgspec.json.decode(body, type=_ResponsesBody)
    offered = list(found.tools or [])

    def entries(item: _Item) -> Iterator[ConversationEntry]:
        if item.type == "message":
            yield ConversationEntry(_BY.get(item.role, "system"), text_in(item.content))
        elif item.type == "additional_tools":
            offered.extend(item.tools or [])
            yield ConversationEntry("system")
        elif item.type.endswith("_output"):
            yield ConversationEntry("result", text_in(item.output))
        else:
            yield ConversationEntry("model")

    def flatten(tools: list[_Tool], namespace: str = "") -> Iterator[Tool]:
        for each in tools:
            if each.type == "namespace":
                yield from flatten(each.tools or [], each.name)
            elif each.name:
                yield Tool(each.name, namespace, takes_text=each.type == "custom")

    conversation = (
        [ConversationEntry("prompt", found.input)]
        if isinstance(found.input, str)
        else list(entries_of(found.input, _Item, entries))
    )
    return ModelRequest(
        model=found.model,
        entries=(ConversationEntry("system", found.instructions or ""), *conversation),
        tools=tuple(flatten(offered)),
        is_streamed=bool(found.stream),
    )


def whole(asked: ModelRequest, answer: ModelAnswer) -> Document:
    """The answer as one document."""
    return _finish(_start(asked), answer)


def stream(asked: ModelRequest, answer: ModelAnswer) -> Iterator[bytes]:
    """The answer as server-sent events."""
    numbers, response = count(), _start(asked)

    def numbered(kind: str, **fields: Any) -> bytes:
        return event({"type": kind, "sequence_number": next(numbers), **fields}, kind)

    yield numbered("response.created", response=response)
    yield numbered("response.in_progress", response=response)
    finished = _finish(response, answer)
    for at, item in enumerate(finished["output"]):
        key = {"message": "content", "custom_tool_call": "input"}.get(item["type"], "arguments")
        empty = {**item, key: type(item[key])(), "status": "in_progress"}
        yield numbered("response.output_item.added", output_index=at, item=empty)
        for kind, fields in _deltas(item):
            yield numbered(kind, item_id=item["id"], output_index=at, **fields)
        yield numbered("response.output_item.done", output_index=at, item=item)
    yield numbered(f"response.{finished['status']}", response=finished)


def _deltas(item: Document) -> Iterator[tuple[str, Document]]:
    """Yield the events between the start of an item and its end."""
    if item["type"] == "message":
        [part] = item["content"]
        yield "response.content_part.added", {"content_index": 0, "part": {**part, "text": ""}}
        for piece in pieces(part["text"]):
            yield "response.output_text.delta", {"content_index": 0, "delta": piece, "logprobs": []}
        yield "response.output_text.done", {"content_index": 0, "text": part["text"], "logprobs": []}
        yield "response.content_part.done", {"content_index": 0, "part": part}
        return
    custom = item["type"] == "custom_tool_call"
    name, key = ("custom_tool_call_input", "input") if custom else ("function_call_arguments", "arguments")
    for piece in pieces(item[key]):
        yield f"response.{name}.delta", {"delta": piece}
    yield f"response.{name}.done", {key: item[key]}


def _start(asked: ModelRequest) -> Document:
    return {
        "id": new_id("resp"),
        "object": "response",
        "created_at": int(time.time()),
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "model": asked.model,
        "output": [],
        "usage": None,
    }


def _finish(response: Document, answer: ModelAnswer) -> Document:
    output = [_call(call) for call in answer.calls]
    if answer.text or not answer.calls:
        part = {"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}
        message = {"id": new_id("msg"), "type": "message", "status": "completed", "role": "assistant"}
        output.insert(0, {**message, "content": [part]})
    reason = _INCOMPLETE.get(answer.stop_reason)
    usage = answer.usage
    given = usage.tokens_in + usage.cache_read + usage.cache_write
    return {
        **response,
        "status": "incomplete" if reason else "completed",
        "incomplete_details": {"reason": reason} if reason else None,
        "output": output,
        "usage": {
            "input_tokens": given,
            "input_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
            "output_tokens": usage.tokens_out,
            "output_tokens_details": {"reasoning_tokens": usage.reasoning},
            "total_tokens": given + usage.tokens_out,
        },
    }


def _call(call: ToolCall) -> Document:
    space = {"namespace": call.tool.namespace} if call.tool.namespace else {}
    named = {"status": "completed", "call_id": call.id, "name": call.tool.name, **space}
    if call.tool.takes_text:
        return {"id": new_id("ctc"), "type": "custom_tool_call", **named, "input": call.input}
    return {"id": new_id("fc"), "type": "function_call", **named, "arguments": call.written}
