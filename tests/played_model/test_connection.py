"""Requests that no decent client sends get an answer that says so, and the server goes on."""

import gzip
import json
import socket
from typing import Any

import pytest

from played_model.server import LARGEST_BODY, ModelServer
from tests.played_model.clients import CLIENTS, Client, post, send

GOOD = {"model": "m", "messages": [{"role": "user", "content": "[[script:hello]]"}]}


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"model": 1}', b'{"contents": {}, "messages": 7}', b"[" * 100_000],
    ids=["empty", "cut", "list", "null", "no text", "kinds", "more kinds", "deep"],
)
def test_a_body_that_is_no_request_is_refused_in_the_shape_of_the_wire_format(
    server: ModelServer, client: Client, body: bytes
) -> None:
    reply = send(server, "POST", client.path, body)
    if client.name == "responses" and body == b'{"model": 1}':
        assert "`$.model`" in reply.json()["error"]["message"]
    assert reply.status == 400
    assert client.error(reply.json())[1].startswith("model server: the body is ")
    assert server.exchanges[-1].status == 400


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/messages", 405),
        ("PUT", "/v1/responses", 405),
        ("DELETE", "/v1/models", 405),
        ("POST", "/", 405),
        ("POST", "/v1/nothing", 404),
        ("GET", "/v1/messages/../../etc/passwd", 404),
        ("POST", "/v1beta/models/g:embedContent", 404),
        ("GET", "/" + "x" * 5000, 404),
    ],
)
def test_unknown_places_and_wrong_methods(server: ModelServer, method: str, path: str, status: int) -> None:
    reply = send(server, method, path)
    assert reply.status == status
    assert reply.json()["error"]["message"].startswith("model server: ")
    if status == 405:
        assert method not in reply.headers["allow"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (f"Content-Length: {LARGEST_BODY + 1}", 413),
        (f"Content-Length: {'9' * 5000}", 413),
        ("Content-Length: -5", 400),
        ("Content-Length: ²", 400),
        ("Transfer-Encoding: chunked", 411),
        ("Content-Length: 2\r\nContent-Encoding: br", 415),
        ("Content-Length: 2\r\nContent-Encoding: gzip", 400),
        ("Content-Length: 5", 400),
    ],
)
def test_bodies_that_cannot_be_read(server: ModelServer, headers: str, status: int) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as raw:
        raw.sendall(f"POST /v1/messages HTTP/1.1\r\nHost: x\r\n{headers}\r\n\r\n{{}}".encode("latin-1"))
        raw.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: raw.recv(65536), b""))
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"\x16\x03\x01 hello\r\n\r\n", b" 400 "),
        (b"GET http://[x/v1 HTTP/1.1\r\n\r\n", b" 404 "),
        (b"GET /\xff\x00 HTTP/1.1\r\n\r\n", b" 404 "),
        (b"BREW / HTTP/1.1\r\n\r\n", b" 501 "),
        (b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 200 + b"\r\n", b" 431 "),
    ],
)
def test_malformed_http_is_refused(server: ModelServer, sent: bytes, status: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as raw:
        raw.sendall(sent)
        assert status in raw.recv(65536)


def test_a_packed_body_is_read_and_one_that_grows_without_end_is_not(server: ModelServer) -> None:
    packed = gzip.compress(json.dumps(GOOD).encode())
    assert send(server, "POST", "/v1/messages", packed, **{"Content-Encoding": "gzip"}).status == 200
    bomb = gzip.compress(b" " * (LARGEST_BODY + 1), compresslevel=1)
    assert send(server, "POST", "/v1/messages", bomb, **{"Content-Encoding": "gzip"}).status == 413


@pytest.mark.parametrize(
    "body",
    [
        {**GOOD, "tools": None, "system": None, "stream": None, "unknown": {"a": [1]}},
        {**GOOD, "messages": [{"role": "user", "content": []}, *GOOD["messages"]]},
        {**GOOD, "messages": [*GOOD["messages"], {"role": "user", "content": [{"type": "image", "source": {}}]}]},
        {**GOOD, "system": {"odd": [[["[[script:nothing]]"]]]}},
    ],
)
def test_unusual_but_valid_requests_are_accepted(server: ModelServer, body: dict[str, Any]) -> None:
    assert post(server, "/v1/messages", body).json()["content"][0]["text"].startswith("Hello")


def test_a_connection_serves_request_after_request(server: ModelServer) -> None:
    body = json.dumps(GOOD).encode()
    request = b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as raw:
        raw.sendall(request * 3)
        raw.shutdown(socket.SHUT_WR)
        answers = b"".join(iter(lambda: raw.recv(65536), b""))
    assert answers.count(b"HTTP/1.1 200 OK") == 3
