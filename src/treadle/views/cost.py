"""What a run has used, and who used it."""

from collections.abc import Callable, Iterable, Mapping
from typing import Literal

import msgspec

from treadle.kernel.commands import RunAgent
from treadle.kernel.events import Usage
from treadle.views.activity import worker_of
from treadle.views.chronicle import Chronicle, Deed
from treadle.views.estimate import Estimate, estimates
from treadle.views.moment import seconds
from treadle.views.used import CURRENCY


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """What one part of a run has used."""

    name: str
    activities: int
    tokens_in: int
    tokens_out: int
    cost: float
    cached: int
    """How many of the tokens that went in came from the service's cache."""
    unpriced: int
    """How many tokens have a price that nobody told; the cost does not count them."""
    untold: int = 0
    """How many activities have told nothing of what they used: it is not known, and counts as nothing."""
    seconds: float
    """Time at work, checks included; activities that ran at once count each."""


class Unknown(msgspec.Struct, frozen=True, kw_only=True):
    """What agents did not report, of the whole run: no total and no limit counts it."""

    activities: int
    """Those that ended without a word about what they used."""
    tokens: int
    """Those without a price."""
    agents: tuple[str, ...]
    """The persons and agents that did not report it."""


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """What a run has used so far: `treadle cost --json`."""

    schema: Literal[1] = 1
    run: str
    currency: str = CURRENCY
    """Of every cost and limit in money."""
    total: Share
    limit: float
    """What it may cost before a person is asked; 0: no limit."""
    limit_tokens: int
    """How many tokens it may use, in and out, before a person is asked; 0: no limit."""
    unknown: Unknown
    roles: tuple[Share, ...]
    steps: tuple[Share, ...]
    """`graph.step`."""
    instances: tuple[Share, ...]
    attempts: tuple[Share, ...]
    """First attempts, second attempts and so on: what trying again has cost."""
    conversations: tuple[Share, ...]
    """Those that began anew, went on, or branched off from another: what a warm start has saved shows in `cached`."""
    starts: tuple[Share, ...]
    """The same for each step: `graph.step, went on`."""
    estimates: tuple[Estimate, ...] = ()
    """What steps were expected to use, as far as the protocol says so, beside what they have used."""


def cost(chronicle: Chronicle, run: str, agents: Mapping[str, str] = {}) -> Cost:
    """The agents' work, added up in six ways; `agents` are those that the run was started with, by role."""
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


def _unknown(deeds: Iterable[Deed], agents: Mapping[str, str]) -> Unknown:
    silent = [deed for deed in deeds if (deed.ended and deed.usage == Usage()) or deed.usage.unpriced]
    return Unknown(
        activities=sum(deed.usage == Usage() for deed in silent),
        tokens=sum(deed.usage.unpriced for deed in silent),
        agents=tuple(dict.fromkeys(name for deed in silent if (name := worker_of(deed, agents)))),
    )


def _shares(deeds: Iterable[Deed], now: int, name_of: Callable[[Deed], str]) -> tuple[Share, ...]:
    by_name: dict[str, list[Deed]] = {}
    for deed in deeds:
        by_name.setdefault(name_of(deed), []).append(deed)
    return tuple(_share(name, members, now) for name, members in by_name.items())


def _share(name: str, deeds: list[Deed], now: int) -> Share:
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
