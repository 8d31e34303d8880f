"""Usage of a run, by role, step, instance, attempt and conversation."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from treadle.kernel.commands import RunAgent
from treadle.kernel.events import Usage
from treadle.protocol.model import find_step
from treadle.views.activity import CURRENCY, worker_of
from treadle.views.chronicle import ActivityRecord, Chronicle
from treadle.views.words import seconds

# The protocol's estimates for the steps of a run, beside their usage.

Comparison = Literal["below", "within", "above", "unknown"]


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """A step that the protocol has an estimate for, in all instances that have reached it."""

    step: str
    """`graph.step`; `total` for all of them."""
    instances: int
    """How many have come to it; each counts once, however often it has tried."""
    read_low: int
    read_high: int
    """Tokens that go in."""
    written_low: int
    written_high: int
    """Tokens that come out."""
    tokens_in: int
    tokens_out: int
    """Tokens used."""
    verdict: Comparison
    """All tokens together, compared with the estimate; unknown if no agent reported any."""


def estimates(chronicle: Chronicle) -> tuple[Estimate, ...]:
    """Return the estimated steps that agents have worked on, in the order of the first, and their total at the end."""
    protocol = chronicle.protocol
    if protocol is None:
        return ()
    by_step: dict[tuple[str, str], list[ActivityRecord]] = {}
    for deed in chronicle.deeds.values():
        if isinstance(deed.command, RunAgent):
            by_step.setdefault((deed.command.graph, deed.command.step), []).append(deed)
    found: list[Estimate] = []
    for (graph, name), deeds in by_step.items():
        step = find_step(protocol, graph, name)
        if step and step.estimate is not None:
            times = len({deed.command.inst for deed in deeds})
            bounds = [times * tokens for tokens in step.estimate]
            tokens_in = sum(deed.usage.tokens_in for deed in deeds)
            tokens_out = sum(deed.usage.tokens_out for deed in deeds)
            found.append(_compare(f"{graph}.{name}", times, bounds, tokens_in, tokens_out))
    if not found:
        return ()
    columns = zip(*((it.read_low, it.read_high, it.written_low, it.written_high) for it in found), strict=True)
    total = _compare(
        "total",
        max(it.instances for it in found),
        [sum(column) for column in columns],
        sum(it.tokens_in for it in found),
        sum(it.tokens_out for it in found),
    )
    return (*found, total)


def _compare(step: str, instances: int, bounds: Sequence[int], tokens_in: int, tokens_out: int) -> Estimate:
    read_low, read_high, written_low, written_high = bounds
    used = tokens_in + tokens_out
    low, high = read_low + written_low, read_high + written_high
    return Estimate(
        step=step,
        instances=instances,
        read_low=read_low,
        read_high=read_high,
        written_low=written_low,
        written_high=written_high,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        verdict="unknown" if not used else "below" if used < low else "above" if used > high else "within",
    )


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """The usage of one part of a run."""

    name: str
    activities: int
    tokens_in: int
    tokens_out: int
    cost: float
    cached: int
    """How many of the tokens that went in came from the service's cache."""
    unpriced: int
    """Tokens with an unknown price; the cost does not count them."""
    untold: int = 0
    """Ended activities that reported no usage; they count as 0."""
    seconds: float
    """Time at work, checks included; activities that ran at once count each."""


class Unknown(msgspec.Struct, frozen=True, kw_only=True):
    """Usage of the whole run that agents did not report: no total and no limit counts it."""

    activities: int
    """Activities that ended without reporting their usage."""
    tokens: int
    """Tokens without a price."""
    agents: tuple[str, ...]
    """The persons and agents that did not report it."""


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """The usage of a run so far: `treadle cost --json`."""

    schema: Literal[1] = 1
    run: str
    currency: str = CURRENCY
    """Of every cost and limit in money."""
    total: Share
    limit: float
    """The cost at which a person is asked; 0: no limit."""
    limit_tokens: int
    """How many tokens it may use, in and out, before a person is asked; 0: no limit."""
    unknown: Unknown
    roles: tuple[Share, ...]
    steps: tuple[Share, ...]
    """`graph.step`."""
    instances: tuple[Share, ...]
    attempts: tuple[Share, ...]
    """First attempts, second attempts and so on: the cost of trying again."""
    conversations: tuple[Share, ...]
    """New, continued and forked conversations: `cached` shows the saving of a warm start."""
    starts: tuple[Share, ...]
    """The same for each step: `graph.step, went on`."""
    estimates: tuple[Estimate, ...] = ()
    """The protocol's estimates for steps, beside their usage."""


def cost(chronicle: Chronicle, run: str, agents: Mapping[str, str] = {}) -> Cost:
    """Add up the agents' usage in six ways; `agents` maps roles to the agents that the run was started with."""
    now = chronicle.state.now
    deeds = [deed for deed in chronicle.deeds.values() if isinstance(deed.command, RunAgent)]
    limits = chronicle.protocol.limits if chronicle.protocol else None
    return Cost(
        run=run,
        total=_share("total", deeds, now),
        limit=limits.cost * chronicle.state.allowances if limits else 0.0,
        limit_tokens=limits.tokens * chronicle.state.allowances if limits else 0,
        unknown=_unknown(deeds, agents),
        roles=_shares(deeds, now, lambda deed: deed.command.role if isinstance(deed.command, RunAgent) else ""),
        steps=_shares(deeds, now, lambda deed: f"{deed.command.graph}.{deed.command.step}"),
        instances=_shares(deeds, now, lambda deed: deed.command.inst),
        attempts=_shares(deeds, now, lambda deed: str(deed.command.attempt)),
        conversations=_shares(deeds, now, lambda deed: deed.start),
        starts=_shares(deeds, now, lambda deed: f"{deed.command.graph}.{deed.command.step}, {deed.start}"),
        estimates=estimates(chronicle),
    )


def _unknown(deeds: Iterable[ActivityRecord], agents: Mapping[str, str]) -> Unknown:
    silent = [deed for deed in deeds if (deed.ended and deed.usage == Usage()) or deed.usage.unpriced]
    return Unknown(
        activities=sum(deed.usage == Usage() for deed in silent),
        tokens=sum(deed.usage.unpriced for deed in silent),
        agents=tuple(dict.fromkeys(name for deed in silent if (name := worker_of(deed, agents)))),
    )


def _shares(deeds: Iterable[ActivityRecord], now: int, name_of: Callable[[ActivityRecord], str]) -> tuple[Share, ...]:
    by_name: dict[str, list[ActivityRecord]] = {}
    for deed in deeds:
        by_name.setdefault(name_of(deed), []).append(deed)
    return tuple(_share(name, members, now) for name, members in by_name.items())


def _share(name: str, deeds: list[ActivityRecord], now: int) -> Share:
    return Share(
        name=name,
        activities=len(deeds),
        tokens_in=sum(deed.usage.tokens_in for deed in deeds),
        tokens_out=sum(deed.usage.tokens_out for deed in deeds),
        cost=sum(deed.usage.cost for deed in deeds),
        cached=sum(deed.usage.cached for deed in deeds),
        unpriced=sum(deed.usage.unpriced for deed in deeds),
        untold=sum(deed.usage == Usage() for deed in deeds if deed.ended),
        seconds=sum(seconds(deed.began, deed.ended or now) for deed in deeds),
    )
