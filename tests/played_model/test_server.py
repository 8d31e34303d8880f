"""Every wire format over real HTTP, as its clients read it."""

import http.client
import json
import socket
import threading
import time
from collections.abc import Callable

import pytest

from played_model.script import read_scripts
from played_model.server import ModelServer
from tests.played_model.clients import CLIENTS, Client, Turn, ask, hear, post, send

every_client = pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
either_way = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
TOOLS = ["Read", "shell", "write_file", "mcp__exit__emit_exit"]
ENDS = {"anthropic": "end_turn", "responses": "completed", "chat": "stop", "gemini": "STOP"}
CALLS = {"anthropic": "tool_use", "responses": "completed", "chat": "tool_calls", "gemini": "STOP"}
LONG = {"anthropic": "max_tokens", "responses": "max_output_tokens", "chat": "length", "gemini": "MAX_TOKENS"}


def prompt(script: str) -> list[Turn]:
    return [("prompt", f"Do it. [[script:{script}]]")]


@every_client
@either_way
def test_a_text_comes_with_its_usage(server: ModelServer, client: Client, stream: bool) -> None:
    heard = hear(server, client, prompt("hello"), TOOLS, stream=stream)
    assert heard == ("Hello, ünïcode world.", [], ENDS[client.name], (1000, 900, 20))


@every_client
@either_way
def test_the_first_tool_that_is_offered_is_called(server: ModelServer, client: Client, stream: bool) -> None:
    heard = hear(server, client, prompt("write"), TOOLS, stream=stream)
    assert heard.text == "I write."
    assert heard.calls == [
        ("write_file", {"path": "a.txt", "content": "x\n", "deep": [{"n": 1.5, "yes": True, "nil": None}]}),
        ("shell", {"argv": ["ls"]}),
    ]
    assert heard.stop == CALLS[client.name]


@every_client
@either_way
def test_the_step_is_the_number_of_turns_since_the_last_marker(
    server: ModelServer, client: Client, stream: bool
) -> None:
    turns = [
        *(*prompt("hello"), ("model", "Hello."), ("prompt", "Go on. [[script:write]]")),
        *(("model", "I write."), ("called", "write_file"), ("result", "[[script:hello]] stands in this file")),
    ]
    assert hear(server, client, turns, TOOLS, stream=stream).calls == [("mcp__exit__emit_exit", {"type": "Done"})]
    turns += [("called", "mcp__exit__emit_exit"), ("result", "invalid"), ("prompt", "Try again.")]
    assert hear(server, client, turns, TOOLS, stream=stream).text == "Done."


@every_client
@either_way
def test_without_tools_the_answer_is_only_a_text(server: ModelServer, client: Client, stream: bool) -> None:
    heard = hear(server, client, prompt("write"), [], stream=stream)
    assert (heard.text, heard.calls) == ("I write.", [])


@every_client
@either_way
def test_an_empty_step_is_an_answer_too(server: ModelServer, client: Client, stream: bool) -> None:
    assert hear(server, client, prompt("silent"), TOOLS, stream=stream)[:3] == ("", [], ENDS[client.name])


@every_client
@either_way
def test_a_stop_reason_uses_the_words_of_the_wire_format(server: ModelServer, client: Client, stream: bool) -> None:
    assert hear(server, client, prompt("long"), TOOLS, stream=stream).stop == LONG[client.name]


@every_client
@pytest.mark.parametrize(
    ("turns", "named"),
    [
        (prompt("helo"), "'hello'?"),
        ([*prompt("hello"), ("model", "Hello."), ("prompt", "More.")], "turn 2 of 1"),
        ([("prompt", "Hi.")], "hello, write"),
        ([*prompt("write"), ("model", "I write."), ("result", "")], "*emit_exit"),
    ],
    ids=["unknown", "ended", "unmarked", "not offered"],
)
def test_a_request_that_fits_no_step_gets_the_reason_as_text(
    server: ModelServer, client: Client, turns: list[Turn], named: str
) -> None:
    heard = hear(server, client, turns, ["Read"], stream=True)
    assert named in heard.text
    assert not heard.calls
    assert server.exchanges[-1].note in heard.text


KINDS = {
    "busy": ("rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED"),
    "broken": ("overloaded_error", "server_error", "UNKNOWN"),
    "quota": ("insufficient_quota", "insufficient_quota", "insufficient_quota"),
}


@every_client
@either_way
def test_a_step_fails_as_often_as_it_says(fresh: ModelServer, client: Client, stream: bool) -> None:
    statuses = []
    for _ in range(4):
        reply = ask(fresh, client, prompt("busy"), TOOLS, stream=stream)
        statuses.append(reply.status)
        if reply.status == 429:
            assert (reply.headers["retry-after"], reply.headers["x-more"]) == ("7", "yes")
            assert client.error(reply.json())[1] == "slow down"
    assert statuses == [429, 429, 200, 200]
    assert [each.status for each in fresh.exchanges] == statuses


@every_client
@pytest.mark.parametrize("script", KINDS)
def test_a_failure_has_the_shape_of_the_wire_format(fresh: ModelServer, client: Client, script: str) -> None:
    reply = ask(fresh, client, prompt(script), TOOLS, stream=True)
    place = {"anthropic": 0, "gemini": 2}.get(client.name, 1)
    assert client.error(reply.json())[0] == KINDS[script][place]
    if (client.name, script) == ("gemini", "busy"):
        assert reply.json()["error"]["details"][0]["retryDelay"] == "7s"


@every_client
def test_a_failure_can_have_any_body(server: ModelServer, client: Client) -> None:
    reply = ask(server, client, prompt("odd"), TOOLS, stream=False)
    assert (reply.status, reply.json()) == (400, {"whatever": [1]})


@every_client
def test_a_stream_that_is_cut_ends_before_its_end(server: ModelServer, client: Client) -> None:
    connection = _begun(server, client, "cut")
    answer = connection.getresponse()
    with pytest.raises(http.client.IncompleteRead) as cut:
        answer.read()
    connection.close()
    assert b"data: " in cut.value.partial
    assert b"to its end." not in cut.value.partial


@every_client
def test_a_stream_that_hangs_lasts_until_the_client_goes(fresh: ModelServer, client: Client) -> None:
    connection = _begun(fresh, client, "hang")
    answer = connection.getresponse()
    assert answer.readline().startswith((b"event: ", b"data: "))
    assert _connections() >= 1
    answer.close()
    connection.close()
    _until(lambda: _connections() == 0)


@pytest.mark.parametrize("script", ["hang", "slow"])
def test_hanging_or_slow_requests_do_not_keep_the_server_from_ending(fresh: ModelServer, script: str) -> None:
    connection = _begun(fresh, CLIENTS[0], script)
    _until(lambda: bool(fresh.exchanges))
    start = time.monotonic()
    fresh.close()
    assert time.monotonic() - start < 5
    connection.close()


def _begun(server: ModelServer, client: Client, script: str) -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    body = json.dumps(client.body(prompt(script), TOOLS, True))
    connection.request("POST", client.streamed_path, body)
    return connection


def _connections() -> int:
    return sum("process_request_thread" in thread.name for thread in threading.enumerate())


def _until(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.01)


def test_requests_are_recorded_without_their_keys(fresh: ModelServer) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "[[script:hello]]"}]}
    send(fresh, "POST", "/v1/messages?key=sk-1", json.dumps(body).encode(), **{"X-Api-Key": "sk-1", "X-Own": "1"})
    send(fresh, "POST", "/v1/chat/completions", json.dumps(body).encode(), Authorization="Bearer sk-1")
    send(fresh, "GET", "/v1/nothing?key=sk-1")
    first, *others = fresh.exchanges
    assert len(others) == 2
    assert (first.wire, first.model, first.script, first.step, first.status) == ("anthropic", "m", "hello", 0, 200)
    assert first.body == body
    assert first.headers["x-own"] == "1"
    assert "sk-1" not in repr((first, others))


def test_tokens_are_counted_and_models_are_listed(server: ModelServer) -> None:
    counted = post(server, "/v1/messages/count_tokens", CLIENTS[0].body(prompt("hello"), TOOLS, False))
    assert counted.json()["input_tokens"] > 10
    counted = post(server, "/v1beta/models/g:countTokens", {"contents": []})
    assert counted.json()["totalTokens"] > 0
    assert send(server, "GET", "/v1/models").json()["data"] == []
    assert "hello" in send(server, "GET", "/").json()["scripts"]
    head = send(server, "HEAD", "/")
    assert (head.status, head.body) == (200, b"")


def test_twenty_requests_at_once_are_answered(fresh: ModelServer) -> None:
    heard: list[str] = []

    def talk() -> None:
        heard.append(hear(fresh, CLIENTS[0], prompt("hello"), TOOLS, stream=True).text)

    threads = [threading.Thread(target=talk) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert heard == ["Hello, ünïcode world."] * 20


def test_it_listens_on_loopback_only_and_refuses_an_occupied_port(server: ModelServer) -> None:
    assert server.url == f"http://127.0.0.1:{server.port}"
    with socket.socket() as other, pytest.raises(ConnectionRefusedError):
        other.connect(("127.0.0.2", server.port))
    with pytest.raises(OSError, match="in use"):
        ModelServer(read_scripts("scripts: {a: [say: x]}", "s.yaml"), server.port)
