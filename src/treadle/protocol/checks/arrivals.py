"""Check 19, the other end: whoever declares that it reads the report of a failure is where such a failure leads."""

from collections.abc import Iterator

from treadle.protocol.checks.flow import Flow, step_path
from treadle.protocol.checks.subject import Subject
from treadle.protocol.findings import Finding
from treadle.protocol.model import Need, base_of, tag_of


def reports_arrive(subject: Subject) -> Iterator[Finding]:
    """19. No step and no outcome waits for the report of a failure that never leads there."""
    for flow in subject.flows.values():
        arriving = _arriving(flow)
        for name, step in flow.graph.steps.items():
            anything = {"!*"} & arriving.get(base_of(name), set())
            for need in _unfounded(step.needs, arriving.get(name, set()) | anything):
                yield _finding(subject, f"{flow.name}.{name}", f"{step_path(flow.name, name)}.needs", need)
        for outcome, needs in flow.graph.ends.items():
            for need in _unfounded(needs, arriving.get(f"@end:{outcome}", set())):
                yield _finding(subject, flow.name, f"graphs.{flow.name}.ends.{outcome}", need)


def _arriving(flow: Flow) -> dict[str, set[str]]:
    """The failures that lead to each step and to each outcome."""
    found: dict[str, set[str]] = {}
    for edge in flow.edges:
        if edge.is_system:
            goal = f"@end:{edge.to.name}" if edge.to.kind == "end" else edge.lands_at
            found.setdefault(goal, set()).update((edge.key, tag_of(edge.key), "!*"))
            found.setdefault(base_of(goal), set()).add("!*")
    return found


def _unfounded(needs: tuple[Need, ...], arriving: set[str]) -> list[Need]:
    return [need for need in needs if not need.step and need.exit not in arriving]


def _finding(subject: Subject, where: str, path: str, need: Need) -> Finding:
    message = f"reads '{need}', but no such failure leads here"
    return subject.finding(19, where, path, message, "lead one here, or remove the need")
