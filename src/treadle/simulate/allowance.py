"""Budgets taken as given: whenever one is charged, it may have run out or not.

What a run does with any numbers at all is among what it does this way, so a search that finds no deadlock here has
found none for every choice of budgets, at a fraction of the states. (It may find one that real budgets exclude.)
"""

import msgspec

from treadle.kernel.events import Checked, Event, Exited, Failed, Replied, Signalled, TimerFired
from treadle.kernel.state import Instance, State
from treadle.protocol.model import Graph, Protocol, Route, Send


class Allowance:
    """The two extremes of a state: nothing spent, everything spent."""

    def __init__(self, protocol: Protocol) -> None:
        self._full = {
            name: {budget: definition.max for budget, definition in graph.budgets.items()}
            for name, graph in protocol.graphs.items()
        }
        self._steps = {(name, step) for name, graph in protocol.graphs.items() for step in _charging(graph)}

    def fresh(self, state: State) -> State:
        """The state with nothing spent."""
        return _with(state, {inst.id: {} for inst in state.insts.values() if inst.spent and not inst.outcome})

    def spent(self, state: State) -> State:
        """The state with everything spent."""
        return _with(state, {inst.id: self._full[inst.graph] for inst in state.insts.values() if not inst.outcome})

    def matters(self, state: State, event: Event) -> bool:
        """Whether the event can make anybody charge a budget."""
        match event:
            case Exited(act=id_) | Checked(act=id_) | Failed(act=id_) | TimerFired(timer=id_) if id_ in state.acts:
                command = state.acts[id_].command
                return (command.graph, command.step) in self._steps
            case Replied(ask=id_) if id_ in state.asks:
                ask = state.asks[id_]
                return (state.insts[ask.inst].graph, ask.step) in self._steps
            case Signalled(name=name):
                return name == "abort"
        return False


def _with(state: State, spent: dict[str, dict[str, int]]) -> State:
    if not spent:
        return state
    changed: dict[str, Instance] = {
        id_: msgspec.structs.replace(state.insts[id_], spent=amounts) for id_, amounts in spent.items()
    }
    return msgspec.structs.replace(state, insts=state.insts.update(changed))


def _charging(graph: Graph) -> list[str]:
    """Steps that charge a budget, or whose end or answer may make another instance do so."""
    shared = any(_may_charge(route) for rows in graph.system.values() for route in rows)
    return [
        name
        for name, step in graph.steps.items()
        if shared or any(_may_charge(route) for rows in step.routes.values() for route in rows)
    ]


def _may_charge(route: Route) -> bool:
    answers = any(isinstance(action, Send) and action.to == "sender" for action in route.do)
    return bool(route.charge) or answers or route.to.startswith("@end:")
