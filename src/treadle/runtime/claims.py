"""The parts of the events that end an agent: the envelope of its claim, or the reason why there is none.

The kernel sees envelopes only. `own_fields` fills in the fields that a protocol declares as `by: kernel`.
"""

import re
from typing import Final

import msgspec

from treadle.kernel.commands import ActivityCommand, RunAgent
from treadle.kernel.events import Envelope, Failed, Outages, Unavailable, Usage
from treadle.kernel.state import State
from treadle.ports import Ended, Payloads
from treadle.prompts.outcomes import failure_report
from treadle.protocol.answers.claim import routed_values, variant_of
from treadle.protocol.items import Json
from treadle.protocol.model import Protocol
from treadle.results.channels import SessionAnswer, missing_answer_hint, missing_answer_reason
from treadle.results.exits import StepExits
from treadle.results.handoff import NOTES
from treadle.runtime.world import RunWorld, event_id

# The kernel's view of a claim: an envelope; its full content goes into the payloads.


def envelope_of(protocol: Protocol, exit_: str, fields: dict[str, Json], payloads: Payloads) -> Envelope:
    """Return the envelope of an exit with these fields. Items that spawn children become separate payloads."""
    declared = protocol.exits[exit_]
    return Envelope(
        exit_,
        variant_of(protocol, exit_, fields),
        routed_values(protocol, exit_, fields, payloads.put),
        payloads.put(fields),
        declared.severity,
        declared.route_hint,
    )


# Fields of an exit that the orchestrator fills in by itself (`by: kernel`): it counts attempts and knows the author.


def own_fields(
    protocol: Protocol, exit_: str, job: ActivityCommand, state: State, payloads: Payloads
) -> dict[str, Json]:
    """Return the values of an exit's `by: kernel` fields; a field that is not listed here stays empty."""
    inst = state.insts.get(job.inst)
    values: dict[str, Json] = {}
    for name, field in protocol.exits[exit_].fields.items():
        if field.by != "kernel":
            continue
        match name:
            case "iterations" | "attempts":
                values[name] = job.attempt
            case "author" | "task_id":
                values[name] = inst.key if inst and inst.key else job.inst
            case "status":
                values[name] = "pass" if protocol.exits[exit_].severity == "INFO" else "failing"
            case "report":
                refs = job.inputs.get("gate_report", ())
                value = payloads.get(refs[0]) if refs else ""
                report = value.get("report", "") if isinstance(value, dict) else value
                values[name] = report if isinstance(report, str) else ""
            case "attemptHistory":
                # The step's earlier approaches and outcomes, oldest first: its own exits that led back to it.
                own = [refs for slot, refs in inst.history.items() if slot.startswith(f"{job.step}.")] if inst else []
                tried = [payloads.get(ref) for refs in own for ref in refs]
                values[name] = [
                    {
                        "approach": str(one.get("strategyFrom") or one.get("approach") or ""),
                        "outcome": str(one.get("diagnosis", "")),
                    }
                    for one in tried
                    if isinstance(one, dict)
                ]
            case _:
                pass
    return values


_SURROGATES: Final = re.compile("[\ud800-\udfff]")
"""Lone surrogates, which represent invalid bytes; no file or message can contain them."""
_REPLACED: Final = "\N{REPLACEMENT CHARACTER}"
_SHOWN: Final = 500
_OUTPUT: Final = 4000


class AgentReport(msgspec.Struct, frozen=True):
    """The end of an agent's session, its answer, and the exits of its step."""

    job: RunAgent
    ended: Ended
    answer: SessionAnswer
    step_exits: StepExits


def failure_event(report: AgentReport, changed: tuple[str, ...], world: RunWorld) -> Failed:
    """Return the failure of an agent without a claim.

    `blocked` if it was refused something; else `crash` if the program broke, or `invalid` if the agent just did not
    answer properly.
    """
    job, ended, answer = report.job, report.ended, report.answer
    broke = ended.how != "done" or (bool(ended.code) and not answer.problems)
    is_blocked = bool(ended.refused) and ended.how != "lost"

    def explain(silence: str) -> str:
        """Explain why there is no claim; the most important line first, because one-line views show only that."""
        ignored = ignored_answers(answer)
        why = [*answer.problems, *ignored] if answer.problems else [*ignored, silence]
        is_explained = broke and bool(ended.detail)
        detail = [ended.detail] if ended.detail else []
        refused = [f"it was refused {what}" for what in ended.refused]
        return "\n".join([*([] if is_explained else why), *detail, *refused])

    # A person without any other explanation gets the agent's last line of output.
    lines = [] if ended.detail else [line.strip() for line in ended.final.splitlines() if line.strip()]
    last_words = [f"its last words: {_without_surrogates(lines[-1][:_SHOWN])}"] if lines else []
    for_person = "\n".join([explain(missing_answer_reason(report.step_exits)), *last_words])
    detail: dict[str, Json] = {
        **failure_report(explain(missing_answer_hint(report.step_exits)), for_person),
        **({NOTES: answer.notes} if answer.notes else {}),
        **({"files_changed": list(changed)} if changed else {}),
        "code": ended.code,
        "output": _without_surrogates(ended.final[-_OUTPUT:]),
    }
    return Failed(
        id=event_id(job, "failed"),
        ts=world.clock.now(),
        act=job.id,
        why="blocked" if is_blocked else "crash" if broke else "invalid",
        detail_ref=world.payloads.put(detail),
        usage=ended.usage,
    )


def unavailable_event(
    job: RunAgent, why: Outages, report: str, usage: Usage, world: RunWorld, *, grant: str = "", wait: int = 0
) -> Unavailable:
    """Return the event for a service that is unavailable to the agent for now, or for a used-up budget."""
    return Unavailable(
        id=event_id(job, "unavailable"),
        ts=world.clock.now(),
        act=job.id,
        why=why,
        wait=wait,
        grant=grant,
        detail_ref=world.payloads.put({"report": _without_surrogates(report)}),
        usage=usage,
    )


def ignored_answers(answer: SessionAnswer) -> list[str]:
    """Return a line for each answer that does not count: an agent must learn that it has not answered."""
    return [f"an answer was found but does not count: {warning}" for warning in answer.warnings]


def _without_surrogates(text: str) -> str:
    """Replace lone surrogates, so that any file and message can contain the text."""
    return _SURROGATES.sub(_REPLACED, text)
