"""A graph of which one step is left, and the merge of its work: nobody comes before it, and nobody after.

Where that is known on terms, what others would have left for the step is looked for in what is there instead.
"""

from collections.abc import Collection, Iterator
from typing import Final

import msgspec

from treadle.errors import ProtocolError, TreadleError
from treadle.protocol.catalogue import CHECKS
from treadle.protocol.findings import suggest
from treadle.protocol.model import CheckRef, Graph, Need, Only, Protocol, Route, Rows, Step, base_of, tag_of
from treadle.protocol.terms import FILE, Exit, Terms, checks

_END: Final = "@end:"
_MERGE: Final = "merge"
_TITLE: Final = "Merge what it leaves"
READY: Final = "-ready"
"""What is looked at before STEP begins is the step STEP-ready."""


def against(protocol: Protocol, graph: str, name: str, terms: Terms | None) -> str:
    """What speaks against doing a step alone; empty if nothing does."""
    step = protocol.graphs[graph].steps[name]
    if name in [handler.step for handler in protocol.graphs[graph].handlers.values()]:
        return "it answers others, who would not be there"
    needed = [str(need) for need in step.needs if need.step and not (need.optional or need.every or need.up)]
    if needed and terms is None:
        return f"it needs what others leave first ({', '.join(needed)})"
    if terms is None and any(protocol.exits[tag].proves == "red" for tag in step.exits):
        return "it leaves tests that fail, which cannot be merged without what makes them pass"
    if _merge_of(protocol.graphs[graph]) is None:
        return "nothing would merge what it leaves"
    return "" if _halt(protocol.graphs[graph], name) else "nobody would be asked where it is stuck"


def cut(protocol: Protocol, graph: str, name: str, terms: Terms | None = None) -> Protocol:
    """The protocol in which a graph has nothing but one step to do; a `TreadleError` says why that cannot be."""
    before, merge = protocol.graphs[graph], _merge_of(protocol.graphs[graph])
    if (why := against(protocol, graph, name, terms)) or merge is None:
        raise TreadleError(
            f"--only {name}: this step cannot be done alone: {why}; run the whole {graph}", code="part.unfit"
        )
    if terms and terms.exit:
        protocol, before = _renamed(protocol, before, name, terms.exit)
    good = [tag for tag in before.steps[name].exits if protocol.exits[tag].severity == "INFO"]
    effects = list(_effects(before, name, good, merge))
    last = effects[-1] if effects else name
    only = Only(step=name, then=_then(before, last, before.steps[last].exits if effects else good, merge))
    steps = {**before.steps, name: _alone(before, name, good, effects[0] if effects else merge)}
    steps |= {effect: _leading_to(before.steps[effect], merge) for effect in effects}
    steps |= {merge: _merged(before, name, merge, good)}
    if only.then:  # what is merged is the work of a step, and not yet all that was to be done
        steps |= {it: _of_row(steps[it], steps[name]) for it in (merge, *_asks(steps[merge], steps))}
        steps[merge] = msgspec.structs.replace(steps[merge], title=_TITLE)
    steps |= {ask: _asking(steps[ask], name, told=_told(steps[name], name, ask)) for ask in _asks(steps[name], steps)}
    steps |= {ask: _asking(steps[ask], merge) for ask in _asks(steps[merge], steps)}
    steps |= _ready(before, name, checks(terms.ready)) if terms and terms.ready else {}
    start = name + READY if name + READY in steps else name
    ends = {end: () if need else need for end, need in before.ends.items()}
    changed = msgspec.structs.replace(before, start=start, steps=steps, ends=ends, only=only)
    return msgspec.structs.replace(protocol, graphs={**protocol.graphs, graph: changed})


def _merge_of(graph: Graph) -> str | None:
    return next((name for name, step in graph.steps.items() if step.effect == _MERGE), None)


def _renamed(protocol: Protocol, graph: Graph, name: str, exit_: Exit) -> tuple[Protocol, Graph]:
    """The step with another exit in the place of one of its own, and other checks for it."""
    step, old = graph.steps[name], exit_.instead_of
    if old not in step.exits:
        raise ProtocolError(
            f"{FILE}: {name} has no exit '{old}'; {suggest(old, step.exits) or ', '.join(step.exits)}",
            code="protocol.invalid",
        )
    like = msgspec.structs.replace(protocol.exits[old], proves="", help=exit_.about)
    changed = msgspec.structs.replace(
        step,
        exits=tuple(exit_.name if tag == old else tag for tag in step.exits),
        routes={exit_.name if key == old else key: rows for key, rows in step.routes.items()},
        gates={
            **{key: refs for key, refs in step.gates.items() if key != old},
            exit_.name: _known(checks(exit_.gates)),
        },
    )
    with_exit = msgspec.structs.replace(protocol, exits={**protocol.exits, exit_.name: like})
    return with_exit, msgspec.structs.replace(graph, steps={**graph.steps, name: changed})


def _known(refs: tuple[CheckRef, ...]) -> tuple[CheckRef, ...]:
    for ref in refs:
        if ref.name not in CHECKS:
            raise ProtocolError(
                f"{FILE}: there is no check '{ref.name}'; {suggest(ref.name, CHECKS)}".rstrip("; "),
                code="protocol.invalid",
            )
    return refs


def _effects(graph: Graph, name: str, good: list[str], merge: str) -> Iterator[str]:
    """The orchestrator's own work that follows the step before anybody else has anything to do."""
    rows = [row for key, found in graph.steps[name].routes.items() if tag_of(key) in good for row in found]
    for to in dict.fromkeys(row.to for row in rows):
        if to != merge and to in graph.steps and graph.steps[to].kind == "effect":
            yield to


def _then(graph: Graph, last: str, good: Collection[str], merge: str) -> str:
    """What would come next after the good exits of what is done last; empty if that is the merge."""
    rows = [row for key, found in graph.steps[last].routes.items() if tag_of(key) in good for row in found]
    onward = [row.to for row in rows if row.to in graph.steps and row.to != merge]
    return graph.steps[onward[0]].row or base_of(onward[0]) if onward else ""


def _of_row(step: Step, worker: Step) -> Step:
    return msgspec.structs.replace(step, row=worker.row) if step.row else step


def _alone(graph: Graph, name: str, good: list[str], then: str) -> Step:
    """The step: after its good exits comes `then`, after others another attempt, or a person."""
    step = graph.steps[name]
    needs = tuple(_may_be_missing(need) for need in step.needs)
    onward = (Route(to=then),)
    routes = {key: onward if tag_of(key) in good else _kept(rows, graph, name) for key, rows in step.routes.items()}
    return msgspec.structs.replace(step, routes=routes, needs=needs)


def _may_be_missing(need: Need) -> Need:
    return need if need.every or need.up else msgspec.structs.replace(need, optional=True)


def _kept(rows: Rows, graph: Graph, name: str) -> Rows:
    """Rows that lead to the work of others lead to a person."""
    halt = _halt(graph, name)
    return tuple(row if row.to in (name, halt) or row.to.startswith(_END) else Route(to=halt) for row in rows)


def _halt(graph: Graph, name: str) -> str:
    """The question that stops a step, and leads back to it; empty if it has none."""
    named = [row.to for rows in graph.steps[name].routes.values() for row in rows if _is_ask(graph, row.to)]
    return next((to for to in named if _leads_to(graph.steps[to], name)), "")


def _leads_to(ask: Step, name: str) -> bool:
    return any(row.to == name for rows in ask.routes.values() for row in rows)


def _is_ask(graph: Graph, name: str) -> bool:
    return name in graph.steps and graph.steps[name].kind == "ask"


def _leading_to(step: Step, then: str) -> Step:
    return msgspec.structs.replace(step, routes=dict.fromkeys(step.routes, (Route(to=then),)))


def _merged(graph: Graph, name: str, merge: str, good: list[str]) -> Step:
    """The merge; what is refused there is a question at once, for nobody follows who could repair it."""
    step = graph.steps[merge]
    needs = tuple(Need(step=name, exit=tag, optional=len(good) > 1) for tag in good)
    routes = {key: _asked(rows, graph, step) for key, rows in step.routes.items()}
    return msgspec.structs.replace(step, needs=needs, routes=routes)


def _asked(rows: Rows, graph: Graph, step: Step) -> Rows:
    """Rows that lead to work lead to the question that would come after it."""
    halts = [row.to for rows in step.routes.values() for row in rows if _is_ask(graph, row.to)]
    found = []
    for row in rows:
        is_kept = row.to.startswith(_END) or _is_ask(graph, row.to)
        found.append(row if is_kept else Route(to=row.over or halts[0]))
    return tuple(found)


def _asks(step: Step, steps: dict[str, Step]) -> list[str]:
    names = [row.to for rows in step.routes.values() for row in rows]
    return [name for name in dict.fromkeys(names) if name in steps and steps[name].kind == "ask"]


def _asking(step: Step, back: str, *, told: tuple[Need, ...] = ()) -> Step:
    """A question that leads back, or ends the work; its other choices lead to what is not done."""
    routes = {key: rows for key, rows in step.routes.items() if key != "skip"}
    routes = {key: rows if rows[0].to.startswith(_END) else (Route(to=back),) for key, rows in routes.items()}
    choices = {key: words for key, words in step.choices.items() if key in routes}
    needs = tuple(dict.fromkeys((*step.needs, *told)))
    return msgspec.structs.replace(step, routes=routes, choices=choices, needs=needs)


def _told(step: Step, name: str, ask: str) -> tuple[Need, ...]:
    """What a question takes up of the exits that lead to it."""
    tags = [tag_of(key) for key, rows in step.routes.items() if any(row.to == ask for row in rows)]
    return tuple(Need(step=name, exit=tag, optional=True) for tag in dict.fromkeys(tags) if not tag.startswith("!"))


def _ready(graph: Graph, name: str, refs: tuple[CheckRef, ...]) -> dict[str, Step]:
    """What is looked at first; where it is not as it must be, a person is told, and may mend it."""
    ready, step, halt = name + READY, graph.steps[name], graph.steps[_halt(graph, name)]
    ask = f"stuck@{ready}"
    trouble = dict.fromkeys([key for key in step.routes if key.startswith("!")], (Route(to=ask),))
    first = Step(
        kind="check",
        title=f"Whether {step.title or name} can begin",
        row=step.row,
        checks=_known(refs),
        routes={"Passed": (Route(to=name),), "Failed": (Route(to=ask),), **trouble},
    )
    needs = (Need(step=ready, exit="Failed", optional=True), *(need for need in halt.needs if not need.step))
    return {ready: first, ask: msgspec.structs.replace(_asking(halt, ready), needs=needs)}
