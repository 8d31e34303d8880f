"""An agent's answer: the exit it claims with its fields, or the problems that make it invalid."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from treadle.protocol.answers.schema import TAG, TOOL, Exits, exit_names
from treadle.protocol.answers.values import ValueProblem, ValueReader, describe_value
from treadle.protocol.fields import EnumType, agent_fields, bare
from treadle.protocol.findings import suggest
from treadle.protocol.items import Json, RefOf, Routed, content_ref, routed_fields
from treadle.protocol.model import Exit, Protocol

_EXIT: Final = "exit"
_SHAPE: Final = 'write {"exit": {"type": "NAME", …}}'


class Claim(msgspec.Struct, frozen=True):
    """A well-formed answer.

    `fields` has every declared field under its own name; missing and not yet computed ones are null.
    """

    exit: str
    variant: str
    fields: dict[str, Json]

    @property
    def key(self) -> str:
        """The routing key: `Stuck.SkillCeiling`, `Approved`."""
        return f"{self.exit}.{self.variant}" if self.variant else self.exit


def validate(protocol: Protocol, exits: Exits, answer: object) -> Claim | tuple[ValueProblem, ...]:
    """Validate an answer against a step's exits; no answer makes this raise."""
    names = exit_names(exits)
    reading = ValueReader(protocol.types)
    given = _unwrap(answer, reading)
    name = "" if given is None else _exit_name(protocol, names, given, reading)
    if given is None or not name:
        return tuple(reading.problems)
    implied = _implied_by_alias(protocol.exits[name], given[TAG])
    claimed = implied | {key: value for key, value in given.items() if key != TAG}
    fields = reading.fields(protocol.exits[name].fields, claimed, (_EXIT,))
    if reading.problems:
        return tuple(reading.problems)
    return Claim(name, variant_of(protocol, name, fields), fields)


def _implied_by_alias(declared: Exit, tag: str) -> dict[Any, Any]:
    """Return the fields that an alias of an exit implies: it is the value of each enum field that lists it."""
    if tag not in declared.also:
        return {}
    types = {name: bare(expr) for name, _, expr in agent_fields(declared.fields)}
    return {name: tag for name, type_ in types.items() if isinstance(type_, EnumType) and tag in type_.values}


def answer_from_tool(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The answer that a call of an exit's own tool stands for: `exit_TestsReady(…)`."""
    return {_EXIT: {**arguments, TAG: tool.removeprefix(TOOL)}}


def variant_of(protocol: Protocol, exit_name: str, values: Mapping[str, Json]) -> str:
    """Return the variant that refines an exit's routing key for these values; empty if there is none."""
    refining = protocol.exits[exit_name].route_on
    value = values.get(refining) if refining else None
    return "" if value is None else str(value)


def routed_values(
    protocol: Protocol, exit_name: str, values: Mapping[str, Json], ref_of: RefOf = content_ref
) -> dict[str, Routed]:
    """All that routing may look at of an exit with these values, claimed and computed."""
    return routed_fields(protocol.types, protocol.exits[exit_name].fields, values, ref_of)


def _unwrap(answer: object, reading: ValueReader) -> dict[Any, Any] | None:
    if not isinstance(answer, dict):
        reading.blame((), f"the answer must be an object, not {describe_value(answer)}; {_SHAPE}")
        return None
    given = answer.get(_EXIT)
    if _EXIT not in answer:
        reading.blame((_EXIT,), f"is missing; {_SHAPE}")
    elif not isinstance(given, dict):
        hint = "give it as it is, not as JSON in quotes" if isinstance(given, str) else _SHAPE
        reading.blame((_EXIT,), f"must be an object, not {describe_value(given)}; {hint}")
    for key in answer:
        if key != _EXIT:
            label = key if isinstance(key, str) else describe_value(key)
            reading.blame((label,), "does not belong here; the fields of an exit stand inside of 'exit'")
    return given if isinstance(given, dict) else None


def _exit_name(protocol: Protocol, names: tuple[str, ...], given: dict[Any, Any], reading: ValueReader) -> str:
    """The exit that the tag names; empty, with a problem, if it is none of these."""
    place, choices = (_EXIT, TAG), f"this step ends with {' or '.join(names)}"
    tag = given.get(TAG)
    if not isinstance(tag, str):
        fault = f"must name the exit, not be {describe_value(tag)}" if TAG in given else "is missing"
        reading.blame(place, f"{fault}; {choices}")
        return ""
    known = {other: name for name in names for other in protocol.exits[name].also} | {name: name for name in names}
    if tag in known:
        return known[tag]
    fault = f"{tag} is not an exit of this step" if tag in protocol.exits else f"{describe_value(tag)} is not an exit"
    near = suggest(tag[:100], known)
    reading.blame(place, f"{fault}; {near + ' ' if near else ''}{choices}")
    return ""


# Synonyms that people and agents write for the statuses of the Agentic Coding Protocol.

_MEANT: Final = {
    "pass": "done complete completed passing passed success succeeded successful ok green finished",
    "failing": "fail failed failure error red broken",
    "needs_human": "blocked stuck needs_review waiting question human",
    "running": "in_progress started working active",
    "pending": "todo queued open ready new",
    "timeout": "timed_out time_out",
}


def suggest_status(word: str, known: Iterable[str]) -> str:
    """Suggest a status, `did you mean 'pass'?`; empty if none is near."""
    names, plain = list(known), word.strip().lower().replace("-", "_").replace(" ", "_")
    found = next((name for name, words in _MEANT.items() if name in names and plain in (name, *words.split())), "")
    return f"did you mean '{found}'?" if found else suggest(word[:100], names)
