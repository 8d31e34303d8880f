"""The stories of a run: what it was given, and the instance that works on each."""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from treadle.kernel.lifecycle import ROOT
from treadle.kernel.state import Instance, State
from treadle.protocol.items import Json
from treadle.protocol.model import Protocol
from treadle.views.bank.course import Course
from treadle.views.chronicle import Deed
from treadle.views.evidence_records import payload, text, texts
from treadle.views.payload import Get
from treadle.views.tree import step_alone

_GIVEN: Final = "in."


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """A story, whether it has begun or not."""

    id: str
    inst: Instance | None = None
    """Of several that have worked on it, the latest; None: it has not begun."""
    given: Mapping[str, Json] = {}
    waits_for: tuple[str, ...] = ()
    """Stories that must be done first, and are not."""
    is_done: bool = False
    step_done: str = ""
    """The one step that was to be done, where it is and others are left to do."""
    then: str = ""
    """The next of these."""


def story_graph(protocol: Protocol) -> str:
    """The graph that a step rules table was compiled into; empty if there is none."""
    return next((name for name, graph in protocol.graphs.items() if any(it.row for it in graph.steps.values())), "")


def stories(protocol: Protocol, state: State, get: Get) -> list[Story]:
    """All stories of a run, in the order in which they were handed in."""
    if ROOT not in state.insts:
        return []
    given = {id_: (it, after) for id_, it, after in _handed_in(protocol, state, get)}
    insts = _instances(protocol, state)
    listed = {id_: given.get(id_, ({}, "")) for id_ in [*given, *(id_ for id_ in insts if id_ not in given)]}
    good = {id_ for id_ in listed if id_ in insts and _is_done(protocol, state, insts[id_])}
    parts = {id_: part for id_ in good if (part := step_alone(protocol, state, insts[id_]))}
    return [
        Story(
            id=id_,
            inst=insts.get(id_),
            given=it,
            waits_for=tuple(one for one in texts(it.get(after)) if one not in good),
            is_done=id_ in good and id_ not in parts,
            step_done=parts[id_].step if id_ in parts else "",
            then=parts[id_].then if id_ in parts else "",
        )
        for id_, (it, after) in listed.items()
    ]


def deeds_of(course: Course, story: Story) -> list[Deed]:
    """What was done for a story by the instance that works on it now, and by its team; the earliest first."""
    return course.below(story.inst.id) if story.inst else []


def project_of(state: State, get: Get) -> str:
    """What the project is called in what was handed in; else as the run."""
    root = state.insts.get(ROOT)
    return text(payload(get, root.input.ref).get("project")) or state.run if root else state.run


def _handed_in(protocol: Protocol, state: State, get: Get) -> Iterator[tuple[str, Mapping[str, Json], str]]:
    """Id, what was said about it, and the field that names what it waits for."""
    graph, root = story_graph(protocol), state.insts[ROOT]
    said = payload(get, root.input.ref)
    kind = protocol.types.get(protocol.graphs[graph].input[1]) if graph else None
    for step in protocol.graphs[root.graph].steps.values():
        listed = said.get(step.over.removeprefix(_GIVEN)) if step.graph == graph and step.kind == "map" else None
        for one in listed if isinstance(listed, list) else ():
            if isinstance(one, dict) and (id_ := text(one.get(kind.key if kind else "id"))):
                yield id_, one, step.after


def _instances(protocol: Protocol, state: State) -> dict[str, Instance]:
    graph = story_graph(protocol)
    found = sorted((it for it in state.insts.values() if it.graph == graph), key=lambda it: it.n)
    return {it.key: it for it in found}


def _is_done(protocol: Protocol, state: State, inst: Instance) -> bool:
    parent = state.insts.get(inst.parent)
    good = protocol.graphs[parent.graph].ok.get(inst.group, ()) if parent else ("Done",)
    return inst.outcome in good
