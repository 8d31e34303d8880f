"""The ways out of a step: what an answer is held against, and every name under which an exit may be called."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from treadle.protocol.answers.answer import Claim, validate
from treadle.protocol.answers.schema import TAG
from treadle.protocol.answers.status_words import meant
from treadle.protocol.fields import OptionalType, asked
from treadle.protocol.lines.codes import ARROW
from treadle.protocol.model import Protocol, Step
from treadle.results.faulty import Faulty
from treadle.results.strict_json import MAX_ANSWER

EXIT: Final = "exit"


class Ways(msgspec.Struct, frozen=True):
    """A step's exits, and a protocol that declares at least them and their types."""

    protocol: Protocol
    exits: tuple[str, ...]
    limit: int = MAX_ANSWER
    """Bytes that an answer may have."""

    def accept(self, answer: object) -> Claim | Faulty:
        """Hold an answer against the exits; `{"type": …}` may stand without its `exit` around it."""
        found = validate(self.protocol, self.exits, wrapped(answer))
        return found if isinstance(found, Claim) else Faulty(tuple(map(str, found)))

    @property
    def names(self) -> dict[str, str]:
        """Every name of an exit → the exit; an exit's own name is never another's alias."""
        declared = self.protocol.exits
        return {other: name for name in self.exits for other in declared[name].also} | {n: n for n in self.exits}

    @property
    def codes(self) -> dict[str, str]:
        """Names and symbols (`→PC`, without the arrow) → the exit."""
        symbols = {name: self.protocol.exits[name].symbol.split("|") for name in self.exits}
        bare = {one.strip().removeprefix(ARROW): name for name, several in symbols.items() for one in several}
        return {code: name for code, name in bare.items() if code} | self.names

    def fields(self, name: str) -> tuple[str, ...]:
        """The fields that an agent gives for an exit."""
        return tuple(field for field, _, _ in asked(self.protocol.exits[name].fields))

    def required(self, name: str) -> tuple[str, ...]:
        """Those of them that must be given."""
        return tuple(field for field in self.fields(name) if field not in self.optional(name))

    def optional(self, name: str) -> tuple[str, ...]:
        """Those of them that may be left out."""
        own = asked(self.protocol.exits[name].fields)
        return tuple(field for field, _, type_ in own if isinstance(type_, OptionalType))

    def stranger(self, name: str) -> str:
        """That no exit has this name, and which one was meant."""
        near = meant(name[:100], self.names)
        return f"is not an exit of this step; {near + ' ' if near else ''}this step ends with {' or '.join(self.exits)}"


def ways_of(protocol: Protocol, step: Step, limit: int = MAX_ANSWER) -> Ways:
    """The ways out of a step."""
    return Ways(protocol, step.exits, limit)


def wrapped(answer: object) -> object:
    """An answer in its full form."""
    if isinstance(answer, Mapping) and TAG in answer and EXIT not in answer:
        return {EXIT: answer}
    return answer


def is_answer(value: object) -> bool:
    """Whether an object is meant to be an answer."""
    return isinstance(value, dict) and (EXIT in value or TAG in value)


def exit_object(name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """An answer from an exit's name and its fields."""
    return {EXIT: {**fields, TAG: name}}
