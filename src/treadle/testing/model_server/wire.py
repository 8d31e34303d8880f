"""What each wire format has to know: how a request is read, and how an answer is written."""

from collections.abc import Iterator
from typing import Any, Protocol

import msgspec

from treadle.testing.model_server.answer import Answer
from treadle.testing.model_server.request import Asked
from treadle.testing.model_server.script import Failure

Document = dict[str, Any]


class Wire(Protocol):
    """A wire format; each is a module of its own."""

    NAME: str

    def read(self, body: bytes) -> Asked:
        """What is asked for; a `msgspec.ValidationError` says what is wrong with the body."""

    def whole(self, asked: Asked, answer: Answer) -> Document:
        """The answer as one document."""

    def stream(self, asked: Asked, answer: Answer) -> Iterator[bytes]:
        """The answer as server-sent events."""

    def refusal(self, failure: Failure) -> Document:
        """The body of an answer that is no success."""


def event(document: Document, name: str = "") -> bytes:
    """A server-sent event."""
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + msgspec.json.encode(document) + b"\n\n"
