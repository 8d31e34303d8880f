"""How the cycles and batches of accepted plans stand: ✅ ❌ ⚠️ 🔄."""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from treadle.kernel.state import Instance, State
from treadle.protocol.items import Json
from treadle.protocol.model import Protocol
from treadle.views.bank.course import Course
from treadle.views.bank.modes import phase
from treadle.views.chronicle import Deed
from treadle.views.evidence_records import payload, text
from treadle.views.payload import Get

SUCCESS: Final = "✅"
FAILURE: Final = "❌"
WARNING: Final = "⚠️"
PROCESSING: Final = "🔄"
ACCEPTED: Final = "PA"
PLANNED: Final = "planned"


class Standing(msgspec.Struct, frozen=True):
    """A planned cycle or batch."""

    id: str
    title: str
    mark: str
    """Empty: it has not begun."""
    words: str
    batch: str = ""
    module: str = ""
    inst: str = ""


def cycles(protocol: Protocol, course: Course, get: Get) -> list[Standing]:
    """All cycles of the plans that hold."""
    return [it for plan in _plans(course, get) for it in _cycles(protocol, course.state, plan)]


def batches(protocol: Protocol, course: Course, get: Get) -> list[Standing]:
    """All batches of the plans that hold."""
    found: list[Standing] = []
    for owner, plan in _plans(course, get):
        for each in records(plan.get("batches")):
            inst = _latest(protocol, course.state, owner, "Batch", text(each.get("id")))
            titles = ", ".join(text(one.get("id")) for one in records(each.get("cycles")))
            told = f"{titles} (parallel {each.get('parallel')})"
            found.append(_standing(protocol, course.state, text(each.get("id")), told, inst, module=_name(owner)))
    return found


def _cycles(protocol: Protocol, state: State, plan: tuple[str, Mapping[str, Json]]) -> Iterator[Standing]:
    owner, said = plan
    grouped = [(text(one.get("id")), records(one.get("cycles"))) for one in records(said.get("batches"))]
    for batch, listed in grouped or [("", records(said.get("cycles")))]:
        for each in listed:
            inst = _latest(protocol, state, owner, "Cycle", text(each.get("id")))
            names = {"batch": batch, "module": text(each.get("module"))}
            yield _standing(protocol, state, text(each.get("id")), text(each.get("title")), inst, **names)


def _standing(
    protocol: Protocol, state: State, id_: str, title: str, inst: Instance | None, batch: str = "", module: str = ""
) -> Standing:
    mark, words = _told(protocol, state, inst) if inst else ("", PLANNED)
    return Standing(id_, title, mark, words, batch, module, inst.id if inst else "")


def _told(protocol: Protocol, state: State, inst: Instance) -> tuple[str, str]:
    parent = state.insts.get(inst.parent)
    if inst.outcome:
        good = protocol.graphs[parent.graph].ok.get(inst.group, ()) if parent else ()
        return (SUCCESS if inst.outcome in good else FAILURE), inst.outcome
    asks = [ask.step for ask in state.asks.values() if ask.inst == inst.id or ask.inst.startswith(f"{inst.id}/")]
    where = " ".join(part for part in (phase(protocol, inst), inst.frames[-1].step if inst.frames else "") if part)
    round_ = f", round {inst.vars['round']}" if inst.vars.get("round") else ""
    if asks:
        return WARNING, f"a person is asked: {asks[0]}{round_}"
    failed = [name for name in inst.last if inst.last[name].startswith("!")]
    return (WARNING if failed else PROCESSING), f"{where}{round_}"


def _plans(course: Course, get: Get) -> list[tuple[str, Mapping[str, Json]]]:
    """The instance around each plan, and what was accepted there last."""
    found: dict[str, Mapping[str, Json]] = {}
    for deed in course.deeds():
        inst = course.state.insts.get(deed.command.inst)
        if deed.left == ACCEPTED and inst:
            found[inst.parent or inst.id] = payload(get, payload_ref(deed))
    return list(found.items())


def payload_ref(deed: Deed) -> str:
    """Where the payload of an activity's claim lies, with its computed fields if it has any."""
    own = deed.claim.envelope.payload_ref if deed.claim else ""
    is_refused = deed.left.startswith("!")  # then the checks have left a report in its place
    checked = deed.checked.payload_ref if deed.checked else ""
    return own or checked if is_refused else checked or own


def _latest(protocol: Protocol, state: State, owner: str, kind: str, key: str) -> Instance | None:
    """The instance of a planned item: of several, the one that was begun last."""
    found = [
        it
        for it in state.insts.values()
        if it.key == key and protocol.graphs[it.graph].input[1] == kind and it.id.startswith(f"{owner}/")
    ]
    return max(found, key=lambda it: it.n, default=None)


def _name(owner: str) -> str:
    return owner.rpartition("/")[2] if "/" in owner else ""


def records(value: Json) -> list[Mapping[str, Json]]:
    """The records of a list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
