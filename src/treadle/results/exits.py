"""The exits of a step: the answers it accepts, the names of each exit, and `bundle/exits.json`."""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import msgspec

from treadle.errors import TreadleError
from treadle.protocol.agent_lines import ARROW
from treadle.protocol.answers.claim import Claim, suggest_status, validate
from treadle.protocol.answers.schema import TAG
from treadle.protocol.fields import OptionalType, agent_fields, parse_type, record_of
from treadle.protocol.model import Exit, Protocol, Record, Step
from treadle.results.intake import MAX_ANSWER, Faulty, read_file

# The exits of a step, with every name and code that an answer may use for each.

EXIT: Final = "exit"


class StepExits(msgspec.Struct, frozen=True):
    """The exits of a step, and a protocol that declares them and their types (its other parts may be missing)."""

    protocol: Protocol
    exits: tuple[str, ...]
    limit: int = MAX_ANSWER
    """Bytes that an answer may have."""
    mark: str = ""
    """The mark that the session's token must have; empty: not known."""

    def parse(self, answer: object) -> Claim | Faulty:
        """Validate an answer against the exits; `{"type": …}` is accepted without `exit` around it."""
        found = validate(self.protocol, self.exits, wrap_exit(answer))
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
        """Return the fields that an agent may give for an exit."""
        return tuple(field for field, _, _ in agent_fields(self.protocol.exits[name].fields))

    def required(self, name: str) -> tuple[str, ...]:
        """Return the fields that an agent must give for an exit."""
        return tuple(field for field in self.fields(name) if field not in self.optional(name))

    def optional(self, name: str) -> tuple[str, ...]:
        """Return the fields of an exit that an agent may leave out."""
        own = agent_fields(self.protocol.exits[name].fields)
        return tuple(field for field, _, type_ in own if isinstance(type_, OptionalType))

    def stranger(self, name: str) -> str:
        """Format the refusal of an unknown exit name, with a suggestion."""
        near = suggest_status(name[:100], self.names)
        return f"is not an exit of this step; {near + ' ' if near else ''}this step ends with {' or '.join(self.exits)}"


def wrap_exit(answer: object) -> object:
    """Return an answer in its full form, with `exit` around it."""
    if isinstance(answer, Mapping) and TAG in answer and EXIT not in answer:
        return {EXIT: answer}
    return answer


def is_answer(value: object) -> bool:
    """Whether an object is meant to be an answer."""
    return isinstance(value, dict) and (EXIT in value or TAG in value)


def exit_object(name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Build an answer from an exit's name and its fields."""
    return {EXIT: {**fields, TAG: name}}


FILE: Final = "exits.json"
FORMAT: Final = 1


class Extract(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The part of a protocol that validates an agent's answer."""

    format: int
    protocol: str
    version: str
    exits: dict[str, Exit]
    types: dict[str, Record] = {}
    limit: int = MAX_ANSWER
    """Bytes that an answer may have."""
    token: str = ""
    """The mark of the session's token; empty: any token will do."""


def mark_of(token: str) -> str:
    """Return a token's hash, which verifies the token without revealing it."""
    return sha256(token.encode(errors="replace")).hexdigest()


def encode_exits(protocol: Protocol, step: Step, token: str = "", limit: int = MAX_ANSWER) -> bytes:
    """Encode `exits.json`: a step's exits and every record type that can occur in them."""
    exits = {name: protocol.exits[name] for name in step.exits}
    types: dict[str, Record] = {}
    waiting = [field for exit_ in exits.values() for field in exit_.fields.values()]
    while waiting:
        name = record_of(parse_type(waiting.pop().type))
        if name and name not in types:
            types[name] = protocol.types[name]
            waiting.extend(types[name].fields.values())
    ordered = {name: types[name] for name in protocol.types if name in types}
    extract = Extract(
        format=FORMAT,
        protocol=protocol.name,
        version=protocol.version,
        exits=exits,
        types=ordered,
        limit=limit,
        token=mark_of(token) if token else "",
    )
    return msgspec.json.format(msgspec.json.encode(extract), indent=2) + b"\n"


def read_exits(folder: Path) -> StepExits:
    """Read the exits from a bundle."""
    data = read_file(folder, FILE)
    if data is None:
        raise TreadleError(
            f"{folder / FILE} is missing; did another version of treadle write this bundle?", code="emit.bundle"
        )
    if isinstance(data, Faulty):
        raise TreadleError(f"the bundle cannot be used: {data.problems[0]}", code="emit.bundle")
    try:
        found = msgspec.json.decode(data, type=Extract)
    except msgspec.DecodeError as error:
        raise TreadleError(f"{folder / FILE} is damaged: {error}; start the step again", code="emit.bundle") from None
    if found.format != FORMAT:
        raise TreadleError(
            f"{folder / FILE} has format {found.format}; this treadle knows format {FORMAT}", code="emit.bundle"
        )
    protocol = Protocol(name=found.protocol, version=found.version, root="", types=found.types, exits=found.exits)
    return StepExits(protocol, tuple(found.exits), found.limit, found.token)
