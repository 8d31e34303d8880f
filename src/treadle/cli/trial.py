"""What came of trying a protocol, in words."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from treadle.errors import TreadleError
from treadle.protocol.findings import suggest
from treadle.protocol.model import Protocol
from treadle.simulate.explore import Exploration
from treadle.simulate.run import Finding, Summary
from treadle.simulate.scope import Scope


class Bounds(msgspec.Struct, frozen=True):
    """What `--scope` can set."""

    graph: str = ""
    attempts: int = 1
    budgets: int = 1
    depth: int = 1
    widths: tuple[int, ...] = (0, 1)


def scope_of(protocol: Protocol, named: Mapping[str, Scope], words: Iterable[str]) -> Scope:
    """One of the protocol's named scopes, or the one that `attempts=2 depth=1 widths=0,2 graph=cycle` asks for."""
    words = tuple(words)
    if len(words) == 1 and words[0] in named:
        return named[words[0]]
    given: dict[str, object] = {}
    known = Bounds.__struct_fields__
    for word in (word for text in words for word in text.split()):
        key, _, value = word.partition("=")
        if key not in known or not value:
            hint = suggest(key, [*known, *named])
            names = f"one of {', '.join(named)}, or " if named else ""
            keys = ", ".join(f"{it}=…" for it in known)
            raise TreadleError(f"'{word}' is no scope{f' ({hint})' if hint else ''}; write {names}{keys}")
        given[key] = value.split(",") if key == "widths" else value
    try:
        bounds = msgspec.convert(given, Bounds, strict=False)
    except msgspec.ValidationError as error:
        raise TreadleError(f"the scope is not understood: {error}") from None
    if bounds.graph and bounds.graph not in protocol.graphs:
        hint = suggest(bounds.graph, protocol.graphs)
        raise TreadleError(f"{protocol.name} has no graph '{bounds.graph}'{f' ({hint})' if hint else ''}")
    return Scope(name=" ".join(words) or "small", **msgspec.structs.asdict(bounds))


def simulated(summary: Summary, faults: float) -> Iterator[str]:
    """The lines that tell of simulated runs."""
    outcomes = ", ".join(f"{name} {count}" for name, count in sorted(summary.outcomes.items()))
    verdict = f"{len(summary.findings)} findings" if summary.findings else "nothing is wrong"
    yield f"{summary.protocol}: {summary.runs} runs, {summary.events} events, {summary.kills} restarts: {verdict}"
    yield f"ended: {outcomes}"
    if summary.never:
        yield f"rows that no run took: {len(summary.never)} (more runs reach more; --json lists them)"
    for finding in summary.findings:
        yield from _told(finding)
        yield f"  again: treadle protocol sim {summary.protocol} --runs 1 --seed {finding.seed} --faults {faults:g}"


def explored(found: Exploration) -> Iterator[str]:
    """The lines that tell of an exhaustive search."""
    verdict = f"{len(found.findings)} findings" if found.findings else "nothing is wrong"
    whole = "all of them" if found.exhausted else "not all of them: a limit was reached"
    yield f"{found.protocol}, scope {found.scope}: {found.states} states, {found.edges} edges, {whole}: {verdict}"
    yield f"ends: {', '.join(found.outcomes) or 'none'}"
    for finding in found.findings:
        yield from _told(finding)


def _told(finding: Finding) -> Iterable[str]:
    return ["", finding.what, *(f"  {line}" for line in finding.trace)]
