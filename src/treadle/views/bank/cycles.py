"""How a run stands in the words of its protocol: modes Ω, phases ℜ, sessions, planned cycles and batches
(✅ ❌ ⚠️ 🔄), and the verdicts on designs (∇ ACCEPT, REVISE, REJECT).
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from treadle.kernel.commands import RunAgent
from treadle.kernel.instances import ROOT
from treadle.kernel.state import Instance, State
from treadle.prompts.variables import dialogue, dialogue_kind, has_dialogue
from treadle.protocol.items import Json
from treadle.protocol.model import Protocol, Step, row
from treadle.views.chronicle import ActivityRecord
from treadle.views.evidence_records import EvidenceLog, Get, claim_ref, mappings, read_payload, text

# Modes, phases and stages.


def mode(protocol: Protocol, log: EvidenceLog) -> str:
    """Return Ω_current: the mode of the step at work or waited for; else the last mode at work, or the first one."""
    state = log.state
    live = [it for it in state.insts.values() if it.live and it.frames]
    parents = {it.parent for it in live}
    for inst in sorted((it for it in live if it.id not in parents), key=lambda it: it.n):
        if found := mode_at(protocol, state, inst, inst.frames[-1].step):
            return found
    for deed in reversed(log.deeds.values()):
        if found := mode_of(protocol, state, deed):
            return found
    root = state.insts.get(ROOT)
    return mode_at(protocol, state, root, protocol.graphs[root.graph].start) if root else ""


def mode_of(protocol: Protocol, state: State, deed: ActivityRecord) -> str:
    """The mode that an activity belongs to."""
    inst = state.insts.get(deed.command.inst)
    return mode_at(protocol, state, inst, deed.command.step) if inst else ""


def mode_at(protocol: Protocol, state: State, inst: Instance, step: str) -> str:
    """The mode of a step: the first on the way from the root down to it that has one."""
    found = ""
    around: Instance | None = inst
    while around is not None:  # from the inside out, so that the outermost mode wins
        declared = protocol.graphs[around.graph].steps.get(step)
        if declared and declared.symbol.startswith("Ω"):
            found = declared.symbol
        step, around = around.group, state.insts.get(around.parent)
    return found


def is_cycle(protocol: Protocol, inst: Instance) -> bool:
    """Whether an instance is a cycle ℜ→ℜᴳ→ℜᶠ."""
    return protocol.graphs[inst.graph].input[1] == "Cycle"


def live_cycles(protocol: Protocol, state: State) -> list[Instance]:
    """The cycles that go on, in order of birth."""
    found = [it for it in state.insts.values() if it.live and it.frames and is_cycle(protocol, it)]
    return sorted(found, key=lambda it: it.n)


def phase(protocol: Protocol, inst: Instance) -> str:
    """Return the phase of a cycle: that of its step, or of the latest earlier step with a phase."""
    step = inst.frames[-1].step if inst.frames else ""
    here = (step, step.partition("@")[2])  # a question that several steps lead to is one for each of them
    before = sorted(inst.left, key=lambda name: -inst.left[name])
    for name in (*here, *before):
        declared = protocol.graphs[inst.graph].steps.get(name)
        role = protocol.roles.get(declared.role) if declared else None
        found = role.modes.get(declared.mode) if role and declared else None
        if found and found.symbol:
            return found.symbol
    return ""


def stage(protocol: Protocol, state: State, inst: Instance) -> str:
    """Return the stage of a refactoring: its step, or the validation of its result; empty before it."""
    frame = inst.frames[-1]
    step = protocol.graphs[inst.graph].steps.get(frame.step)
    is_review = step is not None and step.mode.startswith("review")
    if not is_review and not phase(protocol, inst).startswith("ℜᶠ"):
        return ""
    act = state.acts.get(frame.id)
    claimed = protocol.exits.get(act.claim.type) if act and act.claim else None
    if act and act.phase == "verifying" and claimed and claimed.proves == "green":
        return f"{getattr(act.command, 'role', '')}_validation"
    return frame.step


def is_at_work(state: State, role: str) -> bool:
    """Whether an agent of a role is at work."""
    commands = [act.command for act in state.acts.values() if act.phase == "running"]
    return any(isinstance(it, RunAgent) and it.role == role for it in commands)


def planning(protocol: Protocol, log: EvidenceLog) -> list[ActivityRecord]:
    """The activities of agents in dialogues about plans, the earliest first."""
    found: list[ActivityRecord] = []
    for deed in log.deeds.values():
        job = deed.command
        talks = isinstance(job, RunAgent) and has_dialogue(protocol.roles[job.role])
        if talks and dialogue_kind(protocol, log.state.insts[job.inst]) == "plan_loop":
            found.append(deed)
    return found


def session(protocol: Protocol, state: State, inst: str) -> str:
    """The name of an instance's dialogue."""
    return dialogue(protocol, state.run, state.insts[inst])


# The status of the cycles and batches of accepted plans: ✅ ❌ ⚠️ 🔄.

SUCCESS: Final = "✅"
FAILURE: Final = "❌"
WARNING: Final = "⚠️"
PROCESSING: Final = "🔄"
ACCEPTED: Final = "PA"
PLANNED: Final = "planned"


class CycleStanding(msgspec.Struct, frozen=True):
    """A planned cycle or batch."""

    id: str
    title: str
    mark: str
    """Empty: it has not begun."""
    words: str
    batch: str = ""
    module: str = ""
    inst: str = ""


def cycles(protocol: Protocol, log: EvidenceLog, get: Get) -> list[CycleStanding]:
    """Return all cycles of the current plans."""
    found: list[CycleStanding] = []
    for owner, plan in _plans(log, get):
        grouped = [(text(one.get("id")), mappings(one.get("cycles"))) for one in mappings(plan.get("batches"))]
        for batch, listed in grouped or [("", mappings(plan.get("cycles")))]:
            for each in listed:
                id_, title, module = (text(each.get(key)) for key in ("id", "title", "module"))
                found.append(_standing(protocol, log.state, owner, "Cycle", id_, title, batch, module))
    return found


def batches(protocol: Protocol, log: EvidenceLog, get: Get) -> list[CycleStanding]:
    """Return all batches of the current plans."""
    found: list[CycleStanding] = []
    for owner, plan in _plans(log, get):
        module = owner.rpartition("/")[2] if "/" in owner else ""
        for each in mappings(plan.get("batches")):
            ids = ", ".join(text(one.get("id")) for one in mappings(each.get("cycles")))
            title = f"{ids} (parallel {each.get('parallel')})"
            found.append(_standing(protocol, log.state, owner, "Batch", text(each.get("id")), title, module=module))
    return found


def _standing(
    protocol: Protocol, state: State, owner: str, kind: str, id_: str, title: str, batch: str = "", module: str = ""
) -> CycleStanding:
    """Return how a planned item stands, by the latest of its instances below the owner of the plan."""
    instances = [
        it
        for it in state.insts.values()
        if it.key == id_ and protocol.graphs[it.graph].input[1] == kind and it.id.startswith(f"{owner}/")
    ]
    inst = max(instances, key=lambda it: it.n, default=None)
    if inst is None:
        return CycleStanding(id_, title, "", PLANNED, batch, module)
    parent = state.insts.get(inst.parent)
    asks = [ask.step for ask in state.asks.values() if ask.inst == inst.id or ask.inst.startswith(f"{inst.id}/")]
    round_ = f", round {inst.vars['round']}" if inst.vars.get("round") else ""
    if inst.outcome:
        good = protocol.graphs[parent.graph].ok.get(inst.group, ()) if parent else ()
        mark, words = SUCCESS if inst.outcome in good else FAILURE, inst.outcome
    elif asks:
        mark, words = WARNING, f"a person is asked: {asks[0]}{round_}"
    else:
        where = " ".join(filter(None, (phase(protocol, inst), inst.frames[-1].step if inst.frames else "")))
        has_failed = any(exit_.startswith("!") for exit_ in inst.last.values())
        mark, words = WARNING if has_failed else PROCESSING, f"{where}{round_}"
    return CycleStanding(id_, title, mark, words, batch, module, inst.id)


def _plans(log: EvidenceLog, get: Get) -> list[tuple[str, Mapping[str, Json]]]:
    """Return the instance around each plan, with the plan accepted there last."""
    found: dict[str, Mapping[str, Json]] = {}
    for deed in log.deeds.values():
        inst = log.state.insts.get(deed.command.inst)
        if deed.left == ACCEPTED and inst:
            found[inst.parent or inst.id] = read_payload(get, claim_ref(deed))
    return list(found.items())


# Verdicts on designs.

DECISIONS: Final = ("ACCEPT", "REVISE", "REJECT")


class DesignDecision(msgspec.Struct, frozen=True):
    """The decision about one design, with its reasons."""

    about: str
    choice: str
    at: int
    words: str
    critiques: tuple[str, ...]


def decisions(protocol: Protocol, log: EvidenceLog, get: Get) -> list[DesignDecision]:
    """Return the last decision about each design; a design made anew voids earlier decisions."""
    found: dict[str, DesignDecision] = {}
    for deed in log.deeds.values():
        inst = log.state.insts.get(deed.command.inst)
        if inst and _is_audited(protocol, deed.command.graph, deed.command.step, deed.left):
            found = {id_: it for id_, it in found.items() if not (id_ == inst.id or id_.startswith(f"{inst.id}/"))}
        elif inst and deed.left in DECISIONS:
            fields, given = read_payload(get, claim_ref(deed)), read_payload(get, inst.input.ref)
            found[inst.id] = DesignDecision(
                about=text(given.get("name")) if inst.parent else "architecture",
                choice=deed.left,
                at=deed.ended,
                words=message_and_reason(fields),
                critiques=tuple(map(critique, mappings(fields.get("critiques")))),
            )
    return list({it.about: it for it in found.values()}.values())


def approved(protocol: Protocol, log: EvidenceLog, decided: list[DesignDecision]) -> bool:
    """Whether every design that there is was accepted, and none is being made or audited."""
    for inst in log.state.insts.values():
        if inst.live and inst.frames:
            name, steps = inst.frames[-1].step, protocol.graphs[inst.graph].steps
            inner = protocol.graphs[steps[name].graph].steps.values() if steps[name].graph else ()
            makes = any(_is_audited(protocol, inst.graph, name, exit_) for exit_ in steps[name].exits)
            if makes or any(map(_audits, (steps[name], *inner))):
                return False
    return bool(decided) and all(it.choice == DECISIONS[0] for it in decided)


def _is_audited(protocol: Protocol, graph: str, step: str, exit_: str) -> bool:
    """Whether a step's exit delivers a design, which is audited next."""
    steps = protocol.graphs[graph].steps
    rows = steps[step].routes.get(exit_, ()) if steps[step].kind == "agent" else ()
    return any(_audits(steps[row.to]) for row in rows if row.to in steps)


def _audits(step: Step) -> bool:
    return set(DECISIONS) <= set(step.exits)


def message_and_reason(fields: Mapping[str, Json]) -> str:
    """The words of an exit: its message, then its reason."""
    return " ".join(filter(None, (text(fields.get("message")), text(fields.get("reason")))))


def critique(one: Mapping[str, Json]) -> str:
    """A critique on one line."""
    where, issue, fix = (text(one.get(key)) for key in ("where", "issue", "requiredFix"))
    return ": ".join(filter(None, (where, issue))) + (f" ({fix})" if fix else "")


def goes_on(protocol: Protocol, deed: ActivityRecord) -> bool:
    """Whether the instance continues after this exit: by another attempt, or by a question to a person."""
    graph = protocol.graphs[deed.command.graph]
    rows = row(graph, deed.command.step, deed.left) if deed.left else ()
    return any(way.to and not way.to.startswith("@end") for way in rows or ())
