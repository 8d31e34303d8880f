"""What an exit has said, in words: a line for each field, in the order in which the exit declares them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from treadle.prompts.foreign import inline
from treadle.protocol.items import Json
from treadle.protocol.model import Exit

_NOTHING: Final[tuple[Json, ...]] = (None, "", "none", [], {})
"""Values that say no more than the field's absence."""


def told(exits: Iterable[Exit], said: Mapping[str, Json]) -> str:
    """The fields of a payload line by line; `exits` are those that it may be of."""
    declared = next((it.fields for it in exits if it.fields.keys() >= said.keys()), {})
    names = [*(name for name in declared if name in said), *(name for name in said if name not in declared)]
    return "\n".join(_line(name, said[name]) for name in names if said[name] not in _NOTHING)


def _line(name: str, value: Json) -> str:
    text = words(value)
    between = "\n" if "\n" in text else " "
    return f"{name.replace('_', ' ')}:{between}{text}"


def words(value: Json) -> str:
    """A value as a sentence would have it; a list of records has a line for each."""
    match value:
        case str():
            return value.strip()
        case list() if any(isinstance(one, dict) for one in value):
            return "\n".join(f"- {words(one)}" for one in value)
        case list():
            return ", ".join(map(words, value))
        case dict():
            return "; ".join(_parts(value))
    return inline(value)


def _parts(record: Mapping[str, Json]) -> Iterator[str]:
    for name, value in record.items():
        if value not in _NOTHING:
            yield f"{name.replace('_', ' ')}: {' '.join(words(value).split())}"
