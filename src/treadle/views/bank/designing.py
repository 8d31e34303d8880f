"""What became of designs: ∇ ACCEPT, REVISE or REJECT of each, as long as it holds."""

from collections.abc import Mapping
from typing import Final

import msgspec

from treadle.kernel.state import Instance
from treadle.protocol.items import Json
from treadle.protocol.model import Protocol, Step
from treadle.views.bank.course import Course
from treadle.views.bank.standing import payload_ref, records
from treadle.views.chronicle import Deed
from treadle.views.evidence_records import payload, text
from treadle.views.payload import Get

DECISIONS: Final = ("ACCEPT", "REVISE", "REJECT")


class Decision(msgspec.Struct, frozen=True):
    """What was decided about one design, and why."""

    about: str
    choice: str
    at: int
    words: str
    critiques: tuple[str, ...]


def decisions(protocol: Protocol, course: Course, get: Get) -> list[Decision]:
    """The last decision about each design; one about a design that was made anew since does not hold."""
    found: dict[str, Decision] = {}
    for deed in course.deeds():
        inst = course.state.insts.get(deed.command.inst)
        if inst and _is_audited(protocol, deed.command.graph, deed.command.step, deed.left):
            found = {id_: it for id_, it in found.items() if not (id_ == inst.id or id_.startswith(f"{inst.id}/"))}
        elif inst and deed.left in DECISIONS:
            found[inst.id] = _decision(inst, deed, get)
    return list({it.about: it for it in found.values()}.values())


def approved(protocol: Protocol, course: Course, decided: list[Decision]) -> bool:
    """Whether every design that there is was accepted, and none is being made or audited."""
    here = [(it.graph, it.frames[-1].step) for it in course.state.insts.values() if it.live and it.frames]
    is_open = any(_is_about_design(protocol, graph, step) for graph, step in here)
    return bool(decided) and not is_open and all(it.choice == DECISIONS[0] for it in decided)


def _is_about_design(protocol: Protocol, graph: str, name: str) -> bool:
    """Whether a step makes a design, audits one, or has that done by children."""
    steps = protocol.graphs[graph].steps
    step = steps[name]
    inner = protocol.graphs[step.graph].steps.values() if step.graph else ()
    return _audits(step) or any(map(_audits, inner)) or any(_is_audited(protocol, graph, name, it) for it in step.exits)


def _is_audited(protocol: Protocol, graph: str, step: str, exit_: str) -> bool:
    """Whether what a step ends with is a design, which is audited next."""
    steps = protocol.graphs[graph].steps
    rows = steps[step].routes.get(exit_, ()) if steps[step].kind == "agent" else ()
    return any(_audits(steps[row.to]) for row in rows if row.to in steps)


def _audits(step: Step) -> bool:
    return set(DECISIONS) <= set(step.exits)


def _decision(inst: Instance, deed: Deed, get: Get) -> Decision:
    said, given = payload(get, payload_ref(deed)), payload(get, inst.input.ref)
    words = " ".join(part for part in (text(said.get("message")), text(said.get("reason"))) if part)
    about = text(given.get("name")) if inst.parent else "architecture"
    return Decision(about, deed.left, deed.ended, words, tuple(map(critique, records(said.get("critiques")))))


def critique(one: Mapping[str, Json]) -> str:
    """A critique on one line."""
    where, issue, fix = (text(one.get(key)) for key in ("where", "issue", "requiredFix"))
    return ": ".join(part for part in (where, issue) if part) + (f" ({fix})" if fix else "")
