"""A part of a protocol by itself: one of the lists that its input has, or one step for the items of such a list.

A step that is done alone is followed by the merge of its work and by nothing else. So it must need nothing that others
leave, and what it leaves must be fit to be merged.
"""

from typing import Final

import msgspec

from treadle.errors import TreadleError
from treadle.protocol.findings import suggest
from treadle.protocol.items import Json
from treadle.protocol.model import Graph, Need, Protocol, Route, Rows, Step, tag_of

_GIVEN: Final = "in."
_END: Final = "@end:"
_MERGE: Final = "merge"


class Alone(msgspec.Struct, frozen=True, kw_only=True):
    """What is left of a protocol, and which part of the input it works on."""

    protocol: Protocol
    field: str
    """The list of the input that stays."""
    item: str = ""
    """The only item of it; empty: all."""

    def narrowed(self, value: Json) -> Json:
        """The input without what is not to be done."""
        if not isinstance(value, dict):
            return value
        others = [step.over.removeprefix(_GIVEN) for step in parts(self.protocol).values()]
        return {**{name: one for name, one in value.items() if name not in others}, self.field: self._items(value)}

    def _items(self, value: dict[str, Json]) -> list[Json]:
        given = value.get(self.field)
        listed = given if isinstance(given, list) else []
        found = [one for one in listed if not self.item or (isinstance(one, dict) and self.item in one.values())]
        if not found:
            what = f"'{self.item}' among the {self.field}" if self.item else f"{self.field}"
            raise TreadleError(f"there is nothing to do alone: the input has no {what}")
        return found


def parts(protocol: Protocol) -> dict[str, Step]:
    """The steps of the root that work through a list of the input."""
    steps = protocol.graphs[protocol.root].steps
    return {name: step for name, step in steps.items() if step.kind == "map" and step.over.startswith(_GIVEN)}


def alone(protocol: Protocol, word: str) -> Alone:
    """`PART`, `STEP`, or one of them for an item: `ITEM:STEP`; a `TreadleError` says why it cannot be done alone."""
    item, _, name = word.rpartition(":")
    found = parts(protocol)
    if name in found:
        return Alone(protocol=protocol, field=found[name].over.removeprefix(_GIVEN), item=item)
    for part in found.values():
        step = protocol.graphs[part.graph].steps.get(name)
        if step is not None and step.kind == "agent":
            field = part.over.removeprefix(_GIVEN)
            return Alone(protocol=_only(protocol, part.graph, name), field=field, item=item)
    known = [*found, *(name for part in found.values() for name in _alone_in(protocol, part.graph))]
    hint = suggest(name, known) or (f"there are {', '.join(dict.fromkeys(known))}" if known else "it has no parts")
    raise TreadleError(f"--only {word}: {protocol.name} has no part or step '{name}' to be done alone; {hint}")


def _alone_in(protocol: Protocol, graph: str) -> list[str]:
    steps = protocol.graphs[graph].steps
    return [name for name, step in steps.items() if step.kind == "agent" and not _against(protocol, graph, name)]


def _against(protocol: Protocol, graph: str, name: str) -> str:
    """What speaks against doing a step alone; empty if nothing does."""
    step = protocol.graphs[graph].steps[name]
    if name in [handler.step for handler in protocol.graphs[graph].handlers.values()]:
        return "it answers others, who would not be there"
    needed = [str(need) for need in step.needs if need.step and not (need.optional or need.every or need.up)]
    if needed:
        return f"it needs what others leave first ({', '.join(needed)})"
    if any(protocol.exits[tag].proves == "red" for tag in step.exits):
        return "it leaves tests that fail, which cannot be merged without what makes them pass"
    if _merge_of(protocol.graphs[graph]) is None:
        return "nothing would merge what it leaves"
    return ""


def _merge_of(graph: Graph) -> str | None:
    return next((name for name, step in graph.steps.items() if step.effect == _MERGE), None)


def _only(protocol: Protocol, graph: str, name: str) -> Protocol:
    before, merge = protocol.graphs[graph], _merge_of(protocol.graphs[graph])
    if (why := _against(protocol, graph, name)) or merge is None:
        raise TreadleError(f"--only {name}: this step cannot be done alone: {why}; run the whole {graph}")
    good = [tag for tag in before.steps[name].exits if protocol.exits[tag].severity == "INFO"]
    steps = {**before.steps, name: _then_merged(before, name, merge, good), **_merged(before, name, merge, good)}
    steps |= {ask: _asking(steps[ask], name) for ask in _asks(steps[name], steps)}
    steps |= {ask: _asking(steps[ask], merge) for ask in _asks(steps[merge], steps)}
    ends = {end: () if need else need for end, need in before.ends.items()}
    changed = msgspec.structs.replace(before, start=name, steps=steps, ends=ends)
    return msgspec.structs.replace(protocol, graphs={**protocol.graphs, graph: changed})


def _then_merged(graph: Graph, name: str, merge: str, good: list[str]) -> Step:
    """The step, after whose good exits there is nothing but the merge."""
    step, then = graph.steps[name], (Route(to=merge),)
    routes = {key: then if tag_of(key) in good else rows for key, rows in step.routes.items()}
    return msgspec.structs.replace(step, routes=routes)


def _merged(graph: Graph, name: str, merge: str, good: list[str]) -> dict[str, Step]:
    """The merge; what is refused there is a question at once, for nobody follows who could repair it."""
    step = graph.steps[merge]
    needs = tuple(Need(step=name, exit=tag, optional=len(good) > 1) for tag in good)
    routes = {key: _asked(rows, graph, step) for key, rows in step.routes.items()}
    return {merge: msgspec.structs.replace(step, needs=needs, routes=routes)}


def _asked(rows: Rows, graph: Graph, step: Step) -> Rows:
    """Rows that lead to work lead to the question that would come after it."""
    halts = [row.to for rows in step.routes.values() for row in rows if _is_ask(graph, row.to)]
    found = []
    for row in rows:
        is_kept = row.to.startswith(_END) or _is_ask(graph, row.to)
        found.append(row if is_kept else Route(to=row.over or halts[0]))
    return tuple(found)


def _is_ask(graph: Graph, name: str) -> bool:
    return name in graph.steps and graph.steps[name].kind == "ask"


def _asks(step: Step, steps: dict[str, Step]) -> list[str]:
    names = [row.to for rows in step.routes.values() for row in rows]
    return [name for name in dict.fromkeys(names) if name in steps and steps[name].kind == "ask"]


def _asking(step: Step, back: str) -> Step:
    """A question that leads back, or ends the work; its other choices lead to what is not done."""
    routes = {key: rows for key, rows in step.routes.items() if key != "skip"}
    routes = {key: rows if rows[0].to.startswith(_END) else (Route(to=back),) for key, rows in routes.items()}
    choices = {key: words for key, words in step.choices.items() if key in routes}
    return msgspec.structs.replace(step, routes=routes, choices=choices)
