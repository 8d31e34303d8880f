"""The files that show a run: those of its stories, and the artifacts that the orchestrator writes."""

import json
import re
from collections.abc import Collection
from typing import Final

from treadle.kernel.state import Instance
from treadle.protocol.artifacts import place_of
from treadle.protocol.items import Json
from treadle.protocol.model import Artifact, Graph, Protocol, row, tag_of
from treadle.views.chronicle import Chronicle
from treadle.views.evidence_records import Get
from treadle.views.handoff import NOTHING, handed_over, handoff, history
from treadle.views.stories import RunStories, RunStory
from treadle.views.work_order import blank_order, encode_order, work_order_of

# The blockers of a node, with their whole payloads; routing sees only the envelopes.

_BLOCKERS: Final = "blockers"


def blockers(protocol: Protocol, inst: Instance, get: Get) -> str:
    """Return the blockers of an instance as JSON, the oldest first; empty if there are none.

    An exit blocks until a step that reads it has decided something, or until its instance ends.
    """
    entries: list[Json] = []
    graph = protocol.graphs[inst.graph]
    for name, slot in sorted(inst.slots.items(), key=lambda it: (it[1].seq, it[0])):
        step, _, exit_ = name.rpartition(".")
        declared = protocol.exits.get(exit_)
        if inst.outcome or declared is None or declared.severity != "BLOCKER":
            continue
        readers = [it for it, one in graph.steps.items() if any(n.slot == name and not n.up for n in one.needs)]
        if any(_has_decided(graph, inst, reader, slot.seq) for reader in readers):
            continue
        left = inst.last.get(step, "")
        variant = left.partition(".")[2] if tag_of(left) == exit_ else ""
        envelope: dict[str, Json] = {"type": exit_, "variant": variant, "severity": declared.severity}
        entry: dict[str, Json] = {
            "step": step,
            "envelope": {**envelope, "route_hint": declared.route_hint},
            "payload_ref": slot.ref,
            "payload": get(slot.ref) if slot.ref else None,
        }
        entries.append(entry)
    return json.dumps({"node_id": inst.id, "blockers": entries}, indent=2, ensure_ascii=False) if entries else ""


def _has_decided(graph: Graph, inst: Instance, step: str, since: int) -> bool:
    """Whether a step was left after an event, by a route other than a question."""
    rows = row(graph, step, inst.last[step]) if step in inst.last else None
    goals = [graph.steps.get(route.to) for route in rows or ()]
    return inst.left.get(step, -1) > since and not any(goal and goal.kind == "ask" for goal in goals)


def has_views(protocol: Protocol) -> bool:
    """Whether a protocol has files that show the current state of an instance."""
    return any(artifact.view == _BLOCKERS for artifact in protocol.artifacts.values())


def artifact_files(protocol: Protocol, inst: Instance, get: Get) -> dict[str, str]:
    """Return path → text of an instance's files; an empty text means that the file must not exist."""
    shown = [artifact for artifact in protocol.artifacts.values() if artifact.view == _BLOCKERS]
    given = get(inst.input.ref) if shown and inst.input.ref else None
    places = [place_of(artifact, given if isinstance(given, dict) else {}) for artifact in shown]
    return {place: blockers(protocol, inst, get) for place in places if place}


# The files of stories, made from the run's log.

STATE, HANDOFF, HISTORY = "state", "handoff", "history"
STORY_VIEWS: Final = (STATE, HANDOFF, HISTORY)
_PLACEHOLDER: Final = re.compile(r"\{[^{}]*\}")


def has_story_files(protocol: Protocol) -> bool:
    """Whether a protocol has such files."""
    return any(artifact.view in STORY_VIEWS for artifact in protocol.artifacts.values())


def first_files(protocol: Protocol, project: str) -> dict[str, str]:
    """Return path → text of the files that a project has before its first run."""
    orders = {it.path: encode_order(blank_order(protocol, project)) for it in _shared(protocol, STATE)}
    return {**orders, **{it.path: NOTHING for it in _shared(protocol, HANDOFF)}}


def story_globs(protocol: Protocol, views: Collection[str] = STORY_VIEWS) -> list[str]:
    """Return the globs of such files, with `*` for the names of stories."""
    return [_PLACEHOLDER.sub("*", artifact.path) for artifact in protocol.artifacts.values() if artifact.view in views]


def story_files(log: Chronicle, get: Get) -> dict[str, str]:
    """Return path → text of all files of a run, without files that are still empty."""
    protocol = log.protocol
    if protocol is None or not has_story_files(protocol):
        return {}
    book, found = RunStories(protocol, log, get), dict[str, str]()
    for artifact in protocol.artifacts.values():
        if artifact.view not in STORY_VIEWS:
            continue
        if artifact.view == HISTORY:
            found[artifact.path] = history(book)
        elif "{" not in artifact.path:
            found[artifact.path] = _text(artifact, book, _foremost(artifact, book))
        elif artifact.view != STATE or len(book.listed) > 1:  # one story has one work order
            places = {place_of(artifact, {"id": it.id, "story": it.id}): it for it in book.listed}
            found |= {place: _text(artifact, book, it) for place, it in places.items() if place}
    return {path: text for path, text in found.items() if text}


def files_of(log: Chronicle, inst: str, get: Get) -> dict[str, str]:
    """Return path → text of the shared files as seen from an instance: they show its own story.

    A file without content is empty, because the one in its place may be about another story.
    """
    protocol = log.protocol
    if protocol is None or not has_story_files(protocol):
        return {}
    book = RunStories(protocol, log, get)
    own = [it for it in book.listed if it.inst and (inst == it.inst.id or inst.startswith(f"{it.inst.id}/"))]
    return {it.path: _text(it, book, own[0] if own else None) for it in _shared(protocol, STATE, HANDOFF)}


def _text(artifact: Artifact, book: RunStories, story: RunStory | None) -> str:
    """Return the text of a file; without a story, a blank work order and no hand-over."""
    if artifact.view == STATE:
        return encode_order(work_order_of(book, story) if story else blank_order(book.protocol, book.project))
    return handoff(book, story) if story else ""


def _foremost(artifact: Artifact, book: RunStories) -> RunStory | None:
    """Return the story with the latest dispatch (for hand-overs: the latest ended session), else the first ready
    one.
    """
    deeds = {it.id: book.deeds(it) for it in book.listed}
    if artifact.view == HANDOFF:
        moved = {id_: session.ended for id_, its in deeds.items() if (session := handed_over(its))}
    else:
        moved = {id_: its[-1].began for id_, its in deeds.items() if its}
    ready = [it for it in book.listed if not it.waits_for] or book.listed
    return max(book.listed, key=lambda it: moved.get(it.id, 0)) if moved else next(iter(ready), None)


def _shared(protocol: Protocol, *views: str) -> list[Artifact]:
    """Return the artifacts with one file for all stories."""
    return [it for it in protocol.artifacts.values() if it.view in views and "{" not in it.path]
