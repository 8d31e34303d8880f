"""The runs of a project, one line each: from their records alone, or with where each stands and what it has shown."""

from collections.abc import Iterator, Mapping
from typing import Final, Literal

import msgspec

from treadle.store.records import Run
from treadle.views.activity import who_of, worker_of
from treadle.views.branches import Branch
from treadle.views.chronicle import Chronicle
from treadle.views.evidence import Evidence, Ruling
from treadle.views.moment import duration, moment
from treadle.views.result import Result
from treadle.views.status import Condition, Status
from treadle.views.tree import RANK, Mood, Whom
from treadle.views.used import Used, price


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """A run, without its history."""

    run: str
    name: str
    protocol: str
    status: Condition
    outcome: str
    driver: str
    """Who drives it; empty: nobody does."""
    events: int
    activities: int
    questions: int
    began: str
    changed: str


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """All runs, the latest first: `treadle runs --json`."""

    schema: Literal[1] = 1
    runs: tuple[Listed, ...]


def listed(run: Run, protocol: str, driver: str, status: Condition) -> Listed:
    """A run as its record has it, and how it stands."""
    return Listed(
        run=run.id,
        name=run.name,
        protocol=protocol,
        status=status,
        outcome=run.outcome,
        driver=driver,
        events=run.seq,
        activities=run.acts,
        questions=run.asks,
        began=moment(run.created),
        changed=moment(run.changed),
    )


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where an instance of a run stands."""

    instance: str
    step: str
    attempt: int
    attempts: int
    """How often the step may be tried."""
    status: Mood
    waits_for: Whom
    who: str
    """The role at work; empty if none is."""
    by: str
    """The person or agent at work."""
    text: str
    """What it does or waits for, in a few words."""
    elapsed: float


class RunLine(msgspec.Struct, frozen=True, kw_only=True):
    """A run in one line: where it stands, what it has used, what it has shown."""

    run: str
    name: str
    spec: str
    protocol: str
    status: Condition
    outcome: str
    driver: str
    """The process that drives it; empty: none does."""
    began: str
    changed: str
    elapsed: float
    places: tuple[Place, ...] = ()
    """Where its instances stand, those first that a person should see first; none once it has ended."""
    usage: Used | None = None
    verdict: Ruling | None = None
    verified: int = 0
    waived: int = 0
    """Criteria that are not verified, and that a person let pass."""
    criteria: int = 0
    delivered: bool | None = None
    """Whether your branch has the result; null if there is none, or none yet."""
    result: Result | None = None
    problem: str = ""
    """Why the run cannot be read; then the fields above say only what its record has."""


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of a project with where they stand: `treadle status --json` without a run."""

    schema: Literal[1] = 1
    runs: tuple[RunLine, ...]
    """Every run that goes on and the latest that have ended, the latest first."""
    folded: int
    """Runs that have ended and are not among them; `treadle runs --json` lists all."""


COLUMNS: Final = ("Run", "Spec", "Protocol", "Step", "Attempt", "Who", "Time", "Cost", "Result")


def run_line(now: Status, chronicle: Chronicle, proved: Evidence, agents: Mapping[str, str]) -> RunLine:
    """A run that could be read; `agents` are those that it was started with, by role."""
    places = [place for branch in now.instances for place in _places(branch, chronicle, agents)]
    return RunLine(
        run=now.run,
        name=now.name,
        spec=proved.spec,
        protocol=now.protocol.name if now.protocol else "",
        status=now.status,
        outcome=now.outcome,
        driver=now.driver,
        began=now.began,
        changed=now.changed,
        elapsed=now.elapsed,
        places=tuple(sorted(places, key=lambda it: RANK[it.status])),
        usage=now.usage,
        verdict=proved.verdict,
        verified=proved.tally.verified,
        waived=proved.tally.waived,
        criteria=proved.tally.criteria,
        delivered=now.result.taken if now.result else None,
        result=now.result,
    )


def _places(branch: Branch, chronicle: Chronicle, agents: Mapping[str, str]) -> Iterator[Place]:
    for at in branch.positions[:1]:
        deed = chronicle.deeds.get(at.id)
        yield Place(
            instance=branch.id,
            step=at.step,
            attempt=at.attempt,
            attempts=at.attempts,
            status=at.status,
            waits_for=at.waits_for,
            who=who_of(deed.command) if deed else "",
            by=worker_of(deed, agents) if deed else "",
            text=at.text,
            elapsed=at.elapsed,
        )
    for child in branch.children:
        yield from _places(child, chronicle, agents)


def row(run: RunLine) -> tuple[str, ...]:
    """A run as the cells of `COLUMNS`."""
    first = run.places[0] if run.places else None
    more = f" (+{len(run.places) - 1})" if len(run.places) > 1 else ""
    at = f"{first.step} of {first.instance}{more}" if first else ""
    usage = run.usage
    used = price(usage.cost, usage.unpriced) if usage and (usage.tokens_in or usage.tokens_out or usage.cost) else ""
    attempt = f"{first.attempt} of {first.attempts}" if first and first.attempts > 1 else ""
    return run.run, run.spec, run.protocol, at, attempt, _who(run, first), duration(run.elapsed), used, _result(run)


def _who(run: RunLine, first: Place | None) -> str:
    """The worker of the foremost place, or whom it waits for."""
    if run.outcome or run.problem:
        return ""
    idle = "" if run.driver or run.status in ("asks", "paused") else "; nobody drives it"
    if first is None:
        return f"{run.status}{idle}"
    if first.status == "works" and first.by:
        return f"{first.by} works as {first.who}, {duration(first.elapsed)}{idle}"
    return f"{first.text}{idle}"


def _result(run: RunLine) -> str:
    if run.problem:
        return run.problem
    shown = f"{run.verified} of {run.criteria} verified" if run.criteria else ""
    shown += f" and {run.waived} by a person's word" if run.waived else ""
    delivered = {True: "delivered", False: "not delivered", None: ""}[run.delivered]
    return ", ".join(filter(None, (run.outcome, shown, delivered)))
