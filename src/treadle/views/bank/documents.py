"""The documents of the memory bank: σ₁ brief, σ₄ context, σ₅ progress, σ₆ protection, and those that agents wrote.

Each file bears a seal, which reveals later changes.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from treadle.git.globs import CAREFUL, level_of
from treadle.kernel.commands import RunAgent
from treadle.kernel.events import Replied
from treadle.kernel.instances import ROOT
from treadle.kernel.state import State
from treadle.prompts.foreign import cut, inline, visible
from treadle.prompts.variables import SILENT
from treadle.protocol.artifacts import SECTIONS, documents_of, is_view, place_of
from treadle.protocol.drawing.table import markdown_table
from treadle.protocol.items import Json
from treadle.protocol.model import Protocol, base_of, row, tag_of
from treadle.views.bank.cycles import (
    ACCEPTED,
    DECISIONS,
    FAILURE,
    WARNING,
    DesignDecision,
    approved,
    batches,
    critique,
    cycles,
    decisions,
    goes_on,
    is_at_work,
    is_cycle,
    live_cycles,
    message_and_reason,
    mode,
    mode_of,
    phase,
    planning,
    session,
    stage,
)
from treadle.views.chronicle import QuestionRecord
from treadle.views.evidence_records import (
    EvidenceLog,
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
from treadle.views.words import moment, plain, reason

NONE: Final = "none"
_LONGEST: Final = 4000
_LINE: Final = 300
View = Callable[[Protocol, EvidenceLog, Get], str]
"""The text of a document."""


def document(view: str, title: str, bodies: Sequence[str]) -> str:
    """A document with all its sections."""
    parts = [f"# {title}"]
    for number, (name, body) in enumerate(zip(SECTIONS[view], bodies, strict=True), 1):
        parts.append(f"## R{number} {name}\n\n{body.strip() or NONE}")
    return "\n\n".join(parts) + "\n"


def fields(values: Mapping[str, Json]) -> str:
    """Names and values, a line each, as the published protocols write them."""
    lines = []
    for name, it in values.items():
        whole = "; ".join(map(str, it)) if isinstance(it, list) else it
        lines.append(f"- {name}: {'null' if whole in (None, '') else line(whole)}")
    return "\n".join(lines)


def line(it: Json) -> str:
    """Anybody's words on one line."""
    return inline(it, _LINE)


def quote(text: str) -> str:
    """Anybody's words, each of their lines behind a mark."""
    if not text.strip():
        return ""
    return "\n".join(f"> {one}".rstrip() for one in visible(cut(text.strip(), _LONGEST)).split("\n"))


def table(columns: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table; nothing if it has no lines."""
    listed = [tuple(line(cell) for cell in each) for each in lines]
    return markdown_table(columns, listed) if listed else ""


def listing(lines: Iterable[str]) -> str:
    """A list."""
    return "\n".join(f"- {one}" for one in lines)


def when(ms: int) -> str:
    """A moment as people read it."""
    return plain(moment(ms))


# σ₁: the brief, as handed in.


def brief(protocol: Protocol, log: EvidenceLog, get: Get) -> str:  # noqa: ARG001  as every view
    """The brief as a document."""
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


def context(protocol: Protocol, log: EvidenceLog, get: Get) -> str:
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


def state_of(protocol: Protocol, log: EvidenceLog, get: Get, decided: list[DesignDecision]) -> dict[str, Json]:
    """STATE, field by field."""
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


def _handoff(protocol: Protocol, log: EvidenceLog, get: Get) -> str:
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


def _plan(protocol: Protocol, log: EvidenceLog, get: Get) -> str:
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


def _snapshot(log: EvidenceLog, get: Get) -> str:
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
    for one in last.positions:
        variables = ", ".join(f"{name}={it}" for name, it in one.vars.items() if it != "")
        left = ", ".join(f"{step} {exit_}" for step, exit_ in one.last.items())
        lines.append((one.inst, one.step, str(one.attempt or ""), variables, left))
    return f"{fields(facts)}\n\n" + table(("instance", "step", "attempt", "vars", "left"), lines)


# σ₅: the cycles and batches of the plan, errors, and people's decisions.

_QUALITY = "QUALITY_FAILURE"


def progress(protocol: Protocol, log: EvidenceLog, get: Get) -> str:
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


def _errors(protocol: Protocol, log: EvidenceLog, get: Get) -> Iterator[str]:
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


def _failed_gates(protocol: Protocol, log: EvidenceLog, get: Get) -> Iterator[str]:
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
        graph = protocol.graphs.get(question.command.graph)  # none: it is about the whole run
        step = graph.steps.get(question.command.step) if graph else None
        if step and step.title.startswith(_QUALITY):
            yield f"{FAILURE} {when(question.began)} {question.command.id}: {line(step.title)}"


def _answers(log: EvidenceLog, get: Get) -> Iterator[str]:
    """List people's answers."""
    for question in log.asked.values():
        if isinstance(event := question.settled, Replied):
            who = f" ({line(event.actor)})" if event.actor else ""
            yield f"- {when(question.ended)} {question.command.id}: {line(event.choice)}{who}"
            if note := text(read_value(get, event.note_ref)):
                yield f"\n{quote(note)}\n"


# σ₆: the protection level of each path, and people's confirmations.

_REFUSAL = "!gate.protection"


def protection(protocol: Protocol, log: EvidenceLog, get: Get) -> str:
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


def _paths(protocol: Protocol, log: EvidenceLog, question: QuestionRecord, get: Get) -> Iterator[tuple[str, str]]:
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


def bank(log: EvidenceLog, get: Get) -> dict[str, str]:
    """Return path → text of the documents that are views of a run; empty before it has started."""
    protocol = log.protocol
    if protocol is None:
        return {}
    shown = [artifact for artifact in protocol.artifacts.values() if is_view(artifact)]
    return {it.path: sealed(log.state.run, VIEWS[it.view](protocol, log, get)) for it in shown}


def sealed(run: str, text: str) -> str:
    """A document with its seal."""
    return f"<!-- made by treadle from the log of {run}; changes are not read: sha256 {_digest(run, text)} -->\n{text}"


def run_of(text: str) -> str:
    """The run that a document was made from; empty if it was made otherwise, or changed since."""
    found = _SEAL.match(text)
    return found[1] if found and _digest(found[1], text[found.end() :]) == found[2] else ""


def _digest(run: str, text: str) -> str:
    return hashlib.sha256(f"{run}\n{text}".encode(errors="replace")).hexdigest()


# The documents that agents wrote into the bank: those of accepted exits, as recorded in the log.

Texts = dict[str, dict[str, str]]
"""Artifact → path → text."""


def accepted_documents(protocol: Protocol, log: EvidenceLog, get: Get) -> Texts:
    """Return the documents of accepted exits; the last one at each path wins."""
    found: Texts = {}
    for deed in filter(is_accepted, log.deeds.values()):
        given = read_payload(get, log.state.insts[deed.command.inst].input.ref)
        for name, written in documents_of(protocol, deed.left, read_payload(get, claim_ref(deed))).items():
            if place := place_of(protocol.artifacts[name], given):
                found.setdefault(name, {})[place] = written
    return found
