"""Which row of the step rules table a piece of work belongs to."""

from treadle.kernel.state import Instance, State
from treadle.protocol.model import Graph, Spawn
from treadle.views.chronicle import Deed


def row_of(graph: Graph, step: str) -> str:
    """The row of the table that a step is a part of; a question that was cloned is part of the step that led to it."""
    base, _, origin = step.partition("@")
    found = graph.steps[step].row if step in graph.steps else ""
    return found or (row_of(graph, origin) if origin else "") or base


def row_of_session(state: State, story: Instance, graph: Graph, session: Deed) -> str:
    """The row that a session worked for; of an executor of a team, that of the step which handed out the tasks."""
    if session.command.inst == story.id:
        return row_of(graph, session.command.step)
    task = state.insts[session.command.inst]
    while task.parent != story.id:
        task = state.insts[task.parent]
    return next((row_of(graph, name) for name in graph.steps if _hands_out(graph, name, task.group)), task.group)


def _hands_out(graph: Graph, step: str, group: str) -> bool:
    routes = [route for rows in graph.steps[step].routes.values() for route in rows]
    return any(isinstance(action, Spawn) and action.group == group for route in routes for action in route.do)
