"""Check 21: a success names everything that earned it.

What an outcome needs is the only place that says what success means. A proof that every path to it happens to pass
but that it does not name could be rerouted around without anybody noticing.
"""

from collections.abc import Iterator

from treadle.protocol.checks.flow import Flow
from treadle.protocol.checks.known import is_required
from treadle.protocol.checks.subject import Subject
from treadle.protocol.findings import Finding
from treadle.protocol.model import ABORTED


def successes_are_earned(subject: Subject) -> Iterator[Finding]:
    """21. A good outcome needs every proof, every passed check and every finished map that lies on all paths to it."""
    for flow in subject.flows.values():
        for outcome in _successes(subject, flow):
            named = {need.slot for need in flow.graph.ends[outcome] if is_required(need)}
            for slot in sorted(_certain(subject, flow, outcome) & proofs(flow) - named):
                message = f"'{outcome}' comes after '{slot}' on every path, but does not need it"
                path = f"graphs.{flow.name}.ends.{outcome}"
                yield subject.finding(21, flow.name, path, message, f"add '{slot}' to what it needs")


def _successes(subject: Subject, flow: Flow) -> list[str]:
    """The outcomes that a parent counts as good; of the root, those that need something."""
    good = good_outcomes(subject, flow.name)
    claimed = [end for end, needs in flow.graph.ends.items() if any(is_required(need) for need in needs)]
    is_root = flow.name == subject.protocol.root
    return [end for end in flow.graph.ends if end in good or (is_root and end in claimed and end != ABORTED)]


def good_outcomes(subject: Subject, graph: str) -> set[str]:
    """The outcomes of a graph that some parent counts as success."""
    graphs = subject.protocol.graphs
    sites = [site for site in subject.sites if site.child == graph]
    return {outcome for site in sites for outcome in graphs[site.parent].ok.get(site.group, ())}


def _certain(subject: Subject, flow: Flow, outcome: str) -> frozenset[str]:
    """What has been written on every path to an outcome."""
    known = subject.known[flow.name]
    leading = [edge for edge in flow.edges if edge.to == ("end", outcome) and edge.step in known]
    found = [edge.slots | known[edge.step] for edge in leading]
    return frozenset.intersection(*found) if found else frozenset()


def proofs(flow: Flow) -> set[str]:
    """The slots of a graph that stand for something: proving exits, passed checks, finished maps."""
    exits = flow.protocol.exits
    found: set[str] = set()
    for name, step in flow.graph.steps.items():
        found |= {f"{name}.{tag}" for tag in step.exits if tag in exits and exits[tag].proves}
        if step.kind in ("check", "map"):
            found.add(f"{name}.{'Passed' if step.kind == 'check' else 'AllOk'}")
    return found
