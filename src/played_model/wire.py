"""The common part of all wire formats: requests, answers, token counts, and the interface of a format."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Literal, Protocol, TypeVar
from uuid import uuid4

import msgspec

from played_model.script import Misbehaviour, ModelFailure, StopReason, Tokens

Message = TypeVar("Message")
By = Literal["system", "prompt", "model", "result"]
Document = dict[str, Any]
"""A JSON object on the wire."""


class ConversationEntry(msgspec.Struct, frozen=True):
    """A piece of a conversation, in its order."""

    by: By
    text: str = ""
    length: int = 0
    """How long its message was on the wire; only the first entry of a message carries it."""


class Tool(msgspec.Struct, frozen=True):
    """A tool that the client offers."""

    name: str
    namespace: str = ""
    takes_text: bool = False
    """Whether it has no schema and expects plain text."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names that a script may use for it."""
        separator = "" if self.namespace.endswith("__") else "__"
        return (f"{self.namespace}{separator}{self.name}", self.name) if self.namespace else (self.name,)


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request for the next turn of the model."""

    model: str
    entries: tuple[ConversationEntry, ...]
    tools: tuple[Tool, ...] = ()
    is_streamed: bool = False
    wants_usage: bool = True
    """Whether a stream reports the usage."""
    length: int = 0
    """How long the whole request is, tools included."""
    cache: Literal["", "always", "asked"] = "always"
    """Whether the service caches the input: always, or only on request, which then counts as written tokens."""


class ToolCall(msgspec.Struct, frozen=True):
    """A call of a tool."""

    id: str
    tool: Tool
    arguments: Document
    input: str

    @property
    def written(self) -> str:
        """The arguments as JSON."""
        return msgspec.json.encode(self.arguments).decode()


class ModelAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A turn of the model, or a failure in its place."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    usage: Tokens = Tokens()
    stop_reason: StopReason = "end_turn"
    sleep: float = 0.0
    misbehave: Misbehaviour = ""
    failure: ModelFailure | None = None
    script: str = ""
    step: int = 0
    note: str = ""
    """A problem with the script for this request; the text mentions it too."""


class Wire(Protocol):
    """A wire format; each is a module of its own."""

    NAME: str

    def read(self, body: bytes) -> ModelRequest:
        """Parse a request; raise a `msgspec.ValidationError` if the body is malformed."""

    def whole(self, asked: ModelRequest, answer: ModelAnswer) -> Document:
        """The answer as one document."""

    def stream(self, asked: ModelRequest, answer: ModelAnswer) -> Iterator[bytes]:
        """The answer as server-sent events."""

    def refusal(self, failure: ModelFailure) -> Document:
        """The body of an answer that is no success."""


# For reading requests.


def entries_of(
    messages: Sequence[msgspec.Raw], kind: type[Message], read: Callable[[Message], Iterable[ConversationEntry]]
) -> Iterator[ConversationEntry]:
    """Yield the entries of all messages, with their lengths."""
    for raw in messages:
        for at, entry in enumerate(read(msgspec.json.decode(raw, type=kind))):
            yield entry if at else msgspec.structs.replace(entry, length=len(raw))


def text_in(value: Any, depth: int = 50) -> str:
    """Join all texts of a JSON value by newlines, without the keys that mark its parts."""
    if isinstance(value, dict):
        value = [each for key, each in value.items() if key not in {"type", "id", "role"}]
    if isinstance(value, list) and depth:
        return "\n".join(filter(None, (text_in(each, depth - 1) for each in value)))
    return value if isinstance(value, str) else ""


# For writing answers.


def new_id(kind: str) -> str:
    """Make a unique id: clients treat two answers with the same id as one."""
    return f"{kind}_{uuid4().hex[:24]}"


def pieces(text: str) -> list[str]:
    """Cut a text into the four or fewer pieces of a stream."""
    size = max(8, -(-len(text) // 4))
    return [text[at : at + size] for at in range(0, len(text), size)]


def event(document: Document, name: str = "") -> bytes:
    """A server-sent event."""
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + msgspec.json.encode(document) + b"\n\n"


_OPENAI_KINDS: Final = {
    400: ("invalid_request_error", None),
    401: ("invalid_request_error", "invalid_api_key"),
    403: ("invalid_request_error", "unsupported_country_region_territory"),
    404: ("invalid_request_error", "model_not_found"),
    429: ("requests", "rate_limit_exceeded"),
    503: ("server_error", "server_is_overloaded"),
}


def openai_refusal(failure: ModelFailure) -> Document:
    """Return the body of a failure in both of OpenAI's formats; `type: insufficient_quota` is one of its words."""
    kind, code = _OPENAI_KINDS.get(failure.status, ("server_error", None))
    if failure.type:
        kind = code = failure.type
    return {"error": {"message": failure.message, "type": kind, "param": None, "code": code}}


# Token counts of a turn without a declared usage, estimated from its length.

_CHARACTERS: Final = 4
"""About as many make a token."""


def tokens_in(length: int) -> int:
    """About how many tokens a text of so many characters has; no request is free."""
    return max(1, length // _CHARACTERS)


def count_tokens(asked: ModelRequest, text: str, calls: tuple[ToolCall, ...] = ()) -> Tokens:
    """Estimate the usage of a request and its answer.

    This needs no memory of earlier requests. A client has sent everything before the model's last turn to get that
    turn, so a service has it in its cache: for the same conversation, or for one that branches off.
    """
    lengths = [entry.length if asked.length else len(entry.text) for entry in asked.entries]
    total = asked.length or sum(lengths)
    by = [entry.by for entry in asked.entries]
    last = len(by) - by[::-1].index("model") - 1 if "model" in by else 0
    while last and by[last - 1] == "model":  # several entries may be one turn
        last -= 1
    new = min(sum(lengths[last:]), total) if last else total

    given = tokens_in(total)
    read = given - new // _CHARACTERS if total > new and asked.cache else 0
    written = given - read if asked.cache == "asked" else 0
    answered = len(text) + sum(len(call.written) + len(call.input) for call in calls)
    return Tokens(
        tokens_in=given - read - written, cache_read=read, cache_write=written, tokens_out=tokens_in(answered)
    )
