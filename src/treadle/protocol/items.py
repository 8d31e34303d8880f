"""Routed values, the part of a value that the kernel sees: scalars, counts, and items to spawn children over."""

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import TypeAlias

import msgspec

from treadle.protocol.fields import parse_type, record_of
from treadle.protocol.model import Field, Record

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
"""A plain value, as `json.loads` gives it."""

Routed: TypeAlias = bool | int | float | str | tuple["Item | str", ...] | None
"""One routed field: its value, a list's length, or the list itself as items (of records) or texts.

One tuple type for both kinds of list, because a decoder cannot choose between two.
"""

RefOf: TypeAlias = Callable[[Json], str]


class Item(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One element of a routed list: its key, the address of its content, and its own routed fields."""

    key: str
    ref: str
    fields: dict[str, Routed] = {}


def canonical(value: Json) -> bytes:
    """Canonical JSON: sorted keys, no spaces, UTF-8 (lone surrogates are kept, an agent may send them)."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode(errors="surrogatepass")


def content_ref(value: Json) -> str:
    """The address of a value: `sha256:…` of its canonical JSON."""
    return "sha256:" + hashlib.sha256(canonical(value)).hexdigest()


def routed_fields(
    types: Mapping[str, Record], fields: Mapping[str, Field], values: Mapping[str, Json], ref_of: RefOf = content_ref
) -> dict[str, Routed]:
    """Return the fields that guards and spawns may read: the routed ones, absent ones as None."""
    return {name: _routed(types, field, values.get(name), ref_of) for name, field in fields.items() if field.route}


def question_print(text: str) -> str:
    """Return the fingerprint of a question: a hash of its letters and digits in order; empty if it has none."""
    words = "".join(char if char.isalnum() else " " for char in text.casefold()).split()
    data = " ".join(words).encode(errors="surrogatepass")
    return hashlib.sha256(data).hexdigest()[:16] if words else ""


def _routed(types: Mapping[str, Record], field: Field, value: Json, ref_of: RefOf) -> Routed:
    match value:
        case str() if field.route == "asked":
            return question_print(value)
        case list() if field.route == "asked":
            return question_print("\n".join(text for text in value if isinstance(text, str)))
        case list() if field.route == "items":
            record = types.get(record_of(parse_type(field.type)))
            return tuple(_item(types, record, item, at, ref_of) for at, item in enumerate(value, start=1))
        case list():
            return len(value)
        case dict():
            return True
        case _:
            return value


def _item(types: Mapping[str, Record], record: Record | None, value: Json, at: int, ref_of: RefOf) -> Item | str:
    """A record as an item, known by its position if nothing else identifies it; anything else as text."""
    if record is None or not isinstance(value, dict):
        return str(value)
    key = value.get(record.key)
    return Item(str(at if key is None else key), ref_of(value), routed_fields(types, record.fields, value, ref_of))
