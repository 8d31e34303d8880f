"""Artifacts that the orchestrator writes: files that show a run as it stands, one for each instance they fit."""

from collections.abc import Callable
from typing import Final

from treadle.kernel.state import Instance, State
from treadle.protocol.artifact_place import place_of
from treadle.protocol.model import Protocol
from treadle.views.blockers import blockers
from treadle.views.payload import Get

View = Callable[[Protocol, State, Instance, Get], str]
"""The text of a file; empty if there is nothing to show."""

VIEWS: Final[dict[str, View]] = {"blockers": blockers}


def has_views(protocol: Protocol) -> bool:
    """Whether a protocol has artifacts that are views."""
    return any(artifact.view in VIEWS for artifact in protocol.artifacts.values())


def artifact_files(protocol: Protocol, state: State, inst: Instance, get: Get) -> dict[str, str]:
    """Path → text of the files that belong to an instance; an empty text says that there shall be no such file."""
    shown = [artifact for artifact in protocol.artifacts.values() if artifact.view in VIEWS]
    given = get(inst.input.ref) if shown and inst.input.ref else None
    places = [(place_of(artifact, given if isinstance(given, dict) else {}), artifact.view) for artifact in shown]
    return {place: VIEWS[view](protocol, state, inst, get) for place, view in places if place}
