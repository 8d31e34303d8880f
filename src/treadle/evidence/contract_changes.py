"""What differs between two contracts (OpenAPI, AsyncAPI), held against the delta of a design that names what may."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from treadle.evidence.schemas.api_contracts import METHODS

_ENTRIES: Final = ("paths", "webhooks", "channels", "operations")
_FREE: Final = frozenset({"openapi", "asyncapi", "swagger", "info", "tags", *_ENTRIES, "components"})
"""Parts of a contract that are looked into, or whose change is nobody's business."""
_METHOD: Final = "|".join(sorted(METHODS)).upper()
_REFERENCE: Final = re.compile(r"'\$ref': '#/components/([^'/]+)/([^'/]+)'")


def unnamed(before: dict[str, Any], after: dict[str, Any], delta: str) -> list[str]:
    """What differs between two contracts and is not in the delta; parts that a named one refers to are its own."""
    entries = [(part, key, old, new) for part in _ENTRIES for key, old, new in _both(before, after, part)]
    named = [one for _, key, old, new in entries if _mentions(delta, key) for one in (old, new)]
    changed = [one for one in entries if one[2] != one[3]]
    missing = [
        f"{part} {key}{more}" for part, key, old, new in changed for more in _beyond(delta, key, old, new, named)
    ]
    own = _reached([before, after], named)
    missing += [
        f"components.{kind}.{key}"
        for kind in _kinds(before, after)
        for key, old, new in _both(_mapping(before.get("components")), _mapping(after.get("components")), kind)
        if old != new and not _mentions(delta, key) and (kind, key) not in own
    ]
    others = dict.fromkeys(key for key in (*before, *after) if key not in _FREE and before.get(key) != after.get(key))
    return [*missing, *(key for key in others if not _mentions(delta, key))]


def _beyond(delta: str, key: str, old: Any, new: Any, named: list[Any]) -> Iterator[str]:
    """What of a changed entry the delta does not name: all of it, or some of its methods."""
    mentions = _mentions(delta, key)
    if not mentions:
        yield from () if _refers(new if new is not None else old, named) else ("",)
    elif all(mentions):  # each time with a method, so others are not meant
        allowed = {method for methods in mentions for method in methods}
        for method, was, is_ in _both({"": old}, {"": new}, ""):
            if was != is_ and method in METHODS - allowed:
                yield f" {method}"


def _mentions(delta: str, key: str) -> list[set[str]]:
    """Where the delta names a path or a part, in full, not as the beginning of a longer one: with which methods."""
    methods = rf"(?P<methods>(?:\b(?:{_METHOD})\b[`\s,/|]*(?:(?:and|or)\s+)?)*)"
    found = re.finditer(rf"{methods}(?<![\w/}}]){re.escape(key)}(?![\w/{{-])", delta)
    return [{one.lower() for one in re.findall(_METHOD, match["methods"])} for match in found]


def _reached(contracts: Iterable[dict[str, Any]], named: list[Any]) -> set[tuple[str, str]]:
    """The components that the named entries refer to, directly or through each other."""
    listed = [_mapping(one.get("components")) for one in contracts]
    reached: set[tuple[str, str]] = set()
    fresh = set(_REFERENCE.findall(repr(named)))
    while fresh:
        reached |= fresh
        parts = [_mapping(one.get(kind)).get(key) for kind, key in fresh for one in listed]
        fresh = set(_REFERENCE.findall(repr(parts))) - reached
    return reached


def _refers(value: Any, named: list[Any]) -> bool:
    """Whether an entry is about a channel that the delta names, as operations are."""
    channel = value.get("channel") if isinstance(value, dict) else None
    return channel is not None and any(channel == one.get("channel") for one in named if isinstance(one, dict))


def _kinds(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys((*_mapping(before.get("components")), *_mapping(after.get("components")))))


def _both(before: dict[str, Any], after: dict[str, Any], part: str) -> list[tuple[str, Any, Any]]:
    """Everything that a part of one of them has, and what it is in each; None where it is not."""
    old, new = _mapping(before.get(part)), _mapping(after.get(part))
    return [(key, old.get(key), new.get(key)) for key in dict.fromkeys((*old, *new))]


def _mapping(value: Any) -> dict[str, Any]:
    return {str(key): one for key, one in value.items()} if isinstance(value, dict) else {}
