"""Which address belongs to which wire format."""

import re
from typing import Final, Literal
from urllib.parse import parse_qs, urlsplit

import msgspec

from treadle.testing.model_server import anthropic, chat, gemini, responses
from treadle.testing.model_server.wire import Wire

What = Literal["turn", "count", "models", "greeting"]
_GEMINI: Final = re.compile(r"/v1(?:beta|alpha)?/models/([^/:]+):(\w+)")
_ROUTES: Final[dict[str, tuple[What, Wire | None]]] = {
    "/": ("greeting", None),
    "/v1/messages": ("turn", anthropic),
    "/v1/messages/count_tokens": ("count", anthropic),
    "/v1/responses": ("turn", responses),
    "/responses": ("turn", responses),
    "/v1/chat/completions": ("turn", chat),
    "/chat/completions": ("turn", chat),
    "/v1/models": ("models", None),
    "/models": ("models", None),
    "/v1beta/models": ("models", None),
}


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for at an address."""

    what: What
    wire: Wire | None = None
    model: str = ""
    is_streamed: bool = False
    as_list: bool = False
    """Whether a stream is a list of JSON instead of server-sent events."""

    @property
    def methods(self) -> tuple[str, ...]:
        return ("POST",) if self.wire else ("GET", "HEAD")


def route(target: str) -> Route | None:
    """What the target of a request means; None: nothing that is known."""
    try:
        parts = urlsplit(target)
    except ValueError:
        return None
    if found := _GEMINI.fullmatch(parts.path):
        return _of_gemini(found[1], found[2], parts.query)
    known = _ROUTES.get(parts.path.rstrip("/") or "/")
    return Route(what=known[0], wire=known[1]) if known else None


def _of_gemini(model: str, verb: str, query: str) -> Route | None:
    if verb == "countTokens":
        return Route(what="count", wire=gemini, model=model)
    if verb not in {"generateContent", "streamGenerateContent"}:
        return None
    streamed = verb == "streamGenerateContent"
    as_list = streamed and parse_qs(query).get("alt") != ["sse"]
    return Route(what="turn", wire=gemini, model=model, is_streamed=streamed, as_list=as_list)
