"""What accepted exits of an instance say: their payloads, their commits, and who of them wrote tests."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from treadle.kernel.state import Instance
from treadle.ports import Case
from treadle.protocol.items import Json
from treadle.protocol.model import CheckRef, Graph, Step, tag_of

_COMMIT: Final = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?\Z")
WRITES_TESTS: Final = frozenset({"scope_tests", "red", "red_one", "still_red_on_skeleton"})


class Accepted(msgspec.Struct, frozen=True):
    """An exit that was accepted, as its slot keeps it."""

    step: str
    exit: str
    seq: int
    payload: Mapping[str, Json]


def payload(case: Case, ref: str) -> Mapping[str, Json]:
    """A payload's fields; none where there is nothing to have fields."""
    value = case.payloads.get(ref) if ref else None
    return value if isinstance(value, dict) else {}


def accepted(case: Case, inst: Instance) -> list[Accepted]:
    """The exits of an instance, oldest first; of each, the last time it was taken."""
    slots = [(name.rpartition("."), slot) for name, slot in inst.slots.items()]
    own = [(step, exit_, slot) for (step, _, exit_), slot in slots if exit_ and not exit_.startswith("!")]
    ordered = sorted(own, key=lambda one: one[2].seq)
    return [Accepted(step, exit_, slot.seq, payload(case, slot.ref)) for step, exit_, slot in ordered]


def commit_of(case: Case, one: Accepted) -> str:
    """The commit that an exit stands for: the field that git fills in with one."""
    declared = case.protocol.exits.get(one.exit)
    names = [name for name, field in declared.fields.items() if field.by == "git"] if declared else []
    values = [value for name in names if isinstance(value := one.payload.get(name), str)]
    return next((value for value in values if _COMMIT.match(value)), "")


def commits(case: Case, inst: Instance) -> list[tuple[Accepted, str]]:
    """Accepted exits that stand for a commit, oldest first."""
    return [(one, commit) for one in accepted(case, inst) if (commit := commit_of(case, one))]


def gates(step: Step, key: str) -> tuple[CheckRef, ...]:
    """The checks that an exit had to pass."""
    return step.gates.get(key) or step.gates.get(tag_of(key)) or ()


def is_gated_by(graph: Graph, one: Accepted, *names: str) -> bool:
    """Whether one of these checks stood before an exit, and could refuse."""
    step = graph.steps.get(one.step)
    return step is not None and any(ref.name in names and not ref.advisory for ref in gates(step, one.exit))


def handed_down(case: Case, inst: Instance) -> Iterator[tuple[str, Mapping[str, Json]]]:
    """What was given to the children that live or are merged, with its group; a plan that names none keeps them."""
    merged = {one.id for one in merged_children(case, inst.id)}
    for name, group in inst.groups.items():
        members = [] if group.mapped else [case.state.insts[id_] for id_ in group.members.values()]
        for child in sorted((one for one in members if one.live or one.id in merged), key=lambda one: one.key):
            yield name, payload(case, child.input.ref)


def merged_children(case: Case, inst: str) -> list[Instance]:
    """The children that have been merged: an exit of theirs that proves the contract was accepted."""
    exits = {name for name, one in case.protocol.exits.items() if one.proves == "contract"}
    below = [one for one in case.state.insts.values() if one.parent == inst]
    return [one for one in below if any(tag_of(name.rpartition(".")[2]) in exits for name in one.slots)]
