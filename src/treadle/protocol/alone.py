"""A part of a protocol by itself: one of the lists that its input has, or one step for the items of such a list.

A step that is done alone is followed by the merge of its work and by nothing else. So it must need nothing that others
leave, and what it leaves must be fit to be merged, unless the protocol says on which terms it can be done.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from treadle.errors import TreadleError
from treadle.protocol.answers.waits import among_themselves
from treadle.protocol.artifact_place import filled
from treadle.protocol.cut import against, cut
from treadle.protocol.findings import suggest
from treadle.protocol.items import Json
from treadle.protocol.model import Protocol, Step
from treadle.protocol.reach import Reach, reach
from treadle.protocol.terms import Table, Terms

_GIVEN: Final = "in."
_NONE: Final[Table] = MappingProxyType({})


class Missing(msgspec.Struct, frozen=True):
    """A file that a step needs which is done alone, and who would write it."""

    paths: tuple[str, ...]
    """As it is called; any of these is enough."""
    by: str
    """The step or part that leaves it; empty if there is none."""


class Alone(msgspec.Struct, frozen=True, kw_only=True):
    """What is left of a protocol, and which part of the input it works on."""

    protocol: Protocol
    field: str
    """The list of the input that stays."""
    item: str = ""
    """The only item of it; empty: all."""
    graph: str = ""
    step: str = ""
    """The only step, if it is one; empty: the whole graph."""
    terms: Terms = Terms()

    @property
    def reach(self) -> Reach:
        """What a run of it can come to."""
        return reach(self.protocol, {self.field: [{}]})

    def narrowed(self, value: Json) -> Json:
        """The input without what is not to be done, and without waiting for it."""
        if not isinstance(value, dict):
            return value
        others = [step.over.removeprefix(_GIVEN) for step in parts(self.protocol).values()]
        left = {**{name: one for name, one in value.items() if name not in others}, self.field: self._items(value)}
        return among_themselves(self.protocol, left)

    def missing(self, value: Json, is_there: Callable[[str], bool]) -> Iterator[Missing]:
        """The files that the step needs for the items of an input, and that are not there."""
        items = self._items(value) if isinstance(value, dict) else []
        for item in (one for one in items if isinstance(one, dict)):
            for either in self.terms.files:
                paths = tuple(filled(path, item) for path in either)
                if not any(map(is_there, paths)):
                    yield Missing(paths, self._author(either[0], item))

    def _author(self, path: str, item: Mapping[str, Json]) -> str:
        """Who leaves a file: another step for the same item, or another part."""
        own = {name: step for name, step in self.protocol.graphs[self.graph].steps.items() if name != self.step}
        key = self.item or str(item.get("id", ""))
        found = [f"{key}:{name}" for name, step in own.items() if _writes(step, path, item)]
        found += [
            name
            for name, part in parts(self.protocol).items()
            if any(_writes(step, path, item) for step in self.protocol.graphs[part.graph].steps.values())
        ]
        return found[0] if found else ""

    def _items(self, value: dict[str, Json]) -> list[Json]:
        given = value.get(self.field)
        listed = given if isinstance(given, list) else []
        found = [one for one in listed if not self.item or (isinstance(one, dict) and self.item in one.values())]
        if not found:
            what = f"'{self.item}' among the {self.field}" if self.item else f"{self.field}"
            raise TreadleError(f"there is nothing to do alone: the input has no {what}", code="spec.incomplete")
        return found


def parts(protocol: Protocol) -> dict[str, Step]:
    """The steps of the root that work through a list of the input."""
    steps = protocol.graphs[protocol.root].steps
    return {name: step for name, step in steps.items() if step.kind == "map" and step.over.startswith(_GIVEN)}


def alone(protocol: Protocol, word: str, table: Table = _NONE) -> Alone:
    """`PART`, `STEP`, or one of them for an item: `ITEM:STEP`; a `TreadleError` says why it cannot be done alone."""
    item, _, name = word.rpartition(":")
    found = parts(protocol)
    if name in found:
        return Alone(protocol=protocol, field=found[name].over.removeprefix(_GIVEN), item=item)
    for part in found.values():
        step = protocol.graphs[part.graph].steps.get(name)
        if step is not None and step.kind == "agent":
            terms = table.get(name)
            return Alone(
                protocol=cut(protocol, part.graph, name, terms),
                field=part.over.removeprefix(_GIVEN),
                item=item,
                graph=part.graph,
                step=name,
                terms=terms or Terms(),
            )
    known = words(protocol, table)
    hint = suggest(name, known) or (f"there are {', '.join(known)}" if known else "it has no parts")
    raise TreadleError(
        f"--only {word}: {protocol.name} has no part or step '{name}' to be done alone; {hint}", code="part.unknown"
    )


def words(protocol: Protocol, table: Table = _NONE) -> list[str]:
    """The parts, and the steps that can be done alone; where nobody else works in a part, it is called by its name."""
    found = parts(protocol)
    steps = (name for part in found.values() for name in _alone_in(protocol, part.graph, table))
    return list(dict.fromkeys([*found, *steps]))


def _writes(step: Step, path: str, item: Mapping[str, Json]) -> bool:
    return step.kind == "agent" and filled(path, item) in [filled(one, item) for one in step.writes or ()]


def _alone_in(protocol: Protocol, graph: str, table: Table) -> list[str]:
    steps = protocol.graphs[graph].steps
    agents = [name for name, step in steps.items() if step.kind == "agent"]
    return [name for name in agents if len(agents) > 1 and not against(protocol, graph, name, table.get(name))]
