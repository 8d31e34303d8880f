"""What the model answers, whatever wire format it is told in."""

from typing import Final
from uuid import uuid4

import msgspec

from treadle.protocol.items import Json
from treadle.testing.model_server.request import Tool
from treadle.testing.model_server.script import Failure, Misbehaviour, StopReason, Tokens

_PIECES: Final = 4
_SHORTEST: Final = 8


class Made(msgspec.Struct, frozen=True):
    """A call of a tool."""

    id: str
    tool: Tool
    arguments: dict[str, Json]
    input: str

    @property
    def written(self) -> str:
        """The arguments as JSON."""
        return msgspec.json.encode(self.arguments).decode()


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A turn of the model, or a failure in its place."""

    text: str = ""
    calls: tuple[Made, ...] = ()
    usage: Tokens = Tokens()
    stop_reason: StopReason = "end_turn"
    sleep: float = 0.0
    misbehave: Misbehaviour = ""
    failure: Failure | None = None
    script: str = ""
    step: int = 0
    note: str = ""
    """What is wrong with the script for this request; the text says it too."""


def new_id(kind: str) -> str:
    """Clients take two answers with the same id for one."""
    return f"{kind}_{uuid4().hex[:24]}"


def pieces(text: str) -> list[str]:
    """A text as it comes in a stream."""
    size = max(_SHORTEST, -(-len(text) // _PIECES))
    return [text[at : at + size] for at in range(0, len(text), size)]
