"""What the steps of a run were expected to use, beside what they have used."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from treadle.kernel.commands import RunAgent
from treadle.protocol.model import Protocol
from treadle.views.chronicle import Chronicle, Deed

Verdict = Literal["below", "within", "above", "unknown"]


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """A step that the protocol has an estimate for, in all instances that have come to it."""

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
    """What was used."""
    verdict: Verdict
    """All tokens together, held against the estimate; nothing is known where nobody has told of any."""


def estimates(chronicle: Chronicle) -> tuple[Estimate, ...]:
    """The steps with an estimate that agents have worked on, in the order of the first, and their total at the end."""
    protocol = chronicle.protocol
    if protocol is None:
        return ()
    by_step: dict[tuple[str, str], list[Deed]] = {}
    for deed in chronicle.deeds.values():
        if isinstance(deed.command, RunAgent):
            by_step.setdefault((deed.command.graph, deed.command.step), []).append(deed)
    found = [it for place, deeds in by_step.items() if (it := _estimate(protocol, place, deeds))]
    return (*found, _total(found)) if found else ()


def _estimate(protocol: Protocol, place: tuple[str, str], deeds: Sequence[Deed]) -> Estimate | None:
    graph = protocol.graphs.get(place[0])
    step = graph.steps.get(place[1]) if graph else None
    if step is None or step.estimate is None:
        return None
    times = len({deed.command.inst for deed in deeds})
    return _made(
        ".".join(place),
        times,
        [times * tokens for tokens in step.estimate],
        sum(deed.usage.tokens_in for deed in deeds),
        sum(deed.usage.tokens_out for deed in deeds),
    )


def _total(found: Sequence[Estimate]) -> Estimate:
    bounds = [(it.read_low, it.read_high, it.written_low, it.written_high) for it in found]
    return _made(
        "total",
        max(it.instances for it in found),
        [sum(column) for column in zip(*bounds, strict=True)],
        sum(it.tokens_in for it in found),
        sum(it.tokens_out for it in found),
    )


def _made(step: str, instances: int, bounds: Sequence[int], tokens_in: int, tokens_out: int) -> Estimate:
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
