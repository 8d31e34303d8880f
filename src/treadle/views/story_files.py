"""The files of a run's stories: where each lies, and what it says."""

import re
from collections.abc import Mapping
from typing import Final

from treadle.protocol.artifact_place import place_of
from treadle.protocol.items import Json
from treadle.protocol.model import Artifact, Protocol
from treadle.views.bank.course import Course
from treadle.views.handoff import NOTHING, handoff, last_session
from treadle.views.history import history
from treadle.views.payload import Get
from treadle.views.state import blank, state_of, written
from treadle.views.stories import Story, deeds_of, project_of, stories

STATE, HANDOFF, HISTORY = "state", "handoff", "history"
VIEWS: Final = (STATE, HANDOFF, HISTORY)
_PLACEHOLDER: Final = re.compile(r"\{[^{}]*\}")


def is_view(artifact: Artifact) -> bool:
    """Whether an artifact is a file of stories that is made from the run's log."""
    return artifact.view in VIEWS


def has_story_files(protocol: Protocol) -> bool:
    """Whether a protocol has such files."""
    return any(map(is_view, protocol.artifacts.values()))


def first_files(protocol: Protocol, project: str) -> dict[str, str]:
    """Path → text of those files that a project has before its first run."""
    orders = {it.path: written(blank(protocol, project)) for it in _shared(protocol, STATE)}
    return {**orders, **{it.path: NOTHING for it in _shared(protocol, HANDOFF)}}


def story_globs(protocol: Protocol) -> list[str]:
    """Where such files may lie, whatever the stories are called."""
    return [_PLACEHOLDER.sub("*", artifact.path) for artifact in protocol.artifacts.values() if is_view(artifact)]


def order_globs(protocol: Protocol) -> list[str]:
    """The same of work orders."""
    orders = [artifact for artifact in protocol.artifacts.values() if artifact.view == STATE]
    return [_PLACEHOLDER.sub("*", artifact.path) for artifact in orders]


def story_files(course: Course, get: Get) -> dict[str, str]:
    """Path → text of all files of a run; none of a file that has nothing to say yet."""
    protocol = course.protocol
    if protocol is None or not has_story_files(protocol):
        return {}
    listed = stories(protocol, course.state, get)
    found: dict[str, str] = {}
    for artifact in filter(is_view, protocol.artifacts.values()):
        found |= _history(artifact, course, get) if artifact.view == HISTORY else _files(artifact, course, listed, get)
    return {path: text for path, text in found.items() if text}


def files_of(course: Course, inst: str, get: Get) -> dict[str, str]:
    """The same for whoever works in an instance: where there is one file for all stories, it is that of its own.

    One that has nothing to say yet is empty: what others have left in its place may be about another story.
    """
    protocol = course.protocol
    if protocol is None or not has_story_files(protocol):
        return {}
    listed = stories(protocol, course.state, get)
    own = [it for it in listed if it.inst and (inst == it.inst.id or inst.startswith(f"{it.inst.id}/"))]
    shared = _shared(protocol, STATE, HANDOFF)
    return {it.path: _text(it, course, own[0], get) if own else _none(it, course, get) for it in shared}


def _files(artifact: Artifact, course: Course, listed: list[Story], get: Get) -> dict[str, str]:
    if not _is_each(artifact):
        story = _foremost(artifact, course, listed)
        return {artifact.path: _text(artifact, course, story, get) if story else _none(artifact, course, get)}
    if artifact.view == STATE and len(listed) < 2:  # one story has one work order
        return {}
    places = {it.id: place_of(artifact, _named(it)) for it in listed}
    return {places[it.id]: _text(artifact, course, it, get) for it in listed if places[it.id]}


def _text(artifact: Artifact, course: Course, story: Story, get: Get) -> str:
    if artifact.view == STATE and course.protocol:
        return written(state_of(course.protocol, course, story, get))
    return handoff(course, story, get)


def _none(artifact: Artifact, course: Course, get: Get) -> str:
    """A run without stories has a work order that nobody has begun, and no hand-over."""
    if artifact.view != STATE or course.protocol is None:
        return ""
    return written(blank(course.protocol, project_of(course.state, get)))


def _history(artifact: Artifact, course: Course, get: Get) -> dict[str, str]:
    return {artifact.path: history(course, get)}


def _foremost(artifact: Artifact, course: Course, listed: list[Story]) -> Story | None:
    """The story that somebody was sent out for last (of hand-overs: whose session ended last), else the first."""
    deeds = {it.id: deeds_of(course, it) for it in listed}
    if artifact.view == HANDOFF:
        moved = {id_: session.ended for id_, its in deeds.items() if (session := last_session(its))}
    else:
        moved = {id_: its[-1].began for id_, its in deeds.items() if its}
    ready = [it for it in listed if not it.waits_for] or listed
    return max(listed, key=lambda it: moved.get(it.id, 0)) if moved else next(iter(ready), None)


def _shared(protocol: Protocol, *views: str) -> list[Artifact]:
    """Those that there is one of for all stories."""
    return [it for it in protocol.artifacts.values() if it.view in views and not _is_each(it)]


def _is_each(artifact: Artifact) -> bool:
    """Whether each story has a file of its own."""
    return "{" in artifact.path


def _named(story: Story) -> Mapping[str, Json]:
    return {"id": story.id, "story": story.id}
