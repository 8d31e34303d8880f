"""What came of trying a protocol, in words."""

from collections.abc import Iterable, Iterator

from treadle.cli.advice import word
from treadle.cli.guard import complain
from treadle.protocol.model import Protocol
from treadle.simulate.explore import Exploration
from treadle.simulate.run import Finding, Report, Summary, run, summary_of
from treadle.views.counting import counted


def simulate(protocol: Protocol, runs: int, faults: float, seed: int) -> Summary:
    """Simulated runs; those that had ended, if they are interrupted."""
    reports: list[Report] = []
    try:
        reports.extend(run(protocol, seed + number, faults) for number in range(runs))
    except KeyboardInterrupt:
        complain(f"interrupted after {len(reports)} of {counted(runs, 'run')}")
    return summary_of(protocol, reports)


def simulated(summary: Summary, name: str, faults: float) -> Iterator[str]:
    """The lines that tell of simulated runs of the protocol that was asked for by this name or path."""
    outcomes = ", ".join(f"{name} {count}" for name, count in sorted(summary.outcomes.items()))
    verdict = counted(len(summary.findings), "finding") if summary.findings else "nothing is wrong"
    counts = ((summary.runs, "run"), (summary.events, "event"), (summary.kills, "restart"))
    yield f"{summary.protocol}: {', '.join(counted(*it) for it in counts)}: {verdict}"
    yield f"ended: {outcomes or 'none'}"
    if summary.never:
        yield f"rows that no run took: {len(summary.never)} (more runs reach more; --json lists them)"
    for finding in summary.findings:
        yield from _told(finding)
        yield f"  again: treadle protocol sim {word(name)} --runs 1 --seed {finding.seed} --faults {faults:g}"


def explored(found: Exploration, scopes: Iterable[str]) -> Iterator[str]:
    """The lines that tell of an exhaustive search, and of the other scopes to search."""
    none = "nothing is wrong" if found.exhausted else "nothing is wrong with these"
    verdict = counted(len(found.findings), "finding") if found.findings else none
    whole = "all of them" if found.exhausted else "not all of them"
    size = f"{counted(found.states, 'state')}, {counted(found.edges, 'edge')}"
    yield f"{found.protocol}, scope {found.scope}: {size}, {whole}: {verdict}"
    yield f"ends: {', '.join(found.outcomes) or 'none'}"
    if found.unvisited:
        yield f"steps not reached: {len(found.unvisited)} (--json lists them)"
    others = [name for name in scopes if name != found.scope]
    if others:
        yield f"other scopes: {', '.join(others)}"
    for finding in found.findings:
        yield from _told(finding)
    if not found.exhausted:
        yield "a limit was reached before every state was seen: nothing is proved; raise --limit, or narrow --scope"


def _told(finding: Finding) -> Iterable[str]:
    return ["", finding.what, *(f"  {line}" for line in finding.trace)]
