"""By which exits a step can send tests back to those who write them."""

from treadle.evidence.past import WRITES_TESTS
from treadle.evidence.subject import Subject
from treadle.protocol.model import Graph, tag_of


def ways_back(s: Subject) -> list[str]:
    """The exits of a step that lead to a step that writes tests before anything else judges the code."""
    exits = [name for name in s.step.routes if not name.startswith("!") and tag_of(name) != tag_of(s.job.exit)]
    return [name for name in exits if _leads_to_tests(s.graph, s.job.step, name)]


def _leads_to_tests(graph: Graph, start: str, exit_: str) -> bool:
    seen = {start}
    ahead = [route.to for route in graph.steps[start].routes[exit_]]
    while ahead:
        name = ahead.pop()
        if name in seen or name not in graph.steps or graph.steps[name].kind != "agent":
            continue
        seen.add(name)
        step = graph.steps[name]
        if any(ref.name in WRITES_TESTS for refs in step.gates.values() for ref in refs):
            return True
        ahead += [route.to for routes in step.routes.values() for route in routes]
    return False
