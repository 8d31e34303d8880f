"""Why a child came to no good end: what last blocked it, and what a person said who gave it up."""

import json
from collections.abc import Callable, Iterator

from treadle.kernel.state import Instance
from treadle.ports import Payloads
from treadle.protocol.items import Json
from treadle.protocol.model import Protocol, tag_of

Worded = Callable[[Json], Json]
"""Picks the words of a report for whoever reads it."""


def trouble(protocol: Protocol, child: Instance, payloads: Payloads, worded: Worded) -> str:
    """Line by line; empty if nobody has said anything."""
    return "\n".join([*_blocked(protocol, child, payloads, worded), *_given_up(child, payloads)])


def _blocked(protocol: Protocol, child: Instance, payloads: Payloads, worded: Worded) -> Iterator[str]:
    """The latest exit that says so, or the latest failure, unless its step has ended otherwise since."""
    found = {name: slot for name, slot in child.slots.items() if _is_blocker(protocol, child, name)}
    if not found:
        return
    name, slot = max(found.items(), key=lambda item: item[1].seq)
    step, _, exit_ = name.rpartition(".")
    yield f"{step} ended with {exit_}"
    said = worded(payloads.get(slot.ref)) if slot.ref else ""
    if isinstance(said, dict):
        yield from (f"{field}: {_plain(value)}" for field, value in said.items() if _is_told(protocol, exit_, field))
    elif said:
        yield _plain(said)


def _is_blocker(protocol: Protocol, child: Instance, slot: str) -> bool:
    step, _, exit_ = slot.rpartition(".")
    declared = protocol.exits.get(exit_)
    blocks = exit_.startswith("!") or (declared is not None and declared.severity == "BLOCKER")
    return blocks and tag_of(child.last.get(step, "")) == exit_


def _is_told(protocol: Protocol, exit_: str, field: str) -> bool:
    """Whether the agent itself has said it; what was computed is told elsewhere."""
    declared = protocol.exits.get(exit_)
    return declared is None or (field in declared.fields and declared.fields[field].by == "agent")


def _given_up(child: Instance, payloads: Payloads) -> Iterator[str]:
    note = payloads.get(child.result.ref) if child.result.ref else ""
    if note and isinstance(note, str):
        yield f"who gave it up says: {note}"


def _plain(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
