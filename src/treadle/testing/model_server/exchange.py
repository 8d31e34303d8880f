"""What was asked of the server and how it answered, for tests that look at what a client sends."""

from typing import Any, Final, Literal

import msgspec

_SECRET: Final = {"authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie", "proxy-authorization"}
REDACTED: Final = "(redacted)"


class Welcome(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of the server: where it is."""

    schema: Literal[1] = 1
    url: str
    """The address for a client that adds `/v1/…` itself."""
    port: int
    scripts: list[str]


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """A request and its answer."""

    schema: Literal[1] = 1
    wire: str = ""
    """The wire format: anthropic, responses, chat or gemini; empty: something else was asked for."""
    method: str
    path: str
    model: str = ""
    script: str = ""
    """The script that the prompt names; empty: none that there is."""
    step: int = 0
    """How many turns of the model there were before, from 0."""
    status: int
    """The status that was answered."""
    note: str = ""
    """What is wrong: with the request, or with the script for this request."""
    headers: dict[str, str] = {}
    """Those of the request, by their names in lower case, without keys."""
    body: Any = None
    """That of the request, if it is JSON."""

    def __str__(self) -> str:
        asked = f"{self.wire} {self.model}".strip() if self.wire else f"{self.method} {self.path}"
        played = f" {self.script}[{self.step}]" if self.script else ""
        return f"{asked}{played}: {self.status}" + (f", {self.note}" if self.note else "")


def without_keys(headers: dict[str, str]) -> dict[str, str]:
    """Headers as they may be kept: that a key was sent is to be seen, the key is not."""
    return {name: REDACTED if name in _SECRET else value for name, value in headers.items()}
