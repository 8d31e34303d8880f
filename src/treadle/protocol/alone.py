"""Run a part of a protocol by itself: one list of its input, or one step for the items of such a list.

After a step that runs alone comes only the merge of its work. So the step must need nothing from other steps, and its
work must be fit to merge, unless the protocol's `alone.yaml` gives terms for it.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec

from treadle.errors import ProtocolError, TreadleError
from treadle.protocol.answers.inputs import drop_outside_waits
from treadle.protocol.artifacts import fill_placeholders
from treadle.protocol.findings import suggest
from treadle.protocol.items import Json
from treadle.protocol.model import CheckRef, Graph, Model, Need, Only, Protocol, Route, Rows, Step, base_of, tag_of
from treadle.protocol.reach import Reach, reach
from treadle.protocol.reading.notation import check_ref
from treadle.protocol.reading.yaml import Node
from treadle.protocol.vocabulary import CHECKS

# The terms on which a step may run alone although it normally follows others: the files it needs, and its own checks.

TERMS_FILE: Final = "alone.yaml"
"""Beside a `protocol.yaml`: the terms of its steps, by step."""
_EITHER: Final = " or "


class AloneExit(Model, frozen=True, kw_only=True):
    """An exit that replaces one the step cannot claim alone; it has the same fields."""

    name: str
    instead_of: str
    about: str
    gates: str


class Terms(Model, frozen=True, kw_only=True):
    """The terms of one step."""

    given: tuple[str, ...] = ()
    """Files that must exist, with `{…}` for fields of the item; ` or ` separates alternatives."""
    ready: str = ""
    """Checks that must pass before the step begins."""
    exit: AloneExit | None = None

    @property
    def files(self) -> tuple[tuple[str, ...], ...]:
        """The files that must exist, each with its alternatives."""
        return tuple(tuple(one.split(_EITHER)) for one in self.given)


TermsTable = Mapping[str, Terms]
"""The terms by step."""


def read_terms(tree: Node) -> dict[str, Terms]:
    """Read the table of a terms file; raise `ProtocolError` if it is malformed."""
    plain: Any = tree.plain()
    try:
        return msgspec.convert(plain or {}, dict[str, Terms])
    except msgspec.ValidationError as error:
        raise ProtocolError(f"{tree.place.file}: {error}", code="protocol.malformed") from None


def _parse_checks(words: str) -> tuple[CheckRef, ...]:
    """Parse a line of checks; raise `ProtocolError` if there is no check of that name."""
    refs = tuple(check_ref(word) or CheckRef(name=word) for word in words.split())
    for ref in refs:
        if ref.name not in CHECKS:
            message = f"{TERMS_FILE}: there is no check '{ref.name}'; {suggest(ref.name, CHECKS)}"
            raise ProtocolError(message.rstrip("; "), code="protocol.invalid")
    return refs


# Cutting a graph to one step and the merge of its work, with no agent before it and none after.
#
# With terms, the step finds its inputs in the repository's files instead of in the exits of earlier steps.

_END: Final = "@end:"
_MERGE: Final = "merge"
_TITLE: Final = "Merge what it leaves"
READY: Final = "-ready"
"""The suffix of the check step that runs before STEP: STEP-ready."""


def cut_fault(protocol: Protocol, graph: str, name: str, terms: Terms | None) -> str:
    """Return the reason why a step cannot run alone; empty if it can."""
    step = protocol.graphs[graph].steps[name]
    if name in [handler.step for handler in protocol.graphs[graph].handlers.values()]:
        return "it answers others, who would not be there"
    needed = [str(need) for need in step.needs if need.step and not (need.optional or need.every or need.up)]
    if needed and terms is None:
        return f"it needs what others leave first ({', '.join(needed)})"
    if terms is None and any(protocol.exits[tag].proves == "red" for tag in step.exits):
        return "it leaves tests that fail, which cannot be merged without what makes them pass"
    if _merge_step(protocol.graphs[graph]) is None:
        return "nothing would merge what it leaves"
    return "" if _stuck_question(protocol.graphs[graph], name) else "nobody would be asked where it is stuck"


def cut_to_step(protocol: Protocol, graph: str, name: str, terms: Terms | None = None) -> Protocol:
    """Return the protocol with a graph cut to one step and its merge; raise `TreadleError` if it cannot run alone."""
    before, merge = protocol.graphs[graph], _merge_step(protocol.graphs[graph])
    if (why := cut_fault(protocol, graph, name, terms)) or merge is None:
        message = f"--only {name}: this step cannot be done alone: {why}; run the whole {graph}"
        raise TreadleError(message, code="part.unfit")
    if terms and terms.exit:
        protocol, before = _replace_exit(protocol, before, name, terms.exit)
    good = [tag for tag in before.steps[name].exits if protocol.exits[tag].severity == "INFO"]

    # Effects that directly follow the step stay: they are the orchestrator's own work.
    targets = [to for to in _targets(before.steps[name], good) if to != merge and to in before.steps]
    effects = [to for to in targets if before.steps[to].kind == "effect"]
    steps = {**before.steps, name: _cut_step(before, name, good, effects[0] if effects else merge)}
    for effect in effects:
        routes = dict.fromkeys(before.steps[effect].routes, (Route(to=merge),))
        steps[effect] = msgspec.structs.replace(before.steps[effect], routes=routes)
    steps[merge] = _cut_merge(before, name, merge, good)

    last = effects[-1] if effects else name
    onward = _targets(before.steps[last], before.steps[last].exits if effects else good)
    later = [to for to in onward if to in before.steps and to != merge]
    only = Only(step=name, then=before.steps[later[0]].row or base_of(later[0]) if later else "")
    if only.then:  # what is merged is the work of a step, and not yet all that was to be done
        for it in (merge, *_asks(steps[merge], steps)):
            steps[it] = msgspec.structs.replace(steps[it], row=steps[name].row) if steps[it].row else steps[it]
        steps[merge] = msgspec.structs.replace(steps[merge], title=_TITLE)

    for ask in _asks(steps[name], steps):
        # The question reads the exits that lead to it.
        leading = [key for key, rows in steps[name].routes.items() if any(row.to == ask for row in rows)]
        tags = [tag for tag in dict.fromkeys(map(tag_of, leading)) if not tag.startswith("!")]
        steps[ask] = _cut_question(steps[ask], name, *(Need(step=name, exit=tag, optional=True) for tag in tags))
    for ask in _asks(steps[merge], steps):
        steps[ask] = _cut_question(steps[ask], merge)
    steps |= _readiness_check(before, name, terms.ready) if terms and terms.ready else {}
    start = name + READY if name + READY in steps else name
    changed = msgspec.structs.replace(before, start=start, steps=steps, ends=dict.fromkeys(before.ends, ()), only=only)
    return msgspec.structs.replace(protocol, graphs={**protocol.graphs, graph: changed})


def _merge_step(graph: Graph) -> str | None:
    return next((name for name, step in graph.steps.items() if step.effect == _MERGE), None)


def _targets(step: Step, tags: Collection[str]) -> list[str]:
    """The targets of some of a step's exits."""
    rows = [row for key, rows in step.routes.items() if tag_of(key) in tags for row in rows]
    return list(dict.fromkeys(row.to for row in rows))


def _replace_exit(protocol: Protocol, graph: Graph, name: str, exit_: AloneExit) -> tuple[Protocol, Graph]:
    """The step with another exit in the place of one of its own, and other checks for it."""
    step, old = graph.steps[name], exit_.instead_of
    if old not in step.exits:
        hint = suggest(old, step.exits) or ", ".join(step.exits)
        raise ProtocolError(f"{TERMS_FILE}: {name} has no exit '{old}'; {hint}", code="protocol.invalid")
    like = msgspec.structs.replace(protocol.exits[old], proves="", help=exit_.about)
    gates = {key: refs for key, refs in step.gates.items() if key != old}
    changed = msgspec.structs.replace(
        step,
        exits=tuple(exit_.name if tag == old else tag for tag in step.exits),
        routes={exit_.name if key == old else key: rows for key, rows in step.routes.items()},
        gates={**gates, exit_.name: _parse_checks(exit_.gates)},
    )
    with_exit = msgspec.structs.replace(protocol, exits={**protocol.exits, exit_.name: like})
    return with_exit, msgspec.structs.replace(graph, steps={**graph.steps, name: changed})


def _cut_step(graph: Graph, name: str, good: list[str], then: str) -> Step:
    """The step: after its good exits comes `then`, after others another attempt, or a person."""
    step, halt = graph.steps[name], _stuck_question(graph, name)
    routes: dict[str, Rows] = {}
    for key, rows in step.routes.items():
        # Rows that lead to the work of others lead to a person.
        kept = tuple(row if row.to in (name, halt) or row.to.startswith(_END) else Route(to=halt) for row in rows)
        routes[key] = (Route(to=then),) if tag_of(key) in good else kept
    needs = [need if need.every or need.up else msgspec.structs.replace(need, optional=True) for need in step.needs]
    return msgspec.structs.replace(step, routes=routes, needs=tuple(needs))


def _stuck_question(graph: Graph, name: str) -> str:
    """The question that stops a step, and leads back to it; empty if it has none."""
    asks = _asks(graph.steps[name], graph.steps)
    back = (to for to in asks if any(row.to == name for rows in graph.steps[to].routes.values() for row in rows))
    return next(back, "")


def _cut_merge(graph: Graph, name: str, merge: str, good: list[str]) -> Step:
    """Return the merge step; a refused merge asks a person at once, because no later step could repair the work."""
    step = graph.steps[merge]
    asks = _asks(step, graph.steps)
    routes: dict[str, Rows] = {}
    for key, rows in step.routes.items():
        # Rows that lead to work lead to the question that would come after it.
        kept = [row.to.startswith(_END) or row.to in asks for row in rows]
        routes[key] = tuple(
            row if is_kept else Route(to=row.over or asks[0]) for row, is_kept in zip(rows, kept, strict=True)
        )
    needs = tuple(Need(step=name, exit=tag, optional=len(good) > 1) for tag in good)
    return msgspec.structs.replace(step, needs=needs, routes=routes)


def _asks(step: Step, steps: Mapping[str, Step]) -> list[str]:
    """The questions that a step's rows lead to."""
    names = [row.to for rows in step.routes.values() for row in rows]
    return [name for name in dict.fromkeys(names) if name in steps and steps[name].kind == "ask"]


def _cut_question(step: Step, back: str, *needs: Need) -> Step:
    """Return a question without `skip`: each of its choices ends the work or leads back."""
    routes = {key: rows for key, rows in step.routes.items() if key != "skip"}
    routes = {key: rows if rows[0].to.startswith(_END) else (Route(to=back),) for key, rows in routes.items()}
    choices = {key: words for key, words in step.choices.items() if key in routes}
    all_needs = tuple(dict.fromkeys((*step.needs, *needs)))
    return msgspec.structs.replace(step, routes=routes, choices=choices, needs=all_needs)


def _readiness_check(graph: Graph, name: str, checks: str) -> dict[str, Step]:
    """Return the check step that comes first, and the question to a person about its failure."""
    ready, step, halt = name + READY, graph.steps[name], graph.steps[_stuck_question(graph, name)]
    ask = f"stuck@{ready}"
    trouble = dict.fromkeys([key for key in step.routes if key.startswith("!")], (Route(to=ask),))
    first = Step(
        kind="check",
        title=f"Whether {step.title or name} can begin",
        row=step.row,
        checks=_parse_checks(checks),
        routes={"Passed": (Route(to=name),), "Failed": (Route(to=ask),), **trouble},
    )
    needs = (Need(step=ready, exit="Failed", optional=True), *(need for need in halt.needs if not need.step))
    return {ready: first, ask: msgspec.structs.replace(_cut_question(halt, ready), needs=needs)}


_NONE: Final[TermsTable] = MappingProxyType({})


class MissingFile(msgspec.Struct, frozen=True):
    """A missing file that a step needs to run alone, and the step or part that would write it."""

    paths: tuple[str, ...]
    """As it is called; any of these is enough."""
    by: str
    """The step or part that leaves it; empty if there is none."""


class SelectedPart(msgspec.Struct, frozen=True, kw_only=True):
    """The selected part of a protocol, and the part of the input it works on."""

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
        """The steps that a run of this part can reach."""
        return reach(self.protocol, {self.field: [{}]})

    def narrowed(self, value: Json) -> Json:
        """Return the input with only the selected items, and without waits for the others."""
        if not isinstance(value, dict):
            return value
        others = [step.input_list for step in input_parts(self.protocol).values()]
        left = {**{name: one for name, one in value.items() if name not in others}, self.field: self._items(value)}
        return drop_outside_waits(self.protocol, left)

    def missing(self, value: Json, is_there: Callable[[str], bool]) -> Iterator[MissingFile]:
        """The files that the step needs for the items of an input, and that are not there."""
        items = self._items(value) if isinstance(value, dict) else []
        for item in (one for one in items if isinstance(one, dict)):
            for either in self.terms.files:
                paths = tuple(fill_placeholders(path, item) for path in either)
                if not any(map(is_there, paths)):
                    yield MissingFile(paths, self._author(either[0], item))

    def _author(self, path: str, item: Mapping[str, Json]) -> str:
        """Return the name of the step or part that writes a file: another step for the same item, or another part."""
        own = {name: step for name, step in self.protocol.graphs[self.graph].steps.items() if name != self.step}
        key = self.item or str(item.get("id", ""))
        for name, step in own.items():
            if _writes(step, path, item):
                return f"{key}:{name}"
        for name, part in input_parts(self.protocol).items():
            if any(_writes(step, path, item) for step in self.protocol.graphs[part.graph].steps.values()):
                return name
        return ""

    def _items(self, value: dict[str, Json]) -> list[Json]:
        given = value.get(self.field)
        listed = given if isinstance(given, list) else []
        found = [one for one in listed if not self.item or (isinstance(one, dict) and self.item in one.values())]
        if not found:
            what = f"'{self.item}' among the {self.field}" if self.item else f"{self.field}"
            raise TreadleError(f"there is nothing to do alone: the input has no {what}", code="spec.incomplete")
        return found


def input_parts(protocol: Protocol) -> dict[str, Step]:
    """The steps of the root that work through a list of the input."""
    steps = protocol.graphs[protocol.root].steps
    return {name: step for name, step in steps.items() if step.input_list}


def select_part(protocol: Protocol, word: str, table: TermsTable = _NONE) -> SelectedPart:
    """Select `PART` or `STEP`, or either for one item (`ITEM:STEP`); raise `TreadleError` if it cannot run alone."""
    item, _, name = word.rpartition(":")
    parts = input_parts(protocol)
    if name in parts:
        return SelectedPart(protocol=protocol, field=parts[name].input_list, item=item)
    for part in parts.values():
        step = protocol.graphs[part.graph].steps.get(name)
        if step is not None and step.kind == "agent":
            terms = table.get(name)
            return SelectedPart(
                protocol=cut_to_step(protocol, part.graph, name, terms),
                field=part.input_list,
                item=item,
                graph=part.graph,
                step=name,
                terms=terms or Terms(),
            )
    known = selectable_names(protocol, table)
    hint = suggest(name, known) or (f"choose from {', '.join(known)}" if known else "it has no parts")
    raise TreadleError(
        f"--only {word}: {protocol.name} has no part or step '{name}' to be done alone; {hint}", code="part.unknown"
    )


def selectable_names(protocol: Protocol, table: TermsTable = _NONE) -> list[str]:
    """List the parts and the steps that can run alone; a part with a single agent is listed by its own name only."""
    parts = input_parts(protocol)
    names = list(parts)
    for graph in (part.graph for part in parts.values()):
        agents = [name for name, step in protocol.graphs[graph].steps.items() if step.kind == "agent"]
        if len(agents) > 1:
            names += [name for name in agents if not cut_fault(protocol, graph, name, table.get(name))]
    return list(dict.fromkeys(names))


def _writes(step: Step, path: str, item: Mapping[str, Json]) -> bool:
    written = [fill_placeholders(one, item) for one in step.writes or ()]
    return step.kind == "agent" and fill_placeholders(path, item) in written
