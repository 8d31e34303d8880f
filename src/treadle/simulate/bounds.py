"""Whether a scope makes sense: numbers that bound something, and names that the protocol has."""

from collections.abc import Iterable, Iterator
from typing import Final

from treadle.protocol.findings import suggest
from treadle.protocol.model import SYSTEM_EXITS, Protocol, base_of
from treadle.simulate.scope import Scope

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


def misfits(protocol: Protocol, scope: Scope) -> Iterator[str]:
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
    there_are = f"; there are {', '.join(known)}" if known else ""
    return f"{protocol.name} has no {what} '{word}'{f' ({hint})' if hint else ''}{there_are}"
