"""The story of one activity: what it was given, what it claimed, what the checks found, and what came of it."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from treadle.kernel.commands import ActivityCommand, Inputs, RunAgent, RunChecks, RunEffect
from treadle.protocol.model import Protocol
from treadle.store.records import Stray
from treadle.views.chronicle import Chronicle, Deed
from treadle.views.exit_words import exit_words
from treadle.views.moment import moment, seconds
from treadle.views.used import Used, used

PERSON: Final = "a person"
"""Stands for a person whose name nobody noted."""


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """What the activity says it has done."""

    exit: str
    called: str
    """The exit by the name that people know."""
    channel: str
    """How the answer arrived."""
    time: str
    fields: dict[str, Any]
    """What the orchestrator decides by."""
    payload: str
    """Where the whole answer lies."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One check of the claim."""

    check: str
    arg: str
    advisory: bool
    """It informs, and refuses nothing."""
    ok: bool | None
    """None: it has not run (yet)."""
    report: str
    """Where its report lies."""
    codes: tuple[str, ...] = ()
    """The kinds of problems that it has found; its record in `payloads` has the findings."""


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """A time that the activity ended without an exit."""

    why: str
    time: str
    detail: str
    """Where the details lie."""


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """An answer or a message that was not obeyed, and why."""

    time: str
    what: str
    detail: str


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """An activity from its command to its end: `treadle show --json`."""

    schema: Literal[1] = 1
    run: str
    id: str
    instance: str
    graph: str
    step: str
    kind: Literal["agent", "effect", "check"]
    title: str
    """What the protocol calls the step."""
    who: str
    by: str
    """The person or agent that did it, by the log; empty for effects and checks."""
    attempt: int
    attempts: int
    """How often the step may be tried."""
    retry: int
    """How often it was lost and started again."""
    began: str
    ended: str
    elapsed: float
    command: ActivityCommand
    """As it was issued last."""
    inputs: Inputs
    """Slots, and where their contents lie."""
    claim: Claim | None
    checks: tuple[Finding, ...]
    verdict: str
    """What came of it, in a few words."""
    left: str
    """The exit by which the step was left; a `!` marks one that the orchestrator chose."""
    report: str
    """Where the claim with its computed fields lies, or the report of a refusal."""
    failures: tuple[Failure, ...]
    usage: Used
    nudges: int
    session: str
    strays: tuple[Refused, ...]
    prompt: str = ""
    """What the agent was told; empty if its folder is gone."""
    payloads: dict[str, Any] = {}
    """Everything referred to above, by where it lies."""

    @property
    def refs(self) -> list[str]:
        """Every payload that belongs to the story, each once."""
        slots = [ref for refs in self.inputs.values() for ref in refs]
        claimed = [self.claim.payload] if self.claim else []
        found = [
            *slots,
            *claimed,
            *(it.report for it in self.checks),
            self.report,
            *(it.detail for it in self.failures),
        ]
        return list(dict.fromkeys(ref for ref in found if ref))


def story(chronicle: Chronicle, act: str, strays: Sequence[Stray], now: int, agents: Mapping[str, str] = {}) -> Story:
    """Everything about one activity of a run; `agents` are those that the run was started with, by role."""
    deed = chronicle.deeds[act]
    job = deed.command
    graph = chronicle.protocol.graphs.get(job.graph) if chronicle.protocol else None
    step = graph.steps.get(job.step) if graph else None
    return Story(
        run=chronicle.state.run,
        id=job.id,
        instance=job.inst,
        graph=job.graph,
        step=job.step,
        kind="agent" if isinstance(job, RunAgent) else "effect" if isinstance(job, RunEffect) else "check",
        title=step.title if step else "",
        who=who_of(job),
        by=worker_of(deed, agents),
        attempt=job.attempt,
        attempts=step.attempts if step else 0,
        retry=job.retry,
        began=moment(deed.began),
        ended=moment(deed.ended),
        elapsed=seconds(deed.began, deed.ended or now),
        command=job,
        inputs=job.inputs,
        claim=_claim(deed, chronicle.protocol),
        checks=_findings(deed),
        verdict=verdict(deed, chronicle.protocol),
        left=deed.left,
        report=deed.checked.payload_ref if deed.checked else "",
        failures=tuple(Failure(why=it.why, time=moment(it.ts), detail=it.detail_ref) for it in deed.failures),
        usage=used(deed.usage),
        nudges=deed.nudges,
        session=deed.session,
        strays=tuple(Refused(time=moment(it.at), what=it.what, detail=it.detail) for it in strays if it.act == act),
    )


def verdict(deed: Deed, protocol: Protocol | None) -> str:
    """What came of an activity, in a few words."""
    claim = exit_words(protocol, deed.claim.envelope.key) if deed.claim else ""
    if deed.stopped:
        return f"stopped ({deed.stopped})"
    if not deed.ended:
        return f"claims {claim}, being checked" if claim else "held up" if deed.held else "at work"
    why = [it.check for it in _findings(deed) if it.ok is False and not it.advisory]
    because = f" ({', '.join(why)} failed)" if why else ""
    left = exit_words(protocol, deed.left)
    if deed.left.startswith("!"):
        return f"{claim}; {left}" if deed.accepted else f"{left}{because}"
    if not is_spent(deed):
        return f"accepted: {left}"
    last = f"claimed {claim}{because}" if claim else "has not answered"
    return f"{last}; its attempts are used up, which is {left}"


def is_spent(deed: Deed) -> bool:
    """Whether its step was left by what spent attempts become, which the activity has not claimed."""
    claimed = deed.claim.envelope.key if deed.claim else ""
    by_itself = isinstance(deed.command, RunChecks) or claimed == deed.left
    return bool(deed.left) and not deed.left.startswith("!") and not by_itself


def who_of(job: ActivityCommand) -> str:
    """Who does an activity."""
    if isinstance(job, RunAgent):
        return f"{job.role}:{job.mode}" if job.mode else job.role
    return f"effect {job.effect}" if isinstance(job, RunEffect) else "checks"


def worker_of(deed: Deed, agents: Mapping[str, str]) -> str:
    """The person or agent that did, or does, an agent's step; empty for effects and checks.

    The log says so since claims name their actor. For older logs and unfinished work, `agents` (role → agent, as the
    run was started) fills the gap, except where the step was left to a person.
    """
    job = deed.command
    if not isinstance(job, RunAgent):
        return ""
    if deed.claim and deed.claim.actor:
        return deed.claim.actor
    agent = agents.get(job.role, "")
    return PERSON if job.by_person or agent.partition(":")[0] == "manual" else agent


def _claim(deed: Deed, protocol: Protocol | None) -> Claim | None:
    if deed.claim is None:
        return None
    envelope = deed.claim.envelope
    return Claim(
        exit=envelope.key,
        called=exit_words(protocol, envelope.key),
        channel=deed.claim.channel,
        time=moment(deed.claim.ts),
        fields=envelope.fields,
        payload=envelope.payload_ref,
    )


def _findings(deed: Deed) -> tuple[Finding, ...]:
    """The checks that were asked for; of an effect, those that it has made itself on the way."""
    results = {result.check: result for result in (deed.checked.results if deed.checked else ())}
    own = deed.claim.results if deed.claim else ()
    return tuple(Finding(check=it.check, arg="", advisory=False, ok=it.ok, report=it.report_ref) for it in own) + tuple(
        Finding(
            check=check.name,
            arg=check.arg,
            advisory=check.advisory,
            ok=results[check.name].ok if check.name in results else None,
            report=results[check.name].report_ref if check.name in results else "",
        )
        for check in deed.checks
    )
