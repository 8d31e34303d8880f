"""What people call a step: `impl`, which agents do and rules tables list; `Archive the delta`, not `archive`."""

from treadle.protocol.model import Graph, base_of


def step_words(graph: Graph, step: str) -> str:
    """A step of agents, or a row of a rules table, by its name; what else there is between them by its title."""
    found = graph.steps.get(step)
    if found is None or found.kind == "agent" or found.row == step:
        return base_of(step)
    return found.title or base_of(step)
