"""How clients of each wire format talk: what they send for a conversation, and what they make of an answer."""

import http.client
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from played_model.server import ModelServer

Turn = tuple[str, str]
"""Who and what: `prompt`, `model` (text), `called` (a tool, by the model) or `result`."""


class Heard(NamedTuple):
    """What a client has understood."""

    text: str
    calls: list[tuple[str, Any]]
    stop: str
    tokens: tuple[int, int, int]
    """All that went in, of those from a cache, and what came out."""


class Client(NamedTuple):
    """A client of one wire format."""

    name: str
    path: str
    streamed_path: str
    body: Callable[[list[Turn], list[str], bool], dict[str, Any]]
    whole: Callable[[dict[str, Any]], Heard]
    streamed: Callable[[list[dict[str, Any]]], Heard]
    error: Callable[[dict[str, Any]], tuple[str, str]]
    """The kind of an error and its message."""


class Reply(NamedTuple):
    """An HTTP answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


def send(server: ModelServer, method: str, path: str, body: bytes | None = None, **headers: str) -> Reply:
    """One request on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return Reply(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
    finally:
        connection.close()


def post(server: ModelServer, path: str, body: object) -> Reply:
    return send(server, "POST", path, json.dumps(body).encode(), **{"Content-Type": "application/json"})


def ask(server: ModelServer, client: Client, turns: list[Turn], tools: list[str], *, stream: bool) -> Reply:
    """What a client gets for a conversation."""
    return post(server, client.streamed_path if stream else client.path, client.body(turns, tools, stream))


def hear(server: ModelServer, client: Client, turns: list[Turn], tools: list[str], *, stream: bool) -> Heard:
    """What a client understands of the answer to a conversation."""
    reply = ask(server, client, turns, tools, stream=stream)
    assert reply.status == 200, reply.body
    if not stream:
        return client.whole(reply.json())
    assert reply.headers["content-type"] == "text/event-stream"
    return client.streamed(list(events(reply.body)))


def events(body: bytes) -> Iterator[dict[str, Any]]:
    """Server-sent events by the rules: fields on lines, an empty line after each event."""
    for block in body.decode().split("\n\n")[:-1]:
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        if fields["data"] == "[DONE]":
            continue
        found = json.loads(fields["data"])
        if "event" in fields:
            assert fields["event"] == found["type"]
        yield found


# Anthropic


def _anthropic_body(turns: list[Turn], tools: list[str], stream: bool) -> dict[str, Any]:
    kinds: dict[str, Callable[[str], tuple[str, Any]]] = {
        "prompt": lambda text: ("user", [{"type": "text", "text": text}]),
        "model": lambda text: ("assistant", [{"type": "text", "text": text}]),
        "called": lambda name: ("assistant", [{"type": "tool_use", "id": "toolu_1", "name": name, "input": {}}]),
        "result": lambda text: ("user", [{"type": "tool_result", "tool_use_id": "toolu_1", "content": text}]),
    }
    told = [kinds[kind](text) for kind, text in turns]
    return {
        "model": "claude-x",
        "max_tokens": 1000,
        "system": [{"type": "text", "text": "You are an agent.", "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": role, "content": content} for role, content in told],
        "tools": [{"name": name, "input_schema": {"type": "object"}} for name in tools],
        "stream": stream,
    }


def _anthropic_whole(message: dict[str, Any]) -> Heard:
    usage = message["usage"]
    given = usage["input_tokens"] + usage["cache_read_input_tokens"] + usage["cache_creation_input_tokens"]
    return Heard(
        "".join(block["text"] for block in message["content"] if block["type"] == "text"),
        [(block["name"], block["input"]) for block in message["content"] if block["type"] == "tool_use"],
        message["stop_reason"],
        (given, usage["cache_read_input_tokens"], usage["output_tokens"]),
    )


def _anthropic_streamed(told: list[dict[str, Any]]) -> Heard:
    assert told[0]["type"] == "message_start"
    assert told[-1]["type"] == "message_stop"
    message = told[0]["message"]
    blocks: list[dict[str, Any]] = []
    for event in told[1:-1]:
        match event["type"]:
            case "content_block_start":
                assert event["index"] == len(blocks)
                blocks.append({**event["content_block"], "json": ""})
            case "content_block_delta" if event["delta"]["type"] == "text_delta":
                blocks[event["index"]]["text"] += event["delta"]["text"]
            case "content_block_delta":
                blocks[event["index"]]["json"] += event["delta"]["partial_json"]
            case "message_delta":
                message |= event["delta"]
                message["usage"] |= event["usage"]
            case other:
                assert other in {"ping", "content_block_stop"}
    done = [{**block, "input": json.loads(block["json"])} if block["json"] else block for block in blocks]
    return _anthropic_whole({**message, "content": done})


# OpenAI's Responses


def _responses_body(turns: list[Turn], tools: list[str], stream: bool) -> dict[str, Any]:
    kinds: dict[str, Callable[[str], dict[str, Any]]] = {
        "prompt": lambda text: {"role": "user", "content": [{"type": "input_text", "text": text}], "type": "message"},
        "model": lambda text: {"role": "assistant", "content": [{"type": "output_text", "text": text}]},
        "called": lambda name: {"type": "function_call", "call_id": "call_1", "name": name, "arguments": "{}"},
        "result": lambda text: {"type": "function_call_output", "call_id": "call_1", "output": text},
    }
    return {
        "model": "gpt-x",
        "instructions": "You are an agent.",
        "input": [kinds[kind](text) for kind, text in turns],
        "tools": [{"type": "function", "name": name, "parameters": {}} for name in tools],
        "stream": stream,
    }


def _responses_whole(response: dict[str, Any]) -> Heard:
    messages = [item for item in response["output"] if item["type"] == "message"]
    usage = response["usage"]
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
    return Heard(
        "".join(part["text"] for item in messages for part in item["content"]),
        [_responses_call(item) for item in response["output"] if item["type"] != "message"],
        (response["incomplete_details"] or {"reason": response["status"]})["reason"],
        (usage["input_tokens"], usage["input_tokens_details"]["cached_tokens"], usage["output_tokens"]),
    )


def _responses_call(item: dict[str, Any]) -> tuple[str, Any]:
    name = item.get("namespace", "") + item["name"]
    return name, item["input"] if item["type"] == "custom_tool_call" else json.loads(item["arguments"])


def _responses_streamed(told: list[dict[str, Any]]) -> Heard:
    assert [event["sequence_number"] for event in told] == list(range(len(told)))
    assert told[0]["type"] == "response.created"
    final = told[-1]["response"]
    assert told[-1]["type"] == f"response.{final['status']}"
    done = [event["item"] for event in told if event["type"] == "response.output_item.done"]
    assert done == final["output"]
    deltas = "".join(event["delta"] for event in told if event["type"].endswith(".delta"))
    assert deltas == "".join(_responses_content(item) for item in done)
    return _responses_whole(final)


def _responses_content(item: dict[str, Any]) -> str:
    if item["type"] == "message":
        return str(item["content"][0]["text"])
    return str(item["input"] if item["type"] == "custom_tool_call" else item["arguments"])


# OpenAI's chat completions


def _chat_body(turns: list[Turn], tools: list[str], stream: bool) -> dict[str, Any]:
    kinds: dict[str, Callable[[str], dict[str, Any]]] = {
        "prompt": lambda text: {"role": "user", "content": text},
        "model": lambda text: {"role": "assistant", "content": text},
        "called": lambda name: {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": name, "arguments": "{}"}}],
        },
        "result": lambda text: {"role": "tool", "tool_call_id": "call_1", "content": text},
    }
    messages = [{"role": "system", "content": "You are an agent."}, *(kinds[kind](text) for kind, text in turns)]
    functions = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in tools]
    options = {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
    return {"model": "chat-x", "messages": messages, **({"tools": functions} if tools else {}), **options}


def _chat_whole(completion: dict[str, Any]) -> Heard:
    [choice] = completion["choices"]
    message, usage = choice["message"], completion["usage"]
    calls = [each["function"] for each in message.get("tool_calls", [])]
    return Heard(
        message["content"] or "",
        [(call["name"], json.loads(call["arguments"])) for call in calls],
        choice["finish_reason"],
        (usage["prompt_tokens"], usage["prompt_tokens_details"]["cached_tokens"], usage["completion_tokens"]),
    )


def _chat_streamed(told: list[dict[str, Any]]) -> Heard:
    assert len({event["id"] for event in told}) == 1
    text, stop = "", ""
    usage: dict[str, Any] = {}
    calls: list[dict[str, Any]] = []
    for event in told:
        usage = event.get("usage") or usage
        for choice in event["choices"]:
            text += choice["delta"].get("content") or ""
            stop = choice["finish_reason"] or stop
            for part in choice["delta"].get("tool_calls", []):
                if "id" in part:
                    calls.append({"function": dict(part["function"])})
                else:
                    calls[part["index"]]["function"]["arguments"] += part["function"]["arguments"]
    message = {"content": text, "tool_calls": calls}
    return _chat_whole({"choices": [{"message": message, "finish_reason": stop}], "usage": usage})


# Gemini


def _gemini_body(turns: list[Turn], tools: list[str], _: bool) -> dict[str, Any]:
    kinds: dict[str, Callable[[str], tuple[str, Any]]] = {
        "prompt": lambda text: ("user", {"text": text}),
        "model": lambda text: ("model", {"text": text}),
        "called": lambda name: ("model", {"functionCall": {"name": name, "args": {}}}),
        "result": lambda text: ("user", {"functionResponse": {"name": "it", "response": {"output": text}}}),
    }
    told = [kinds[kind](text) for kind, text in turns]
    declared = [{"functionDeclarations": [{"name": name} for name in tools]}] if tools else []
    return {
        "contents": [{"role": role, "parts": [part]} for role, part in told],
        "systemInstruction": {"role": "user", "parts": [{"text": "You are an agent."}]},
        "tools": declared,
    }


def _gemini_whole(document: dict[str, Any]) -> Heard:
    [candidate] = document["candidates"]
    parts, usage = candidate["content"]["parts"], document["usageMetadata"]
    out = usage["candidatesTokenCount"] + usage["thoughtsTokenCount"]
    return Heard(
        "".join(part.get("text", "") for part in parts),
        [(part["functionCall"]["name"], part["functionCall"]["args"]) for part in parts if "functionCall" in part],
        candidate["finishReason"],
        (usage["promptTokenCount"], usage["cachedContentTokenCount"], out),
    )


def gemini_streamed(told: list[dict[str, Any]]) -> Heard:
    assert [("finishReason" in each["candidates"][0]) for each in told] == [False] * (len(told) - 1) + [True]
    parts = [part for each in told for part in each["candidates"][0]["content"]["parts"]]
    candidate = {**told[-1]["candidates"][0], "content": {"parts": parts}}
    return _gemini_whole({**told[-1], "candidates": [candidate]})


def _openai_error(body: dict[str, Any]) -> tuple[str, str]:
    return body["error"]["code"] or body["error"]["type"], body["error"]["message"]


_MODEL = "/v1beta/models/gemini-x"
CLIENTS = [
    Client("anthropic", "/v1/messages", "/v1/messages?beta=true", _anthropic_body, _anthropic_whole,
           _anthropic_streamed, lambda body: (body["error"]["type"], body["error"]["message"])),
    Client("responses", "/v1/responses", "/v1/responses", _responses_body, _responses_whole, _responses_streamed,
           _openai_error),
    Client("chat", "/v1/chat/completions", "/v1/chat/completions", _chat_body, _chat_whole, _chat_streamed,
           _openai_error),
    Client("gemini", f"{_MODEL}:generateContent", f"{_MODEL}:streamGenerateContent?alt=sse", _gemini_body,
           _gemini_whole, gemini_streamed, lambda body: (body["error"]["status"], body["error"]["message"])),
]  # fmt: skip
BY_NAME = {client.name: client for client in CLIENTS}
