"""An agent's answer: which exit it claims, with what; or what is wrong with it."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from treadle.protocol.answers.problems import Problem, kind
from treadle.protocol.answers.schema import TAG, TOOL, Exits, exit_names
from treadle.protocol.answers.values import Reading
from treadle.protocol.fields import EnumType, OptionalType, parse_type
from treadle.protocol.findings import suggest
from treadle.protocol.items import Json, RefOf, Routed, content_ref, routed_fields
from treadle.protocol.model import Exit, Protocol

_EXIT: Final = "exit"
_SHAPE: Final = 'write {"exit": {"type": "NAME", …}}'


class Claim(msgspec.Struct, frozen=True):
    """A well-formed answer. `fields` has every declared field under its own name; what was not given, and what is yet
    to be computed, is null."""

    exit: str
    variant: str
    fields: dict[str, Json]

    @property
    def key(self) -> str:
        """The routing key: `Stuck.SkillCeiling`, `Approved`."""
        return f"{self.exit}.{self.variant}" if self.variant else self.exit


def validate(protocol: Protocol, exits: Exits, answer: object) -> Claim | tuple[Problem, ...]:
    """Hold an answer against a step's exits. Whatever it is, this returns."""
    names = exit_names(exits)
    reading = Reading(protocol.types)
    given = _unwrap(answer, reading)
    name = "" if given is None else _exit_name(protocol, names, given, reading)
    if given is None or not name:
        return tuple(reading.problems)
    claimed = _said_by(protocol.exits[name], given[TAG]) | {key: value for key, value in given.items() if key != TAG}
    fields = reading.fields(protocol.exits[name].fields, claimed, (_EXIT,))
    if reading.problems:
        return tuple(reading.problems)
    return Claim(name, variant_of(protocol, name, fields), fields)


def _said_by(declared: Exit, tag: str) -> dict[Any, Any]:
    """What another name of an exit says by itself: it is the value of a field that has it among its words."""
    if tag not in declared.also:
        return {}
    kinds = {name: parse_type(field.type) for name, field in declared.fields.items() if field.by == "agent"}
    words = {name: type_.inner if isinstance(type_, OptionalType) else type_ for name, type_ in kinds.items()}
    return {name: tag for name, type_ in words.items() if isinstance(type_, EnumType) and tag in type_.values}


def from_tool(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The answer that a call of an exit's own tool stands for: `exit_TestsReady(…)`."""
    return {_EXIT: {**arguments, TAG: tool.removeprefix(TOOL)}}


def variant_of(protocol: Protocol, exit_name: str, values: Mapping[str, Json]) -> str:
    """What refines the routing key of an exit with these values; empty if nothing does."""
    refining = protocol.exits[exit_name].route_on
    value = values.get(refining) if refining else None
    return "" if value is None else str(value)


def routed(
    protocol: Protocol, exit_name: str, values: Mapping[str, Json], ref_of: RefOf = content_ref
) -> dict[str, Routed]:
    """All that routing may look at of an exit with these values, claimed and computed."""
    return routed_fields(protocol.types, protocol.exits[exit_name].fields, values, ref_of)


def _unwrap(answer: object, reading: Reading) -> dict[Any, Any] | None:
    if not isinstance(answer, dict):
        reading.blame((), f"the answer must be an object, not {kind(answer)}; {_SHAPE}")
        return None
    given = answer.get(_EXIT)
    if _EXIT not in answer:
        reading.blame((_EXIT,), f"is missing; {_SHAPE}")
    elif not isinstance(given, dict):
        hint = "give it as it is, not as JSON in quotes" if isinstance(given, str) else _SHAPE
        reading.blame((_EXIT,), f"must be an object, not {kind(given)}; {hint}")
    for key in answer:
        if key != _EXIT:
            label = key if isinstance(key, str) else kind(key)
            reading.blame((label,), "does not belong here; the fields of an exit stand inside of 'exit'")
    return given if isinstance(given, dict) else None


def _exit_name(protocol: Protocol, names: tuple[str, ...], given: dict[Any, Any], reading: Reading) -> str:
    """The exit that the tag names; empty, with a problem, if it is none of these."""
    place, choices = (_EXIT, TAG), f"this step ends with {' or '.join(names)}"
    tag = given.get(TAG)
    if not isinstance(tag, str):
        reading.blame(
            place, f"must name the exit, not be {kind(tag)}; {choices}" if TAG in given else f"is missing; {choices}"
        )
        return ""
    known = {other: name for name in names for other in protocol.exits[name].also} | {name: name for name in names}
    if tag in known:
        return known[tag]
    elsewhere = f"{tag} is not an exit of this step" if tag in protocol.exits else f"{kind(tag)} is not an exit"
    near = suggest(tag[:100], known)
    reading.blame(place, f"{elsewhere}; {near + ' ' if near else ''}{choices}")
    return ""
