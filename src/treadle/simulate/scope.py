"""A small scope: how much of a protocol an exhaustive search looks at."""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from treadle.protocol.findings import Place, suggest
from treadle.protocol.model import SYSTEM_EXITS, Graph, Protocol, Route, Step, base_of, row
from treadle.protocol.reading.yaml import fail, read_yaml

# The slots and steps that decide whether Treadle refuses a person's command.


def command_sources(graph: Graph) -> frozenset[str]:
    """Return the slots that the steps of commands need, and the slots those were made from, directly or indirectly."""
    found: set[str] = set()
    todo = [need for step in graph.commanded for need in graph.steps[step].needs]
    while todo:
        need = todo.pop()
        own = need.step and not (need.optional or need.every or need.up)
        if own and need.slot not in found:
            found.add(need.slot)
            todo += graph.steps[need.step].needs if need.step in graph.steps else ()
    return frozenset(found)


def command_readers(graph: Graph) -> frozenset[str]:
    """Return the steps of commands, and the steps that write their sources: their needs decide about a refusal."""
    return frozenset({*graph.commanded, *(slot.partition(".")[0] for slot in command_sources(graph))})


class Scope(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Bounds that make the search finite, and menus that make it small."""

    name: str = ""
    help: str = ""
    graph: str = ""
    """The graph that is the root; empty: the protocol's own."""
    attempts: int = 1
    budgets: int | None = 1
    """The rest of every budget; None: at each charge the budget may be exhausted or not (see `BudgetExtremes`)."""
    depth: int = 1
    """Instances this deep start no children of their own."""
    widths: tuple[int, ...] = (0, 1)
    """How many items a list may have."""
    values: dict[str, tuple[bool | int | float | str | None, ...]] = {}
    """Values of a field of an exit or of the input, by `Exit.field` or `field`; they replace the values from its
    guards.
    """
    items: dict[str, tuple[int | None, ...]] = {}
    """Numbers of items of a field, by `Exit.field` or `field`, in place of `widths`; None: the list is absent."""
    menus: dict[str, tuple[str, ...]] = {}
    """The exits or choices of a step that the search tries; a step without a menu has all of them."""
    faults: tuple[str, ...] = ("!timeout", "!crash", "!invalid", "!gate", "!blocked", "!store")
    """The system exits that the search tries, one for each row that they select."""
    signals: tuple[str, ...] = ()
    """Signals that may come from outside at any time: `abort`, `pause`, a signal that a graph handles, or (once for
    each of an agent's activities) an `outage`.
    """
    atomic: bool = True
    """Whether a claim and its verdict are one move: only preemption can come between them."""

    def menu(self, step: str, keys: tuple[str, ...]) -> tuple[str, ...]:
        """The keys of a step that belong to the scope; a clone of an ask shares the menu of its original."""
        allowed = self.menus.get(step, self.menus.get(step.partition("@")[0]))
        if allowed is None:
            return keys
        return tuple(key for key in keys if key in allowed or key.partition(".")[0] in allowed)


def clip(protocol: Protocol, scope: Scope) -> Protocol:
    """The protocol with its root, attempts, budgets and limits cut down to the scope."""
    limits = msgspec.structs.replace(protocol.limits, depth=scope.depth, infra_retries=0, cost=0.0, tokens=0, wall=0)
    graphs: dict[str, Graph] = {}
    most = 1 if scope.budgets is None else scope.budgets
    for name, graph in protocol.graphs.items():
        readers = command_readers(graph)
        steps = {step: _clip_step(graph, step, scope, step in readers) for step in graph.steps}
        budgets = {
            budget: msgspec.structs.replace(definition, max=min(definition.max, most))
            for budget, definition in graph.budgets.items()
        }
        graphs[name] = msgspec.structs.replace(graph, steps=steps, budgets=budgets)
    return msgspec.structs.replace(protocol, root=scope.graph or protocol.root, graphs=graphs, limits=limits)


def _clip_step(graph: Graph, name: str, scope: Scope, reads: bool) -> Step:
    """Reduce the attempts; a step that retries by default keeps that route when it has only one attempt.

    Its needs are dropped, unless they decide (`reads`) whether Treadle refuses a person's command.
    """
    step = graph.steps[name]
    if not reads:
        step = msgspec.structs.replace(step, needs=())
    if step.attempts <= scope.attempts:
        return step
    again = {key: (Route(to=name),) for key in ("!gate", "!invalid") if row(graph, name, key) == (Route(to=name),)}
    return msgspec.structs.replace(step, attempts=scope.attempts, routes={**again, **step.routes})


# Validate a scope: the bounds are large enough, and the protocol has the names.

LEAST: Final = {"attempts": 1, "budgets": 0, "depth": 0, "widths": 0}
"""The smallest number that each bound can be."""


def out_of_range(scope: Scope) -> Iterator[str]:
    """The bounds of a scope that are too small to mean anything."""
    if not scope.widths:
        yield "widths needs at least one number"
    numbers = [(name, getattr(scope, name)) for name in ("attempts", "budgets", "depth")]
    numbers += [("widths", width) for width in scope.widths]
    numbers += [(f"items.{field}", count) for field, counts in scope.items.items() for count in counts]
    for name, number in numbers:
        if number is not None and number < LEAST.get(name, 0):
            yield f"{name} is {number}, and must be at least {LEAST.get(name, 0)}"


def unknown_names(protocol: Protocol, scope: Scope) -> Iterator[str]:
    """The names in a scope that the protocol does not have."""
    if scope.graph and scope.graph not in protocol.graphs:
        yield _unknown(protocol, "graph", scope.graph, protocol.graphs)
    steps = {base_of(step) for graph in protocol.graphs.values() for step in graph.steps}
    for step in scope.menus:
        if base_of(step) not in steps:
            yield _unknown(protocol, "step", step, steps)
    fields = {field for record in protocol.types.values() for field in record.fields}
    fields |= {field for exit_ in protocol.exits.values() for field in exit_.fields}
    for name in (*scope.items, *scope.values):
        if name.rpartition(".")[2] not in fields:
            yield _unknown(protocol, "field", name, ())
    for fault in scope.faults:
        if fault not in SYSTEM_EXITS:
            yield _unknown(protocol, "system exit", fault, SYSTEM_EXITS)


def _unknown(protocol: Protocol, what: str, word: str, known: Iterable[str]) -> str:
    known = list(known)
    hint = suggest(word, known)
    there_are = f"; choose from {', '.join(known)}" if known else ""
    return f"{protocol.name} has no {what} '{word}'{f' ({hint})' if hint else ''}{there_are}"


# Named scopes: the searches that a protocol's authors recommend, as data beside the protocol.

FILE: Final = "scopes.yaml"
SMALL: Final = Scope(name="small", help="at most one child and one item of a list, any budgets", budgets=None)
"""The scope of every protocol that names no other `small` itself: done in seconds."""


def read_scopes(text: str, filename: str = FILE) -> dict[str, Scope]:
    """The scopes of a `scopes.yaml`: name → the fields of a scope."""
    tree = read_yaml(text, filename)
    if not isinstance(tree.value, dict):
        fail(tree.place, "scopes are a mapping", "write `NAME: {graph: …, items: …}`", code="protocol.scope")
    return {name: _scope(name, node.plain(), node.place) for name, node in tree.value.items()}


def _scope(name: str, fields: object, place: Place) -> Scope:
    try:
        scope = msgspec.structs.replace(msgspec.convert(fields, Scope), name=name)
    except msgspec.ValidationError as error:
        fail(
            place,
            f"the scope '{name}' is not understood: {error}",
            f"it has {', '.join(Scope.__struct_fields__)}",
            code="protocol.scope",
        )
    for problem in out_of_range(scope):
        fail(place, f"the scope '{name}' is not understood: {problem}", code="protocol.scope")
    return scope
