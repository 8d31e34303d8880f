"""`bundle/exits.json`: a step's exits and their record types, so that an answer can be checked without the store."""

from pathlib import Path
from typing import Final

import msgspec

from treadle.errors import TreadleError
from treadle.protocol.fields import parse_type, record_of
from treadle.protocol.model import Exit, Field, Protocol, Record, Step
from treadle.results.faulty import Faulty
from treadle.results.files import look, replace
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


def extract(protocol: Protocol, step: Step) -> Extract:
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
    return Extract(format=FORMAT, protocol=protocol.name, version=protocol.version, exits=exits, types=ordered)


def write_exits(protocol: Protocol, step: Step, folder: Path) -> None:
    """Write `exits.json` into a bundle; blocks for a moment."""
    replace(folder, FILE, msgspec.json.format(msgspec.json.encode(extract(protocol, step)), indent=2) + b"\n")


def read_exits(folder: Path) -> Ways:
    """What `write_exits` wrote."""
    data = look(folder, FILE)
    if data is None:
        raise TreadleError(f"{folder / FILE} is not there; was this bundle written by another version of treadle?")
    if isinstance(data, Faulty):
        raise TreadleError(f"the bundle cannot be used: {data.problems[0]}")
    try:
        found = msgspec.json.decode(data, type=Extract)
    except msgspec.DecodeError as error:
        raise TreadleError(f"{folder / FILE} is damaged: {error}; start the step again") from None
    if found.format != FORMAT:
        raise TreadleError(f"{folder / FILE} has format {found.format}; this treadle knows format {FORMAT}")
    protocol = Protocol(name=found.protocol, version=found.version, root="", types=found.types, exits=found.exits)
    return Ways(protocol, tuple(found.exits))


def _record(field: Field) -> str:
    return record_of(parse_type(field.type))
