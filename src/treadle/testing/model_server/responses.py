"""OpenAI's Responses."""

import time
from collections.abc import Iterator
from itertools import count
from typing import Any, Final

import msgspec

from treadle.testing.model_server import openai_errors
from treadle.testing.model_server.answer import Answer, Made, new_id, pieces
from treadle.testing.model_server.request import Asked, By, Entry, Tool, entries_of, text_in
from treadle.testing.model_server.wire import Document, event

NAME: Final = "responses"
_OUTPUTS: Final = "_output"
_MORE: Final = "additional_tools"
_BY: Final[dict[str, By]] = {"assistant": "model", "user": "prompt"}
_INCOMPLETE: Final = {"max_tokens": "max_output_tokens", "refusal": "content_filter"}

refusal = openai_errors.refusal


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


class _Body(msgspec.Struct):
    model: str
    input: str | list[msgspec.Raw] = ""
    instructions: str | None = None
    tools: list[_Tool] | None = None
    stream: bool | None = None


def read(body: bytes) -> Asked:
    """What is asked for."""
    found = msgspec.json.decode(body, type=_Body)
    sent = found.input
    given = [Entry("prompt", sent)] if isinstance(sent, str) else entries_of(sent, _Item, _entries)
    more = [] if isinstance(sent, str) else _more_tools(sent)
    return Asked(
        model=found.model,
        entries=(Entry("system", found.instructions or ""), *given),
        tools=tuple(_tools([*(found.tools or []), *more])),
        is_streamed=bool(found.stream),
    )


def _entries(item: _Item) -> Iterator[Entry]:
    if item.type == "message":
        yield Entry(_BY.get(item.role, "system"), text_in(item.content))
    elif item.type == _MORE:
        yield Entry("system")
    else:
        yield Entry("result", text_in(item.output)) if item.type.endswith(_OUTPUTS) else Entry("model")


def _more_tools(sent: list[msgspec.Raw]) -> Iterator[_Tool]:
    """Those that stand in the conversation itself."""
    for raw in sent:
        item = msgspec.json.decode(raw, type=_Item)
        yield from (item.tools or []) if item.type == _MORE else []


def _tools(given: list[_Tool], namespace: str = "") -> Iterator[Tool]:
    for each in given:
        if each.type == "namespace":
            yield from _tools(each.tools or [], each.name)
        elif each.name:
            yield Tool(each.name, namespace, takes_text=each.type == "custom")


def whole(asked: Asked, answer: Answer) -> Document:
    """The answer as one document."""
    return _ended(_response(asked), answer)


def stream(asked: Asked, answer: Answer) -> Iterator[bytes]:
    """The answer as server-sent events."""
    numbers, response = count(), _response(asked)

    def told(kind: str, **fields: Any) -> bytes:
        return event({"type": kind, "sequence_number": next(numbers), **fields}, kind)

    yield told("response.created", response=response)
    yield told("response.in_progress", response=response)
    ended = _ended(response, answer)
    for at, item in enumerate(ended["output"]):
        yield told("response.output_item.added", output_index=at, item={**item, **_empty(item)})
        place = {"item_id": item["id"], "output_index": at}
        for kind, fields in _deltas(item):
            yield told(kind, **place, **fields)
        yield told("response.output_item.done", output_index=at, item=item)
    yield told(f"response.{ended['status']}", response=ended)


def _deltas(item: Document) -> Iterator[tuple[str, Document]]:
    """What comes between the start of an item and its end."""
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


def _empty(item: Document) -> Document:
    """An item at its start."""
    key = {"message": "content", "custom_tool_call": "input"}.get(item["type"], "arguments")
    return {key: type(item[key])(), "status": "in_progress"}


def _response(asked: Asked) -> Document:
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


def _ended(response: Document, answer: Answer) -> Document:
    said = [_message(answer.text)] if answer.text or not answer.calls else []
    reason = _INCOMPLETE.get(answer.stop_reason)
    return {
        **response,
        "status": "incomplete" if reason else "completed",
        "incomplete_details": {"reason": reason} if reason else None,
        "output": [*said, *map(_call, answer.calls)],
        "usage": _usage(answer),
    }


def _message(text: str) -> Document:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"id": new_id("msg"), "type": "message", "status": "completed", "role": "assistant", "content": [part]}


def _call(call: Made) -> Document:
    space = {"namespace": call.tool.namespace} if call.tool.namespace else {}
    named = {"status": "completed", "call_id": call.id, "name": call.tool.name, **space}
    if call.tool.takes_text:
        return {"id": new_id("ctc"), "type": "custom_tool_call", **named, "input": call.input}
    return {"id": new_id("fc"), "type": "function_call", **named, "arguments": call.written}


def _usage(answer: Answer) -> Document:
    usage = answer.usage
    given = usage.tokens_in + usage.cache_read + usage.cache_write
    return {
        "input_tokens": given,
        "input_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
        "output_tokens": usage.tokens_out,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": given + usage.tokens_out,
    }
