"""What is wrong with a work order or a hand-over that somebody else has written: in all fields, with what would do."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, get_args

import msgspec

from treadle.prompts.foreign import inline
from treadle.protocol.answers.status_words import meant
from treadle.protocol.findings import suggest
from treadle.protocol.model import Protocol
from treadle.protocol.rules.table import REASONS
from treadle.views.state import DONE, Status, WorkOrder
from treadle.views.stories import story_graph

_SHOWN: Final = 60
_WORDS: Final = ("story", "human_note", "dispatched_at", "completed_at", "reason")
_LISTS: Final = ("failing_tests", "files_changed", "blocked_by")
_NUMBERS: Final = ("attempt", "max_attempts", "timeout_min")
_FENCE: Final = "---"


def faults_of(path: str, data: bytes, protocol: Protocol) -> list[str]:
    """What is wrong with a file; nothing if it is as the published protocol has it."""
    if path.endswith(".json"):
        return list(_order_faults(data, protocol))
    return list(_handoff_faults(data))


def _order_faults(data: bytes, protocol: Protocol) -> Iterator[str]:
    try:
        found = msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        yield f"it is no JSON object: {inline(str(error), 2 * _SHOWN)}"
        return
    known = WorkOrder.__struct_fields__
    yield from (f"{name} is missing" for name in known if name not in found)
    for name in found:
        if name not in known:
            near = suggest(name[:_SHOWN], known)
            yield f"{_shown(name)} is no field of it{f'; {near}' if near else ''}"
    graph = protocol.graphs[story_graph(protocol)]
    steps = [*dict.fromkeys(it.row for it in graph.steps.values() if it.row and it.row != DONE), DONE]
    yield from _word(found, "step", steps)
    yield from _word(found, "status", get_args(Status))
    yield from _word(found, "reason", [*REASONS, None])
    yield from _kinds(found)


def _word(found: Mapping[str, Any], name: str, known: Any) -> Iterator[str]:
    value = found.get(name)
    if name not in found or value in known:
        return
    names = [one for one in known if isinstance(one, str)]
    near = meant(value, names) if isinstance(value, str) else ""
    yield f"{name} is {_shown(value)}, and not one of {', '.join(names)}{f'; {near}' if near else ''}"


def _kinds(found: Mapping[str, Any]) -> Iterator[str]:
    for name, value in found.items():
        if name in _WORDS and not isinstance(value, str | None):
            yield f"{name} is {_shown(value)}, and not a text"
        if name in _LISTS and not (value is None or _are_texts(value)):
            yield f"{name} is {_shown(value)}, and not a list of texts"
        if name in _NUMBERS and (not isinstance(value, int) or isinstance(value, bool)):
            yield f"{name} is {_shown(value)}, and not a whole number"


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _handoff_faults(data: bytes) -> Iterator[str]:
    lines = data.decode(errors="replace").splitlines()
    if not lines or lines[0].rstrip() != _FENCE:
        return
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE), None)
    if end is None:
        yield f"its front matter is never closed: write `{_FENCE}` below it"
        return
    for at, line in enumerate(lines[1:end], 2):
        if "\t" in line:
            yield f"line {at} of its front matter has a tab; YAML is indented by spaces"


def _shown(value: object) -> str:
    return inline(msgspec.json.encode(value).decode(), _SHOWN)
