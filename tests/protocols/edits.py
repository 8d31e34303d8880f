"""A changed copy of a part deep inside a frozen model, by its path."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec

Whole = TypeVar("Whole", bound=msgspec.Struct)
GONE: Final = object()
"""What a change returns to remove an entry of a mapping or of a tuple."""


def edit(whole: Whole, *path: str | int, by: Callable[[Any], Any]) -> Whole:
    """A copy in which the part at a path is changed: `edit(p, "graphs", "node", "start", by=lambda _: "tests")`."""
    changed: Whole = _edit(whole, path, by)
    return changed


def put(whole: Whole, *path: str | int, value: Any) -> Whole:
    """A copy with another value at a path."""
    return edit(whole, *path, by=lambda _: value)


def drop(whole: Whole, *path: str | int) -> Whole:
    """A copy without an entry of a mapping or of a tuple."""
    return edit(whole, *path, by=lambda _: GONE)


def _edit(value: Any, path: tuple[str | int, ...], by: Callable[[Any], Any]) -> Any:
    if not path:
        return by(value)
    key, rest = path[0], path[1:]
    match value:
        case dict():
            entry = _edit(value.get(key), rest, by)
            return {**{k: v for k, v in value.items() if entry is not GONE or k != key}, **_entry(key, entry)}
        case tuple():
            assert isinstance(key, int)
            entry = _edit(value[key], rest, by)
            return (*value[:key], *(() if entry is GONE else (entry,)), *value[key + 1 :])
    assert isinstance(key, str)
    return msgspec.structs.replace(value, **{key: _edit(getattr(value, key), rest, by)})


def _entry(key: str | int, entry: Any) -> dict[str | int, Any]:
    return {} if entry is GONE else {key: entry}
