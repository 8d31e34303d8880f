"""What no type can say about an input: nothing required is empty, there is something to do, and items wait for items
that are there.

Values are looked at although others are wrong, so that everything can be reported at once.
"""

from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Final

from treadle.protocol.answers.problems import Path, Problem, quoted
from treadle.protocol.answers.waits import INPUT, Before, names, orders
from treadle.protocol.fields import (
    ListType,
    OptionalType,
    RecordType,
    ScalarType,
    TypeExpr,
    asked,
    bare,
    parse_type,
    record_of,
)
from treadle.protocol.findings import suggest
from treadle.protocol.items import Json
from treadle.protocol.model import Protocol

_NOR: Final = ", and no run here has done it"
_DONE: Final = "; leave out what an earlier run has done"


def unsound(protocol: Protocol, expr: TypeExpr, value: Json, before: Before | None = None) -> list[Problem]:
    """What is wrong with an input besides what does not fit its type; null stands for what does not."""
    return list(_Walk(protocol, before).value(expr, value, ()))


def idle(protocol: Protocol, value: Json) -> Iterator[Problem]:
    """That there is nothing to do: a run whose agents all work on lists of its input needs an item in one of them.

    Such a run would only end at once; so simulated ones may have such an input.
    """
    graph = protocol.graphs[protocol.root]
    lists = [step.over for step in graph.steps.values() if step.kind == "map"]
    fields = protocol.types[graph.input[1]].fields if graph.input[1] in protocol.types else {}
    named = [over.removeprefix(INPUT) for over in lists if over.startswith(INPUT)]
    if len(named) < len(lists) or any(step.kind == "agent" for step in graph.steps.values()):
        return
    may_be_absent = all(isinstance(parse_type(fields[name].type), OptionalType) for name in named if name in fields)
    if named and may_be_absent and isinstance(value, dict) and not any(value.get(name) for name in named):
        yield Problem((), f"there is nothing to do in it; give {' or '.join(named)}")


class _Walk:
    def __init__(self, protocol: Protocol, before: Before | None) -> None:
        self.types, self._before = protocol.types, before
        self.orders = [order for graph in protocol.graphs.values() for order in orders(protocol, graph)]

    def value(self, expr: TypeExpr, value: Json, path: Path) -> Iterator[Problem]:
        required = not isinstance(expr, OptionalType)
        match bare(expr), value:
            case ScalarType(name="text"), str(text) if required and not text.strip():
                yield Problem(path, "is empty; say something here")
            case ListType(), [] if required:
                yield Problem(path, "is empty; give at least one")
            case ListType(item=item), list(items):
                for index, one in enumerate(items):
                    yield from self.value(item, one, (*path, index))
                yield from self._references(item, items, path)
            case RecordType(name=name), dict(values):
                yield from self._record(name, values, path)

    def _references(self, item: TypeExpr, items: list[Json], path: Path) -> Iterator[Problem]:
        record = self.types[item.name] if isinstance(item, RecordType) else None
        if record is not None and record.refers:
            yield from _misordered(record.key, record.refers, items, path)

    def _alike(self, record: str, items: Json, path: Path) -> Iterator[Problem]:
        """What is worked on has files of its own, whose names must not be the same anywhere."""
        key = self.types[record].key if record in self.types else ""
        seen: dict[str, str] = {}
        for index, item in enumerate(items) if isinstance(items, list) else ():
            given = str(item.get(key)) if isinstance(item, dict) and item.get(key) is not None else ""
            other = seen.setdefault(given.casefold(), given)
            if other != given:
                message = f"{quoted(given)} and {quoted(other)} differ in capitals only, and name the same files"
                yield Problem((*path, index, key), f"{message} on some machines; choose another")

    def _record(self, name: str, values: Mapping[str, Json], path: Path) -> Iterator[Problem]:
        for field, declared, expr in asked(self.types[name].fields):
            if declared.route == "items":
                yield from self._alike(record_of(expr), values[field], (*path, field))
            waiting = field == self.types[name].refers or any(
                (order.item, order.after) == (name, field) for order in self.orders
            )
            if not (waiting and values[field] == []):
                needed = bare(expr) if field == self.types[name].key else expr
                yield from self.value(needed, values[field], (*path, field))
        for order in self.orders:
            # What a record says of itself is looked at wherever it is listed, and not told twice.
            known = self.types[order.item].refers == order.after
            items = values.get(order.field) if order.record == name and not known else None
            if isinstance(items, list):
                key, place = self.types[order.item].key, (*path, order.field)
                yield from _misordered(key, order.after, items, place, _DONE, self._before)


def _misordered(
    key: str, after: str, items: list[Json], path: Path, advice: str = "", before: Before | None = None
) -> Iterator[Problem]:
    known = {index: item for index, item in enumerate(items) if isinstance(item, dict) and item.get(key) is not None}
    places = {str(item[key]): index for index, item in reversed(known.items())}
    waits = {name: names(known[places[name]].get(after)) for name in reversed(places)}
    for index, item in known.items() if len(known) == len(items) else ():
        for other in (name for name in names(item.get(after)) if name not in waits):
            told = before(other) if before else None
            if told is None:
                hint = suggest(other, waits) or f"there are {', '.join(waits)}"
                told = f"is none of these items{_NOR if before else ''}; {hint}{advice}"
            if told:
                yield Problem((*path, index, after), f"{quoted(other)} {told}")
    try:
        TopologicalSorter(waits).prepare()
    except CycleError as error:
        circle = list(reversed(error.args[1]))
        message = f"waits for itself: {' waits for '.join(circle)}; break the circle"
        yield Problem((*path, places[circle[0]], after), message)
