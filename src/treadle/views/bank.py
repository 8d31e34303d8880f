"""The documents of the memory bank: σ₁ brief, σ₄ context, σ₅ progress, σ₆ protection, and those that agents wrote.

They show a run in the words of its protocol: modes Ω, phases ℜ, sessions, planned cycles and batches (✅ ❌ ⚠️ 🔄), and
the verdicts on designs (∇ ACCEPT, REVISE, REJECT). Each file bears a seal, which reveals later changes.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from treadle.git.globs import CAREFUL, level_of
from treadle.kernel.commands import RunAgent
from treadle.kernel.events import Replied
from treadle.kernel.instances import ROOT
from treadle.kernel.state import Instance, State
from treadle.prompts.foreign import cut, inline, visible
from treadle.prompts.variables import SILENT, dialogue, dialogue_kind, has_dialogue
from treadle.protocol.artifacts import SECTIONS, documents_of, is_view, place_of
from treadle.protocol.drawing.table import markdown_table
from treadle.protocol.items import Json
from treadle.protocol.model import Protocol, Step, base_of, find_step, row, tag_of
from treadle.views.chronicle import ActivityRecord, Chronicle, QuestionRecord
from treadle.views.evidence_records import (
    Get,
    claim_ref,
    gate_records,
    is_accepted,
    last_test_result,
    mappings,
    read_payload,
    read_value,
    refusals,
    text,
    texts,
)
from treadle.views.tree import ended_well
from treadle.views.words import moment, plain, reason

# Modes, phases and stages.


def mode(protocol: Protocol, log: Chronicle) -> str:
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
    """Return the mode that an activity belongs to."""
    inst = state.insts.get(deed.command.inst)
    return mode_at(protocol, state, inst, deed.command.step) if inst else ""


def mode_at(protocol: Protocol, state: State, inst: Instance, step: str) -> str:
    """Return the mode of a step: the first on the way from the root down to it that has one."""
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
    """Return the unfinished cycles, in the order of their creation."""
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


def planning(protocol: Protocol, log: Chronicle) -> list[ActivityRecord]:
    """Return the activities of agents in dialogues about plans, the earliest first."""
    found: list[ActivityRecord] = []
    for deed in log.deeds.values():
        job = deed.command
        talks = isinstance(job, RunAgent) and has_dialogue(protocol.roles[job.role])
        if talks and dialogue_kind(protocol, log.state.insts[job.inst]) == "plan_loop":
            found.append(deed)
    return found


def session(protocol: Protocol, state: State, inst: str) -> str:
    """Return the name of an instance's dialogue."""
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


def cycles(protocol: Protocol, log: Chronicle, get: Get) -> list[CycleStanding]:
    """Return all cycles of the current plans."""
    found: list[CycleStanding] = []
    for owner, plan in _plans(log, get):
        grouped = [(text(one.get("id")), mappings(one.get("cycles"))) for one in mappings(plan.get("batches"))]
        for batch, listed in grouped or [("", mappings(plan.get("cycles")))]:
            for each in listed:
                id_, title, module = (text(each.get(key)) for key in ("id", "title", "module"))
                mark, words = _standing(protocol, log.state, owner, "Cycle", id_)
                found.append(CycleStanding(id_, title, mark, words, batch, module))
    return found


def batches(protocol: Protocol, log: Chronicle, get: Get) -> list[CycleStanding]:
    """Return all batches of the current plans."""
    found: list[CycleStanding] = []
    for owner, plan in _plans(log, get):
        module = owner.rpartition("/")[2] if "/" in owner else ""
        for each in mappings(plan.get("batches")):
            id_, ids = text(each.get("id")), ", ".join(text(one.get("id")) for one in mappings(each.get("cycles")))
            mark, words = _standing(protocol, log.state, owner, "Batch", id_)
            title = f"{ids} (parallel {each.get('parallel')})"
            found.append(CycleStanding(id_, title, mark, words, module=module))
    return found


def _standing(protocol: Protocol, state: State, owner: str, kind: str, id_: str) -> tuple[str, str]:
    """Return the mark and the words of a planned item, by the latest of its instances below the owner of the plan."""
    instances = [
        it
        for it in state.insts.values()
        if it.key == id_ and protocol.graphs[it.graph].input[1] == kind and it.id.startswith(f"{owner}/")
    ]
    inst = max(instances, key=lambda it: it.n, default=None)
    if inst is None:
        return "", PLANNED
    if inst.outcome:
        return SUCCESS if ended_well(protocol, state, inst) else FAILURE, inst.outcome
    asks = [ask.step for ask in state.asks.values() if ask.inst == inst.id or ask.inst.startswith(f"{inst.id}/")]
    round_ = f", round {inst.vars['round']}" if inst.vars.get("round") else ""
    if asks:
        return WARNING, f"a person is asked: {asks[0]}{round_}"
    where = " ".join(filter(None, (phase(protocol, inst), inst.frames[-1].step if inst.frames else "")))
    has_failed = any(exit_.startswith("!") for exit_ in inst.last.values())
    return WARNING if has_failed else PROCESSING, f"{where}{round_}"


def _plans(log: Chronicle, get: Get) -> list[tuple[str, Mapping[str, Json]]]:
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


def decisions(protocol: Protocol, log: Chronicle, get: Get) -> list[DesignDecision]:
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


def approved(protocol: Protocol, log: Chronicle, decided: list[DesignDecision]) -> bool:
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
    """Return the words of an exit: its message, then its reason."""
    return " ".join(filter(None, (text(fields.get("message")), text(fields.get("reason")))))


def critique(one: Mapping[str, Json]) -> str:
    """Format a critique on one line."""
    where, issue, fix = (text(one.get(key)) for key in ("where", "issue", "requiredFix"))
    return ": ".join(filter(None, (where, issue))) + (f" ({fix})" if fix else "")


def goes_on(protocol: Protocol, deed: ActivityRecord) -> bool:
    """Whether the instance continues after this exit: by another attempt, or by a question to a person."""
    graph = protocol.graphs[deed.command.graph]
    rows = row(graph, deed.command.step, deed.left) if deed.left else ()
    return any(way.to and not way.to.startswith("@end") for way in rows or ())


# The parts of documents.

NONE: Final = "none"
_LONGEST: Final = 4000
_LINE: Final = 300
View = Callable[[Protocol, Chronicle, Get], str]
"""The text of a document."""


def document(view: str, title: str, bodies: Sequence[str]) -> str:
    """Format a document with all its sections."""
    parts = [f"# {title}"]
    for number, (name, body) in enumerate(zip(SECTIONS[view], bodies, strict=True), 1):
        parts.append(f"## R{number} {name}\n\n{body.strip() or NONE}")
    return "\n\n".join(parts) + "\n"


def fields(values: Mapping[str, Json]) -> str:
    """Format names and values, a line each, as the published protocols do."""
    lines = []
    for name, it in values.items():
        whole = "; ".join(map(str, it)) if isinstance(it, list) else it
        lines.append(f"- {name}: {'null' if whole in (None, '') else line(whole)}")
    return "\n".join(lines)


def line(it: Json) -> str:
    """Format any text on one line."""
    return inline(it, _LINE)


def quote(text: str) -> str:
    """Quote any text: a mark before each line."""
    if not text.strip():
        return ""
    return "\n".join(f"> {one}".rstrip() for one in visible(cut(text.strip(), _LONGEST)).split("\n"))


def table(columns: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Format a table; empty if it has no lines."""
    listed = [tuple(line(cell) for cell in each) for each in lines]
    return markdown_table(columns, listed) if listed else ""


def listing(lines: Iterable[str]) -> str:
    """Format a list."""
    return "\n".join(f"- {one}" for one in lines)


def when(ms: int) -> str:
    """Format a moment for people."""
    return plain(moment(ms))


# σ₁: the brief, as handed in.


def brief(protocol: Protocol, log: Chronicle, get: Get) -> str:  # noqa: ARG001  as every view
    """Format the brief as a document."""
    root = log.state.insts.get(ROOT)
    given = read_payload(get, root.input.ref) if root else {}
    title = f"σ₁ Brief {line(text(given.get('id')))}: {line(text(given.get('title')))}".rstrip(": ")
    modules: list[str] = []
    for module in mappings(given.get("modules")):
        parts = [
            f"### {line(text(module.get('name')))}",
            quote(text(module.get("description"))),
            _criteria(module.get("criteria")),
        ]
        for key, word in {"depends": "uses", "paths": "lives in"}.items():
            if named := texts(module.get(key)):
                parts.append(f"{word} {', '.join(map(line, named))}")
        parts.append(quote(text(module.get("notes"))))
        modules.append("\n\n".join(filter(None, parts)))
    bodies = [
        quote(text(given.get("description"))),
        "\n\n".join(modules),
        _criteria(given.get("criteria")),
        listing(map(line, texts(given.get("constraints")))),
        listing(map(line, texts(given.get("technology")))),
    ]
    return document("brief", title, bodies)


def _criteria(value: Json) -> str:
    return listing(f"{line(text(one.get('id')))}: {line(text(one.get('text')))}" for one in mappings(value))


# σ₄: context and STATE: the position of the run, and its hand-over.


def context(protocol: Protocol, log: Chronicle, get: Get) -> str:
    """Format the position of the run as a document."""
    decided = decisions(protocol, log, get)
    bodies = [
        fields(state_of(protocol, log, get, decided)),
        _handoff(protocol, log, get),
        _design(decided),
        _plan(protocol, log, get),
        _agents(protocol, log.state),
        _snapshot(log, get),
    ]
    return document("context", f"σ₄ Context of {line(log.state.run)}", bodies)


def state_of(protocol: Protocol, log: Chronicle, get: Get, decided: list[DesignDecision]) -> dict[str, Json]:
    """Format STATE, field by field."""
    state, plans, cycles = log.state, planning(protocol, log), live_cycles(protocol, log.state)
    at = plans[-1].command.inst if plans else ""
    stages = [found for it in cycles if (found := stage(protocol, state, it))]
    choices, design = {it.choice for it in decided}, "[↗️σ₄:R3]"
    _, revise, reject = DECISIONS
    return {
        "Ω_session": state.run,
        "Ω_current": mode(protocol, log),
        "outcome": state.outcome,
        "session_id": session(protocol, state, at) if at else None,
        "round": state.insts[at].vars.get("round") if at else None,
        "tdd_mode": bool(cycles),
        "tdd_phase": list(dict.fromkeys(phase(protocol, it) for it in cycles)),
        "current_cycle": [it.key for it in cycles],
        "tdd_session_id": [session(protocol, state, it.id) for it in cycles],
        "qa_agent_active": is_at_work(state, "qa"),
        "de_agent_active": is_at_work(state, "de"),
        "refactor_stage": list(dict.fromkeys(stages)),
        "last_test_result": last_test_result(get, list(log.deeds.values()), [it.id for it in cycles]),
        "design_approved": approved(protocol, log, decided),
        "design_feedback": design if revise in choices else None,
        "design_rejected": design if reject in choices else None,
        "arch_critique": design if decided else None,
        "plan_approved": bool(plans) and plans[-1].left == ACCEPTED,
    }


def _handoff(protocol: Protocol, log: Chronicle, get: Get) -> str:
    """Format the hand-over of the agent that ended last to the next one."""
    ended = [deed for deed in log.deeds.values() if deed.ended and isinstance(deed.command, RunAgent) and deed.left]
    if not ended:
        return ""
    deed = max(ended, key=lambda it: it.ended)
    facts: dict[str, Json] = {
        "to": log.state.outcome or mode(protocol, log),
        "from": f"{mode_of(protocol, log.state, deed)} {deed.command.id} {deed.left}".strip(),
        "at": when(deed.ended),
    }
    if deed.left.startswith("!"):
        failure = deed.failures[-1].detail_ref if deed.failures else ""
        found = [f"{name}: {words}" if words else name for name, words in refusals(get, deed)]
        summary = "\n".join([reason(tag_of(deed.left), read_value(get, failure)), *found])
    else:
        summary = text(read_payload(get, claim_ref(deed)).get("message")) or SILENT
    return f"{fields(facts)}\n- summary:\n\n{quote(summary)}"


def _design(decided: list[DesignDecision]) -> str:
    """∇ of every design, and the critique."""
    listed = table(("design", "∇", "when"), [(it.about, it.choice, when(it.at)) for it in decided])
    reasons = [(it, "\n".join(filter(None, (it.words, listing(it.critiques))))) for it in decided]
    parts = [f"### {line(it.about)}: {it.choice}\n\n{quote(words)}\n" for it, words in reasons if words]
    return "\n".join([listed, *parts])


def _plan(protocol: Protocol, log: Chronicle, get: Get) -> str:
    """Format the dialogues about plans: session, round, last code, and its message."""
    lines: list[tuple[str, ...]] = []
    last = {deed.command.inst: deed for deed in planning(protocol, log) if deed.left}
    for inst, deed in last.items():
        round_ = log.state.insts[inst].vars.get("round", "")
        message = text(read_payload(get, claim_ref(deed)).get("message"))
        lines.append((session(protocol, log.state, inst), str(round_), f"→{deed.left}", message))
    return table(("session", "R", "code", "message"), lines)


def _agents(protocol: Protocol, state: State) -> str:
    """List the agents at work and the open questions to people."""
    agents: list[tuple[str, ...]] = []
    for _, act in sorted(state.acts.items()):
        if isinstance(job := act.command, RunAgent):
            inst = state.insts[job.inst]
            own = phase(protocol, inst) if is_cycle(protocol, inst) else ""
            doing = f"claims {act.claim.key}, which is verified" if act.claim else act.phase
            symbol, round_ = protocol.roles[job.role].symbol or job.role, str(job.vars.get("round", ""))
            agents.append((symbol, job.id, own, round_, str(job.attempt), doing))
    asked = [f"a person is asked: {line(id_)}" for id_, ask in sorted(state.asks.items()) if ask.command]
    return "\n".join((table(("agent", "activity", "P", "R", "attempt", "doing"), agents), listing(asked)))


def _snapshot(log: Chronicle, get: Get) -> str:
    """Format the positions at the last failure of an agent."""
    if not log.snapshots:
        return ""
    last = log.snapshots[-1]
    facts: dict[str, Json] = {
        "AGENT_FAILURE": reason(last.cause, read_value(get, last.detail_ref)),
        "activity": last.act,
        "at": when(last.at),
    }
    lines: list[tuple[str, ...]] = []
    for one in sorted((it for it in last.state.insts.values() if it.live and it.frames), key=lambda it: it.n):
        here = one.frames[-1].step
        variables = ", ".join(f"{name}={it}" for name, it in one.vars.items() if it != "")
        left = ", ".join(f"{step} {exit_}" for step, exit_ in one.last.items())
        lines.append((one.id, here, str(one.attempts.get(here, 0) or ""), variables, left))
    return f"{fields(facts)}\n\n" + table(("instance", "step", "attempt", "vars", "left"), lines)


# σ₅: the cycles and batches of the plan, errors, and people's decisions.

_QUALITY = "QUALITY_FAILURE"


def progress(protocol: Protocol, log: Chronicle, get: Get) -> str:
    """Format the progress of the run as a document."""
    planned, grouped = cycles(protocol, log, get), batches(protocol, log, get)
    bodies = [
        table(
            ("", "cycle", "what", "batch", "module", "where"),
            [(one.mark, one.id, one.title, one.batch, one.module, one.words) for one in planned],
        ),
        table(
            ("", "batch", "cycles", "module", "where"),
            [(one.mark, one.id, one.title, one.module, one.words) for one in grouped],
        ),
        listing(_errors(protocol, log, get)),
        listing(_failed_gates(protocol, log, get)),
        "\n".join(_answers(log, get)),
    ]
    return document("progress", f"σ₅ Progress of {line(log.state.run)}", bodies)


def _errors(protocol: Protocol, log: Chronicle, get: Get) -> Iterator[str]:
    """Sessions that broke, took too long or gave no valid answer, and agents that were blocked."""
    for deed in log.deeds.values():
        at = f"{when(deed.ended or log.state.now)} {deed.command.id}"
        is_over = deed.left.startswith("!") and not deed.left.startswith("!gate")
        for failure in deed.failures:
            mark = FAILURE if is_over and failure is deed.failures[-1] else WARNING
            yield f"{mark} {at}: {line(reason(f'!{failure.why}', read_value(get, failure.detail_ref)))}"
        if is_over and not deed.failures and deed.left != "!exhausted":
            yield f"{FAILURE} {at}: {line(reason(deed.left, None))}"
        declared = protocol.exits.get(deed.left)
        if declared and declared.severity == "BLOCKER" and deed.left != _QUALITY:
            words = message_and_reason(read_payload(get, claim_ref(deed)))
            yield f"{FAILURE} {at} →{deed.left}: {line(words)}"


def _failed_gates(protocol: Protocol, log: Chronicle, get: Get) -> Iterator[str]:
    """List gates that refused work, each with its first finding, and gates that people were asked about."""
    for deed in log.deeds.values():
        at = f"{when(deed.ended or log.state.now)} {deed.command.id}"
        mark = WARNING if goes_on(protocol, deed) else FAILURE
        for name, words in refusals(get, deed):
            yield f"{mark} {at}: {name}" + (f": {line(words)}" if words else "")
        if deed.left == _QUALITY:
            exit_ = read_payload(get, claim_ref(deed))
            found = "; ".join(critique(one) for one in mappings(exit_.get("critiques")))
            yield f"{FAILURE} {at} →{_QUALITY}: {line(text(exit_.get('gate')))}: {line(found)}"
    for question in log.asked.values():
        # A question about the whole run has no step.
        step = find_step(protocol, question.command.graph, question.command.step)
        if step and step.title.startswith(_QUALITY):
            yield f"{FAILURE} {when(question.began)} {question.command.id}: {line(step.title)}"


def _answers(log: Chronicle, get: Get) -> Iterator[str]:
    """List people's answers."""
    for question in log.asked.values():
        if isinstance(event := question.settled, Replied):
            who = f" ({line(event.actor)})" if event.actor else ""
            yield f"- {when(question.ended)} {question.command.id}: {line(event.choice)}{who}"
            if note := text(read_value(get, event.note_ref)):
                yield f"\n{quote(note)}\n"


# σ₆: the protection level of each path, and people's confirmations.

_REFUSAL = "!gate.protection"


def protection(protocol: Protocol, log: Chronicle, get: Get) -> str:
    """Ψ of every protected path, as a document."""
    levels = [
        (f"`{it.glob}`", f"Ψ{it.level}", "asks a person" if it.level >= CAREFUL else "proceeds")
        for it in protocol.protections
    ]
    settled: list[tuple[str, ...]] = []
    open_: list[tuple[str, ...]] = []
    for question in log.asked.values():
        if not _is_about_protection(protocol, question):
            continue
        event, by = question.settled, question.command.inst
        for path, level in _paths(protocol, log, question, get):
            if isinstance(event, Replied):
                note = text(read_value(get, event.note_ref))
                settled.append((path, level, event.choice, event.actor, when(question.ended), by, note))
            elif not question.ended:
                open_.append((path, level, by, when(question.began)))
    bodies = [
        table(("path", "Ψ", "a change"), levels),
        table(("path", "Ψ", "answer", "by", "when", "asked by", "note"), settled),
        table(("path", "Ψ", "asked by", "since"), open_),
    ]
    return document("protection", f"σ₆ Protection of {line(log.state.run)}", bodies)


def _is_about_protection(protocol: Protocol, question: QuestionRecord) -> bool:
    """Whether a question is the target of a step's route for changes to protected paths."""
    graph = protocol.graphs.get(question.command.graph)  # none: it is about the whole run
    rows = [row(graph, name, _REFUSAL) for name, it in graph.steps.items() if _REFUSAL in it.routes] if graph else []
    return any(base_of(way.to) == base_of(question.command.step) for ways in rows for way in ways or ())


def _paths(protocol: Protocol, log: Chronicle, question: QuestionRecord, get: Get) -> Iterator[tuple[str, str]]:
    """Yield the paths that the protection check reported for the activity behind a question, each with its level."""
    deed = log.deeds.get(question.by)
    for record in gate_records(get, deed, ("protection",)) if deed else ():
        for path in record.paths:
            yield path, f"Ψ{level_of(protocol.protections, path)}"


# The documents of the bank as files: each bears a seal, which reveals later changes.

VIEWS: Final[dict[str, View]] = {"brief": brief, "context": context, "progress": progress, "protection": protection}
_SEAL: Final = re.compile(
    r"<!-- made by treadle from the log of (\S+); changes are not read: sha256 ([0-9a-f]{64}) -->\n"
)


def bank(log: Chronicle, get: Get) -> dict[str, str]:
    """Return path → text of the documents that are views of a run; empty before it has started."""
    protocol = log.protocol
    if protocol is None:
        return {}
    shown = [artifact for artifact in protocol.artifacts.values() if is_view(artifact)]
    return {it.path: sealed(log.state.run, VIEWS[it.view](protocol, log, get)) for it in shown}


def sealed(run: str, text: str) -> str:
    """Add its seal to a document."""
    return f"<!-- made by treadle from the log of {run}; changes are not read: sha256 {_digest(run, text)} -->\n{text}"


def run_of(text: str) -> str:
    """Return the run that a document was made from; empty if it was made otherwise, or changed since."""
    found = _SEAL.match(text)
    return found[1] if found and _digest(found[1], text[found.end() :]) == found[2] else ""


def _digest(run: str, text: str) -> str:
    return hashlib.sha256(f"{run}\n{text}".encode(errors="replace")).hexdigest()


# The documents that agents wrote into the bank: those of accepted exits, as recorded in the log.

Texts = dict[str, dict[str, str]]
"""Artifact → path → text."""


def accepted_documents(protocol: Protocol, log: Chronicle, get: Get) -> Texts:
    """Return the documents of accepted exits; the last one at each path wins."""
    found: Texts = {}
    for deed in filter(is_accepted, log.deeds.values()):
        given = read_payload(get, log.state.insts[deed.command.inst].input.ref)
        for name, written in documents_of(protocol, deed.left, read_payload(get, claim_ref(deed))).items():
            if place := place_of(protocol.artifacts[name], given):
                found.setdefault(name, {})[place] = written
    return found
