"""σ₄: context and STATE, where the run is and what was handed on."""

from treadle.kernel.commands import RunAgent
from treadle.kernel.state import Activity, State
from treadle.prompts.variables import SILENT
from treadle.protocol.items import Json
from treadle.protocol.model import Protocol, tag_of
from treadle.views.bank.course import Course, Position, Snapshot
from treadle.views.bank.designing import DECISIONS, Decision, approved, decisions
from treadle.views.bank.modes import (
    is_at_work,
    is_cycle,
    live_cycles,
    mode,
    mode_of,
    phase,
    planning,
    session,
    stage,
)
from treadle.views.bank.refusals import refusals
from treadle.views.bank.standing import ACCEPTED, payload_ref
from treadle.views.bank.tests_seen import last_test_result
from treadle.views.bank.writing import document, fields, line, listing, quote, table, when
from treadle.views.chronicle import Deed
from treadle.views.evidence_records import anything, payload, text
from treadle.views.payload import Get
from treadle.views.refusal import reason

_ACCEPT, _REVISE, _REJECT = DECISIONS
_DESIGN = "[↗️σ₄:R3]"


def context(protocol: Protocol, course: Course, get: Get) -> str:
    """Where the run is, as a document."""
    decided = decisions(protocol, course, get)
    bodies = [
        fields(state_of(protocol, course, get, decided)),
        _handoff(protocol, course, get),
        _design(decided),
        _plan(protocol, course, get),
        _agents(protocol, course.state),
        _snapshot(course, get),
    ]
    return document("context", f"σ₄ Context of {line(course.state.run)}", bodies)


def state_of(protocol: Protocol, course: Course, get: Get, decided: list[Decision]) -> dict[str, Json]:
    """STATE, field by field."""
    state, plans = course.state, planning(protocol, course)
    at = plans[-1].command.inst if plans else ""
    found: dict[str, Json] = {
        "Ω_session": state.run,
        "Ω_current": mode(protocol, course),
        "outcome": state.outcome,
        "session_id": session(protocol, state, at) if at else None,
        "round": state.insts[at].vars.get("round") if at else None,
    }
    choices = {it.choice for it in decided}
    return {
        **found,
        **_tdd(protocol, course, get),
        "design_approved": approved(protocol, course, decided),
        "design_feedback": _DESIGN if _REVISE in choices else None,
        "design_rejected": _DESIGN if _REJECT in choices else None,
        "arch_critique": _DESIGN if decided else None,
        "plan_approved": bool(plans) and plans[-1].left == ACCEPTED,
    }


def _tdd(protocol: Protocol, course: Course, get: Get) -> dict[str, Json]:
    state, cycles = course.state, live_cycles(protocol, course.state)
    stages = [found for it in cycles if (found := stage(protocol, state, it))]
    phases = [phase(protocol, it) for it in cycles]
    return {
        "tdd_mode": bool(cycles),
        "tdd_phase": list(dict.fromkeys(phases)),
        "current_cycle": [it.key for it in cycles],
        "tdd_session_id": [session(protocol, state, it.id) for it in cycles],
        "qa_agent_active": is_at_work(state, "qa"),
        "de_agent_active": is_at_work(state, "de"),
        "refactor_stage": list(dict.fromkeys(stages)),
        "last_test_result": last_test_result(course, get, [it.id for it in cycles]),
    }


def _handoff(protocol: Protocol, course: Course, get: Get) -> str:
    """What the agent that ended last has to say to whoever comes next."""
    ended = [deed for deed in course.deeds() if deed.ended and isinstance(deed.command, RunAgent) and deed.left]
    if not ended:
        return ""
    deed = max(ended, key=lambda it: it.ended)
    told: dict[str, Json] = {
        "to": course.state.outcome or mode(protocol, course),
        "from": f"{mode_of(protocol, course.state, deed)} {deed.command.id} {deed.left}".strip(),
        "at": when(deed.ended),
    }
    return f"{fields(told)}\n- summary:\n\n{quote(_summary(deed, get))}"


def _summary(deed: Deed, get: Get) -> str:
    if deed.left.startswith("!"):
        found = [f"{name}: {words}" if words else name for name, words in refusals(deed, get)]
        failure = deed.failures[-1].detail_ref if deed.failures else ""
        return "\n".join([reason(tag_of(deed.left), anything(get, failure)), *found])
    return text(payload(get, payload_ref(deed)).get("message")) or SILENT


def _design(decided: list[Decision]) -> str:
    """∇ of every design, and the critique."""
    listed = table(("design", "∇", "when"), [(it.about, it.choice, when(it.at)) for it in decided])
    parts = [_critique(it) for it in decided if it.words or it.critiques]
    return "\n".join([listed, *parts])


def _critique(one: Decision) -> str:
    said = "\n".join(part for part in (one.words, listing(one.critiques)) if part)
    return f"### {line(one.about)}: {one.choice}\n\n{quote(said)}\n"


def _plan(protocol: Protocol, course: Course, get: Get) -> str:
    """The dialogues about plans: session, round, the last code, and what it said."""
    last = {deed.command.inst: deed for deed in planning(protocol, course) if deed.left}
    return table(
        ("session", "R", "code", "message"), [_dialogue(protocol, course.state, it, get) for it in last.values()]
    )


def _dialogue(protocol: Protocol, state: State, deed: Deed, get: Get) -> tuple[str, ...]:
    inst, said = deed.command.inst, payload(get, payload_ref(deed))
    round_ = state.insts[inst].vars.get("round", "")
    return session(protocol, state, inst), str(round_), f"→{deed.left}", text(said.get("message"))


def _agents(protocol: Protocol, state: State) -> str:
    """Who is at work, and what people are asked."""
    jobs = [(act.command, act) for _, act in sorted(state.acts.items())]
    agents = [_agent(protocol, state, job, act) for job, act in jobs if isinstance(job, RunAgent)]
    asked = [f"a person is asked: {line(id_)}" for id_, ask in sorted(state.asks.items()) if ask.command]
    return "\n".join((table(("agent", "activity", "P", "R", "attempt", "doing"), agents), listing(asked)))


def _agent(protocol: Protocol, state: State, job: RunAgent, act: Activity) -> tuple[str, ...]:
    role, inst = protocol.roles[job.role], state.insts[job.inst]
    own = phase(protocol, inst) if is_cycle(protocol, inst) else ""
    doing = f"claims {act.claim.key}, which is verified" if act.claim else act.phase
    return role.symbol or job.role, job.id, own, str(job.vars.get("round", "")), str(job.attempt), doing


def _snapshot(course: Course, get: Get) -> str:
    """How things stood when an agent failed last."""
    if not course.snapshots:
        return ""
    taken: Snapshot = course.snapshots[-1]
    told: dict[str, Json] = {
        "AGENT_FAILURE": reason(taken.cause, anything(get, taken.detail_ref)),
        "activity": taken.act,
        "at": when(taken.at),
    }
    return f"{fields(told)}\n\n" + table(
        ("instance", "step", "attempt", "vars", "left"), map(_position, taken.positions)
    )


def _position(one: Position) -> tuple[str, ...]:
    told = ", ".join(f"{name}={it}" for name, it in one.vars.items() if it != "")
    left = ", ".join(f"{step} {exit_}" for step, exit_ in one.last.items())
    return one.inst, one.step, str(one.attempt or ""), told, left
