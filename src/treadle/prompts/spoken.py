"""What people have said among the variables of a prompt: marked, so that it is not taken for mere data."""

from collections.abc import Mapping
from typing import Any, Final

from treadle.prompts.foreign import Word
from treadle.prompts.variables import SILENT
from treadle.protocol.checks.shapes import variable
from treadle.protocol.items import Json
from treadle.protocol.model import Protocol, Step

_NOTE: Final = "human_note"


def spoken(protocol: Protocol, step: Step, variables: Mapping[str, Json]) -> dict[str, Any]:
    """The variables, in which a person's note and answers to questions that only people are asked are `Word`s."""
    found: dict[str, Any] = {name: _marked(it) if name == _NOTE else it for name, it in variables.items()}
    node = variables.get("node")
    graph = protocol.graphs.get(str(node.get("graph"))) if isinstance(node, Mapping) else None
    for need in step.needs if graph else ():
        source = graph.steps.get(need.step) if graph and not need.up else None
        slots = found.get(variable(need.step)) if source and source.asks == "human" else None
        if isinstance(slots, dict) and need.exit in slots:
            found[variable(need.step)] = {**slots, need.exit: _marked(slots[need.exit])}
    return found


def _marked(said: Json) -> Any:
    if isinstance(said, list):
        return [_marked(one) for one in said]
    return Word(said) if isinstance(said, str) and said and said != SILENT else said
