"""`bundle/exits.json`: a step's exits and their record types, so that an answer can be checked without the store."""

from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from treadle.errors import TreadleError
from treadle.protocol.fields import parse_type, record_of
from treadle.protocol.model import Exit, Field, Protocol, Record, Step
from treadle.results.faulty import Faulty
from treadle.results.files import look, replace
from treadle.results.strict_json import MAX_ANSWER
from treadle.results.ways import Ways

FILE: Final = "exits.json"
FORMAT: Final = 1


class Extract(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The part of a protocol that an agent's answer is held against."""

    format: int
    protocol: str
    version: str
    exits: dict[str, Exit]
    types: dict[str, Record] = {}
    limit: int = MAX_ANSWER
    """Bytes that an answer may have."""
    token: str = ""
    """The mark of the session's token; empty: any token will do."""


class Demands(NamedTuple):
    """What an answer is held against, on the agent's side."""

    ways: Ways
    token: str = ""
    """The mark that the session's token must have; empty: not known."""


def mark_of(token: str) -> str:
    """What shows that a token is the right one, and does not tell which that is."""
    return sha256(token.encode(errors="replace")).hexdigest()


def extract(protocol: Protocol, step: Step, token: str = "", limit: int = MAX_ANSWER) -> Extract:
    """A step's exits and every record type that can occur in them."""
    exits = {name: protocol.exits[name] for name in step.exits}
    types: dict[str, Record] = {}
    waiting = [field for exit_ in exits.values() for field in exit_.fields.values()]
    while waiting:
        name = _record(waiting.pop())
        if name and name not in types:
            types[name] = protocol.types[name]
            waiting.extend(types[name].fields.values())
    ordered = {name: types[name] for name in protocol.types if name in types}
    return Extract(
        format=FORMAT,
        protocol=protocol.name,
        version=protocol.version,
        exits=exits,
        types=ordered,
        limit=limit,
        token=mark_of(token) if token else "",
    )


def packed(found: Extract) -> bytes:
    """The contents of the file."""
    return msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n"


def write_exits(found: Extract, folder: Path) -> None:
    """Write `exits.json` into a bundle; blocks for a moment."""
    replace(folder, FILE, packed(found))


def read_exits(folder: Path) -> Ways:
    """The ways out that a bundle tells of."""
    return read_demands(folder).ways


def read_demands(folder: Path) -> Demands:
    """What `write_exits` wrote."""
    data = look(folder, FILE)
    if data is None:
        raise TreadleError(
            f"{folder / FILE} is not there; was this bundle written by another version of treadle?", code="emit.bundle"
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
    return Demands(Ways(protocol, tuple(found.exits), found.limit), found.token)


def _record(field: Field) -> str:
    return record_of(parse_type(field.type))
