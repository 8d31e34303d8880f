"""Mistakes in the tables: a row is missing, leads elsewhere, costs nothing, does not do what it should."""

from collections.abc import Iterator
from itertools import combinations
from typing import Final, NamedTuple

from tests.protocols.edits import drop, put
from treadle.protocol.model import CancelGroup, Graph, Protocol, ResetThread, Route, Send, Spawn, Tier

Change = tuple[str, Protocol]
"""What was done to a protocol, and the protocol that came of it."""


class At(NamedTuple):
    """A row of a protocol: where it stands, and whose it is."""

    path: tuple[str | int, ...]
    graph: str
    step: str
    key: str
    row: Route
    rows: int
    number: int

    def __str__(self) -> str:
        owner = f"{self.graph}.{self.step}" if self.step else f"{self.graph}.system"
        return f"{owner} {self.key}" + (f"[{self.number}]" if self.rows > 1 else "")


def rows(protocol: Protocol) -> Iterator[At]:
    """Every row, the graphs' own for system exits after those of the steps."""
    for name, graph in protocol.graphs.items():
        for step_name, step in graph.steps.items():
            for key, table in step.routes.items():
                for n, row in enumerate(table):
                    path = ("graphs", name, "steps", step_name, "routes", key, n)
                    yield At(path, name, step_name, key, row, len(table), n)
        for key, table in graph.system.items():
            for n, row in enumerate(table):
                yield At(("graphs", name, "system", key, n), name, "", key, row, len(table), n)


def _without_choices(protocol: Protocol) -> Iterator[At]:
    """Every row but a person's answers: which word a person gives to which way is theirs to choose.

    The words carry no fields, and a person is bound to nothing, so there is nothing to hold such a row against. What a
    parent answers is decided by its own table and stays in.
    """
    for at in rows(protocol):
        if not at.step or protocol.graphs[at.graph].steps[at.step].asks != "human":
            yield at


def drop_row(protocol: Protocol) -> Iterator[Change]:
    """A row is missing."""
    for at in rows(protocol):
        path = at.path if at.rows > 1 else at.path[:-1]
        yield f"{at}: row dropped", drop(protocol, *path)


def targets(graph: Graph) -> list[str]:
    """Everything a row of a graph could name as its target."""
    found = [*graph.steps, *(f"@end:{outcome}" for outcome in graph.ends)]
    if graph.handlers:
        found += ["@resume", *(f"^{step}" for step in graph.steps)]
    return found


def retarget(protocol: Protocol) -> Iterator[Change]:
    """A row leads elsewhere."""
    for at in _without_choices(protocol):
        for goal in targets(protocol.graphs[at.graph]):
            if goal != at.row.to:
                yield f"{at}: to {at.row.to} → {goal}", put(protocol, *at.path, "to", value=goal)


def swap_targets(protocol: Protocol) -> Iterator[Change]:
    """Two rows of a step have each other's target."""
    for one, other in combinations(_without_choices(protocol), 2):
        if one.step and (one.graph, one.step) == (other.graph, other.step) and one.row.to != other.row.to:
            changed = put(protocol, *one.path, "to", value=other.row.to)
            text = f"{one} and {other.key}" + (f"[{other.number}]" if other.rows > 1 else "")
            yield f"{text}: targets swapped", put(changed, *other.path, "to", value=one.row.to)


def drop_charge(protocol: Protocol) -> Iterator[Change]:
    """A row costs nothing."""
    for at in rows(protocol):
        if at.row.charge:
            yield f"{at}: charge {at.row.charge} dropped", put(protocol, *at.path, "charge", value="")


def drop_fresh(protocol: Protocol) -> Iterator[Change]:
    """A self-route counts as an attempt although it should start anew."""
    for at in rows(protocol):
        if at.row.fresh:
            yield f"{at}: fresh dropped", put(protocol, *at.path, "fresh", value=False)


def drop_sync(protocol: Protocol) -> Iterator[Change]:
    """One edge of a chain of barriers does not wait."""
    for at in rows(protocol):
        if at.row.sync:
            yield f"{at}: sync dropped", put(protocol, *at.path, "sync", value=False)


def drop_action(protocol: Protocol) -> Iterator[Change]:
    """Something that should happen on the way does not."""
    for at in rows(protocol):
        for n, action in enumerate(at.row.do):
            yield f"{at}: {_shown(action)} dropped", drop(protocol, *at.path, "do", n)


def _shown(action: object) -> str:
    match action:
        case Spawn():
            return f"spawn {action.group}"
        case Send():
            return f"send {action.signal} to {action.to}"
        case Tier():
            return "tier"
        case ResetThread():
            return f"reset_thread {action.step}"
        case CancelGroup():
            return f"cancel {action.group}"
    return type(action).__name__


_RECIPIENTS: Final = ("parent", "siblings", "children", "sender")


def send_elsewhere(protocol: Protocol) -> Iterator[Change]:
    """A signal goes to somebody else, or another one is sent."""
    handled = sorted({signal for graph in protocol.graphs.values() for signal in graph.handlers})
    answers = sorted({send.signal for _, _, send in _sends(protocol)})
    for at, n, send in _sends(protocol):
        for recipient in _RECIPIENTS:
            if recipient != send.to:
                text = f"{at}: {_shown(send)} goes to {recipient}"
                yield text, put(protocol, *at.path, "do", n, "to", value=recipient)
        for signal in dict.fromkeys([*handled, *answers]):
            if signal != send.signal and not signal.startswith("child:"):
                text = f"{at}: {_shown(send)} sends {signal}"
                yield text, put(protocol, *at.path, "do", n, "signal", value=signal)


def _sends(protocol: Protocol) -> Iterator[tuple[At, int, Send]]:
    for at in rows(protocol):
        for n, action in enumerate(at.row.do):
            if isinstance(action, Send):
                yield at, n, action


def spawn_otherwise(protocol: Protocol) -> Iterator[Change]:
    """Children of another graph, over other items, or in another group."""
    for at in rows(protocol):
        for n, action in enumerate(at.row.do):
            if not isinstance(action, Spawn):
                continue
            for graph in protocol.graphs:
                if graph != action.graph:
                    yield (
                        f"{at}: {_shown(action)} starts {graph}",
                        put(protocol, *at.path, "do", n, "graph", value=graph),
                    )
            for exit_ in [protocol.exits[at.key]] if at.key in protocol.exits else []:
                for field in exit_.fields:
                    if field != action.over:
                        text = f"{at}: {_shown(action)} over {field}"
                        yield text, put(protocol, *at.path, "do", n, "over", value=field)
            groups = {other.group for a in rows(protocol) for other in a.row.do if isinstance(other, Spawn)}
            for group in sorted({*groups, "others"} - {action.group}):
                text = f"{at}: {_shown(action)} in group {group}"
                yield text, put(protocol, *at.path, "do", n, "group", value=group)


def drop_guard(protocol: Protocol) -> Iterator[Change]:
    """A row that others follow has no guard."""
    for at in rows(protocol):
        if at.row.when:
            yield f"{at}: guard dropped", put(protocol, *at.path, "when", value="")


def guard_last(protocol: Protocol) -> Iterator[Change]:
    """The last row of an exit has a guard."""
    for at in rows(protocol):
        if at.number == at.rows - 1:
            yield f"{at}: guarded by attempt > 1", put(protocol, *at.path, "when", value="attempt > 1")


def misspell_guard(protocol: Protocol) -> Iterator[Change]:
    """A guard or an assignment mentions a name that is not there."""
    for at in rows(protocol):
        if at.row.when:
            yield f"{at}: guard misspelt", put(protocol, *at.path, "when", value=_misspelt(at.row.when))
        for name, value in at.row.sets.items():
            changed = put(protocol, *at.path, "sets", value={f"{name}x": value})
            yield f"{at}: variable {name} misspelt", changed


def _misspelt(guard: str) -> str:
    """The guard with its first name spelt with a letter too many."""
    words = guard.split(" ")
    return " ".join([f"{words[0]}x", *words[1:]])
