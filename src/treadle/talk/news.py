"""What a run tells people as it goes: one message for each thing that they would want to hear."""

from collections.abc import Iterator
from typing import Final

from treadle.kernel.commands import AskHuman, Cancel, RunAgent
from treadle.kernel.events import Checked, Exited, Failed
from treadle.kernel.lifecycle import ROOT
from treadle.kernel.replay import Move
from treadle.kernel.state import Activity, Instance
from treadle.protocol.items import Json
from treadle.protocol.model import Protocol, base_of, tag_of
from treadle.talk.facts import names_of, working
from treadle.views.chronicle import accepted
from treadle.views.evidence_records import Find, payload
from treadle.views.exit_words import exit_words
from treadle.views.refusal import WORDS, first_words, reason
from treadle.views.step_words import step_words
from treadle.views.tree import how_it_ended

_SPENT: Final = "!exhausted"


def news(made: Move, find: Find) -> Iterator[str]:
    """The messages about one event, in order."""
    names = names_of(made.state)
    yield from _ended_activity(made, find, names)
    for command in made.commands:
        match command:
            case Cancel(id=id_, why="timeout"):
                yield from _timed_out(made, id_, names)
            case RunAgent(retry=0):
                title = made.protocol.graphs[command.graph].steps[command.step].title
                yield f"{working(names.get(command.inst, ''), command)} has begun{f': {title}' if title else ''}"
            case _:
                pass
    yield from _ended_instances(made, names)


def asked(made: Move) -> tuple[AskHuman, ...]:
    """The questions that an event has led to."""
    return tuple(command for command in made.commands if isinstance(command, AskHuman))


def _ended_activity(made: Move, find: Find, names: dict[str, str]) -> Iterator[str]:
    """How an agent's step was left, or why it was not accepted."""
    event = made.event
    act = made.before.acts.get(event.act) if isinstance(event, Exited | Checked | Failed) else None
    if act is None or act.command.id in made.state.acts or not isinstance(act.command, RunAgent):
        return
    job = act.command
    inst = made.state.insts[job.inst]
    place = f"{names.get(job.inst, '')} {base_of(job.step)}".strip()
    left, spent = inst.last.get(job.step, ""), ""
    if left == _SPENT and (claimed := _accepted(made, act)):
        left, spent = claimed, f"; {WORDS[_SPENT]}"
    slot = inst.slots.get(f"{job.step}.{tag_of(left)}")
    if left.startswith("!") or slot is None or slot.seq != made.state.seq:
        yield f"{place} is not accepted: {_why(inst, left, find)}"
        return
    fields = payload(find, slot.ref)
    if made.protocol.exits[tag_of(left)].severity != "INFO":
        why = first_words(str(fields.get("summary") or fields.get("question") or fields.get("description") or ""))
        yield f"{place} came back with {exit_words(made.protocol, left)}{f': {why}' if why else ''}{spent}"
        return
    then = _next(made.protocol, inst)
    yield " ".join(part for part in (f"{place} complete ✓", told_of_tests(fields), then) if part)


def _accepted(made: Move, act: Activity) -> str:
    """The exit that an agent has claimed, if that was accepted, whatever spent attempts made of it then."""
    claim = made.event.envelope if isinstance(made.event, Exited) else act.claim
    return accepted(made.state, act.command, claim.key) if claim else ""


def _why(inst: Instance, left: str, find: Find) -> str:
    frame = inst.frames[-1] if inst.frames else None
    cause, ref = (frame.cause, frame.cause_ref) if frame and frame.cause else (left, "")
    return reason(cause, find(ref) if ref and not ref.startswith("text:") else "")


def told_of_tests(fields: dict[str, Json]) -> str:
    """What was measured of the tests, in words; nothing if nothing was."""
    passed = fields.get("passed_tests")
    if isinstance(passed, list):
        return f"All tests pass ({len(passed)}/{len(passed)})."
    new = fields.get("new_tests")
    if isinstance(new, list):
        return "1 new test fails, as it must." if len(new) == 1 else f"{len(new)} new tests fail, as they must."
    good, bad = fields.get("tests_pass"), fields.get("tests_fail")
    if isinstance(good, int) and isinstance(bad, int):
        return f"{good} of {good + bad} tests pass."
    return ""


def _next(protocol: Protocol, inst: Instance) -> str:
    if inst.outcome or not inst.frames:
        return ""
    graph, step = protocol.graphs[inst.graph], inst.frames[-1].step
    found = graph.steps.get(step)
    if found is None or found.kind == "ask":
        return ""
    return f"Next: {step_words(graph, step)}."


def _timed_out(made: Move, id_: str, names: dict[str, str]) -> Iterator[str]:
    act = made.before.acts.get(id_)
    if act is not None:
        job = act.command
        graph = made.protocol.graphs[job.graph]
        minutes = graph.steps[job.step].timeout / 60
        unit = "minute" if minutes == 1 else "minutes"
        yield f"{names.get(job.inst, '')} {step_words(graph, job.step)} timed out ({minutes:g} {unit})".strip()


def _ended_instances(made: Move, names: dict[str, str]) -> Iterator[str]:
    for id_, inst in made.state.insts.items():
        before = made.before.insts.get(id_)
        if not inst.outcome or (before is not None and before.outcome) or id_ == ROOT:
            continue
        yield f"{names[id_]} {how_it_ended(made.protocol, made.state, inst)}"
