"""The story of one activity: its inputs, its claim, its checks, and its verdict."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from treadle.kernel.commands import ActivityCommand, Inputs, RunAgent, RunChecks, RunEffect
from treadle.kernel.events import Usage
from treadle.protocol.model import Protocol, find_step
from treadle.store.records import Stray
from treadle.views.chronicle import ActivityRecord, Chronicle
from treadle.views.words import exit_words, moment, seconds

# Usage of tokens and money, with every key.

CURRENCY: Final = "USD"
"""Every price is in it: agents report US dollars, and `prices.AGENT` is set in them."""


class TokenUsage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens and their cost."""

    tokens_in: int
    tokens_out: int
    cost: float
    currency: str = CURRENCY
    cached: int
    """How many of the tokens that went in came from the service's cache."""
    unpriced: int
    """Tokens with an unknown price; the cost does not count them."""


def usage_of(usage: Usage) -> TokenUsage:
    """Convert the kernel's usage to the published form."""
    return TokenUsage(**msgspec.structs.asdict(usage))


def price(cost: float, unpriced: int) -> str:
    """Format a cost with its currency; a price that no agent reported is unknown, not 0."""
    if not unpriced:
        return f"{cost:.2f} {CURRENCY}"
    return f"{cost:.2f} {CURRENCY} + unknown" if cost else "unknown"


PERSON: Final = "a person"
"""Stands for a person without a recorded name."""


class RecordedClaim(msgspec.Struct, frozen=True, kw_only=True):
    """The exit that the activity claims."""

    exit: str
    called: str
    """The exit by the name that people know."""
    channel: str
    """How the answer arrived."""
    time: str
    fields: dict[str, Any]
    """The fields that the kernel routes by."""
    payload: str
    """Where the whole answer lies."""


class CheckVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """One check of the claim."""

    check: str
    arg: str
    advisory: bool
    """It informs, and refuses nothing."""
    ok: bool | None
    """None: it has not run yet, or was skipped, because an earlier one had refused the claim."""
    report: str
    """Where its report lies."""
    codes: tuple[str, ...] = ()
    """The kinds of problems that it has found; its record in `payloads` has the findings."""


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """One failure of the activity, which ended without an exit."""

    why: str
    time: str
    detail: str
    """Where the details lie."""


class IgnoredMessage(msgspec.Struct, frozen=True, kw_only=True):
    """An answer or a message that Treadle ignored, and why."""

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
    """The protocol's title of the step."""
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
    claim: RecordedClaim | None
    checks: tuple[CheckVerdict, ...]
    verdict: str
    """The outcome in a few words."""
    left: str
    """The exit by which the step was left; a `!` marks an exit chosen by the orchestrator."""
    report: str
    """Where the claim with its computed fields lies, or the report of a refusal."""
    failures: tuple[Failure, ...]
    usage: TokenUsage
    nudges: int
    session: str
    strays: tuple[IgnoredMessage, ...]
    prompt: str = ""
    """The agent's prompt; empty if its folder is gone."""
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
    """Build the story of one activity; `agents` maps roles to the agents that the run was started with."""
    deed = chronicle.deeds[act]
    job = deed.command
    step = find_step(chronicle.protocol, job.graph, job.step)
    claim = None
    if deed.claim:
        envelope = deed.claim.envelope
        claim = RecordedClaim(
            exit=envelope.key,
            called=exit_words(chronicle.protocol, envelope.key),
            channel=deed.claim.channel,
            time=moment(deed.claim.ts),
            fields=envelope.fields,
            payload=envelope.payload_ref,
        )
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
        claim=claim,
        checks=_check_verdicts(deed),
        verdict=verdict(deed, chronicle.protocol),
        left=deed.left,
        report=deed.checked.payload_ref if deed.checked else "",
        failures=tuple(Failure(why=it.why, time=moment(it.ts), detail=it.detail_ref) for it in deed.failures),
        usage=usage_of(deed.usage),
        nudges=deed.nudges,
        session=deed.session,
        strays=tuple(
            IgnoredMessage(time=moment(it.at), what=it.what, detail=it.detail) for it in strays if it.act == act
        ),
    )


def verdict(deed: ActivityRecord, protocol: Protocol | None) -> str:
    """Describe the outcome of an activity in a few words."""
    claim = exit_words(protocol, deed.claim.envelope.key) if deed.claim else ""
    if deed.stopped:
        return f"stopped ({deed.stopped})"
    if not deed.ended:
        return f"claims {claim}, being checked" if claim else "held up" if deed.held else "at work"
    why = [it.check for it in _check_verdicts(deed) if it.ok is False and not it.advisory]
    because = f" ({', '.join(why)} failed)" if why else ""
    left = exit_words(protocol, deed.left)
    if deed.left.startswith("!"):
        return f"{claim}; {left}" if deed.accepted else f"{left}{because}"
    if not is_spent(deed):
        return f"accepted: {left}"
    last = f"claimed {claim}{because}" if claim else "has not answered"
    return f"{last}; its attempts are used up, so it leaves by {left}"


def is_spent(deed: ActivityRecord) -> bool:
    """Whether spent attempts made the step leave by another exit than the activity claimed."""
    claimed = deed.claim.envelope.key if deed.claim else ""
    by_itself = isinstance(deed.command, RunChecks) or claimed == deed.left
    return bool(deed.left) and not deed.left.startswith("!") and not by_itself


def who_of(job: ActivityCommand) -> str:
    """Name the role, effect or checks that perform an activity."""
    if isinstance(job, RunAgent):
        return f"{job.role}:{job.mode}" if job.mode else job.role
    return f"effect {job.effect}" if isinstance(job, RunEffect) else "checks"


def worker_of(deed: ActivityRecord, agents: Mapping[str, str]) -> str:
    """Return the person or agent that did, or does, an agent's step; empty for effects and checks.

    Claims in newer logs name their actor. For older logs and unfinished work, `agents` (role → agent, as the run was
    started) fills the gap, except for steps left to a person.
    """
    job = deed.command
    if not isinstance(job, RunAgent):
        return ""
    if deed.claim and deed.claim.actor:
        return deed.claim.actor
    agent = agents.get(job.role, "")
    return PERSON if job.by_person or agent.partition(":")[0] == "manual" else agent


def _check_verdicts(deed: ActivityRecord) -> tuple[CheckVerdict, ...]:
    """Return the checks of the claim; for an effect, the checks that it made itself."""
    own = deed.claim.results if deed.claim else ()
    found = [
        CheckVerdict(check=it.check, arg="", advisory=False, ok=None if it.skipped else it.ok, report=it.report_ref)
        for it in own
    ]
    # Results come in the order of the checks; two checks of one name differ in their argument.
    pending = list(deed.checked.results if deed.checked else ())
    for check in deed.checks:
        result = next((it for it in pending if it.check == check.name), None)
        if result is not None:
            pending.remove(result)
        ok = None if result is None or result.skipped else result.ok
        report = result.report_ref if result else ""
        found.append(CheckVerdict(check=check.name, arg=check.arg, advisory=check.advisory, ok=ok, report=report))
    return tuple(found)
