"""What a client asks for, whatever wire format it speaks."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Literal, TypeVar

import msgspec

Item = TypeVar("Item")
By = Literal["system", "prompt", "model", "result"]
_DEEP: Final = 50


class Entry(msgspec.Struct, frozen=True):
    """A piece of a conversation, in its order."""

    by: By
    text: str = ""
    length: int = 0
    """How long it was as it was sent, with all that is no text; of several that were sent as one, the first has it."""


class Tool(msgspec.Struct, frozen=True):
    """A tool that the client offers."""

    name: str
    namespace: str = ""
    takes_text: bool = False
    """Whether it has no schema and is given plain text."""

    @property
    def names(self) -> tuple[str, ...]:
        """What a script may call it by."""
        whole = f"{self.namespace}{'' if self.namespace.endswith('__') else '__'}{self.name}"
        return (whole, self.name) if self.namespace else (self.name,)


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A request for the next turn of the model."""

    model: str
    entries: tuple[Entry, ...]
    tools: tuple[Tool, ...] = ()
    is_streamed: bool = False
    wants_usage: bool = True
    """Whether a stream is to tell what was consumed."""
    length: int = 0
    """How long the whole request is, tools included."""
    cache: Literal["", "always", "asked"] = "always"
    """Whether the service keeps what it was sent: of itself, or only because it is asked to, which is counted."""


def entries_of(sent: Sequence[msgspec.Raw], kind: type[Item], read: Callable[[Item], Iterable[Entry]]) -> list[Entry]:
    """The entries of all pieces that were sent, with their lengths."""
    found: list[Entry] = []
    for raw in sent:
        for at, entry in enumerate(read(msgspec.json.decode(raw, type=kind))):
            found.append(entry if at else msgspec.structs.replace(entry, length=len(raw)))
    return found


def text_in(value: Any, depth: int = 0) -> str:
    """All texts of a piece of JSON, one below the other, except what marks its parts."""
    match value:
        case str():
            return value
        case list() if depth < _DEEP:
            return "\n".join(filter(None, (text_in(each, depth + 1) for each in value)))
        case dict() if depth < _DEEP:
            kept = [each for key, each in value.items() if key not in {"type", "id", "role"}]
            return text_in(kept, depth + 1)
        case _:
            return ""
