"""The body of a request: as long as it says, not too long, and unpacked."""

import zlib
from email.message import Message
from io import BufferedIOBase
from typing import Any, Final

import msgspec

LARGEST_BODY: Final = 64_000_000
_MOST_DIGITS: Final = 12


class Refused(Exception):
    """A request that is no good."""

    def __init__(self, status: int, message: str, *, ends: bool = False, **headers: str) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, headers
        self.ends = ends
        """Whether nobody knows where the next request of the connection would begin."""


def read_body(headers: Message, stream: BufferedIOBase) -> bytes:
    """The bytes of a body; `Refused` says what is wrong with it."""
    if "chunked" in headers.get("Transfer-Encoding", ""):
        raise Refused(411, "a body needs a Content-Length", ends=True)
    length = headers.get("Content-Length", "0")
    if not (length.isascii() and length.isdigit()):
        raise Refused(400, "Content-Length is no number", ends=True)
    if len(length) > _MOST_DIGITS or int(length) > LARGEST_BODY:
        raise Refused(413, f"the body has more than {LARGEST_BODY} bytes", ends=True)
    body = stream.read(int(length))
    if len(body) < int(length):
        raise Refused(400, "the body ends before its Content-Length", ends=True)
    return _unpacked(body, headers.get("Content-Encoding", "identity"))


def json_in(body: bytes) -> Any:
    """A body as it is kept; one that is no JSON is refused elsewhere, where it matters."""
    try:
        return msgspec.json.decode(body) if body else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _unpacked(body: bytes, encoding: str) -> bytes:
    if encoding.lower() in {"identity", ""}:
        return body
    if encoding.lower() != "gzip":
        raise Refused(415, f"the body is packed as {encoding[:40]}; send it as it is")
    try:
        unpacking = zlib.decompressobj(wbits=31)
        found = unpacking.decompress(body, LARGEST_BODY)
    except zlib.error:
        raise Refused(400, "the body is no gzip") from None
    if unpacking.unconsumed_tail:
        raise Refused(413, f"the body has more than {LARGEST_BODY} bytes")
    return found
