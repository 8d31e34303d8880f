"""What a scripted model says: named scripts, each a list of steps, one for each turn of the model."""

import re
from typing import Final, Literal, Protocol, get_args

import msgspec

from treadle.protocol.items import Json

StopReason = Literal["", "end_turn", "tool_use", "max_tokens", "refusal"]
STOP_REASONS: Final[tuple[StopReason, ...]] = get_args(StopReason)
Misbehaviour = Literal["", "hang", "cut"]
MISBEHAVIOURS: Final[tuple[Misbehaviour, ...]] = get_args(Misbehaviour)


MARKER: Final = re.compile(r"\[\[script:\s*([^\[\]\s]{1,80})\s*\]\]")


class Library(Protocol):
    """Where scripts come from."""

    @property
    def names(self) -> tuple[str, ...]:
        """Those that a prompt may name."""
        ...

    def named_by(self, text: str, current: str) -> str:
        """The script that a prompt names; empty if it names none, and the current one goes on."""
        ...

    def script(self, name: str) -> "Script | None": ...


class Tokens(msgspec.Struct, frozen=True, kw_only=True):
    """What an answer is said to have consumed; nothing is counted twice."""

    tokens_in: int = 1000
    """Without those that were read from a cache or written to one."""
    tokens_out: int = 50
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0
    """How many of those that came out were thoughts."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A call of the first tool among several that the client offers."""

    tools: tuple[str, ...]
    """Names or patterns, the dearest first."""
    arguments: dict[str, Json] = {}
    input: str | None = None
    """What a tool without a schema is given."""
    unoffered: bool = False
    """Whether the first name is called even if the client offers none of them."""


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """An answer with a status that is no success."""

    status: int
    times: int = 0
    """How often, before the step is played; 0: always."""
    message: str = ""
    type: str = ""
    """In place of the word that the wire format has for the status."""
    headers: dict[str, str] = {}
    body: dict[str, Json] | None = None
    """In place of the wire format's own."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One turn of the model."""

    say: str = ""
    calls: tuple[tuple[Call, ...], ...] = ()
    """Each with its alternatives, of which the first that can be made is."""
    fail: Failure | None = None
    sleep: float = 0.0
    misbehave: Misbehaviour = ""
    usage: Tokens | None = None
    """None: as the lengths of request and answer tell."""
    stop_reason: StopReason = ""


class Script(msgspec.Struct, frozen=True, kw_only=True):
    """The turns of a conversation, from the prompt that names the script on."""

    steps: tuple[Step, ...]
    when: tuple[str, ...] = ()
    """A prompt that has all of these texts names the script too."""
    find: dict[str, str] = {}
    """Regular expressions by name: what is found in the request takes the place of `{name}`."""

    @property
    def calls_tools(self) -> bool:
        return any(step.calls for step in self.steps)


class Scripts(msgspec.Struct, frozen=True):
    """A file of scripts."""

    file: str
    scripts: dict[str, Script]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.scripts)

    def named_by(self, text: str, current: str) -> str:  # noqa: ARG002
        """The script that a prompt names, by a marker or by what it says; empty if it names none."""
        if marked := MARKER.findall(text):
            return str(marked[-1])
        fits = (name for name, it in self.scripts.items() if it.when and all(part in text for part in it.when))
        return next(fits, "")

    def script(self, name: str) -> Script | None:
        return self.scripts.get(name)
