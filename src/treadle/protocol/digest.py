"""The digest that a run pins: two protocols with the same digest behave the same."""

import hashlib
import json
from functools import cache
from typing import Any

import msgspec

from treadle.protocol.model import Protocol


def digest(protocol: Protocol) -> str:
    """`sha256:…` of the canonical JSON."""
    return f"sha256:{hashlib.sha256(canonical(protocol)).hexdigest()}"


def canonical(protocol: Protocol) -> bytes:
    """Return the protocol as JSON with sorted keys and without any value that equals its default.

    A value equal to its default is left out even if the file writes it, and a field that a later model adds with a
    default leaves the digests of older protocols as they are.
    """
    text = json.dumps(_plain(protocol), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode()


def _plain(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        config = value.__struct_config__
        tag = {str(config.tag_field): str(config.tag)} if config.tag is not None else {}
        return {**tag, **{name: _plain(inner) for name, inner in non_default_fields(value)}}
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(inner) for inner in value]
    return value


def non_default_fields(value: msgspec.Struct) -> list[tuple[str, Any]]:
    """The fields that do not have their default."""
    inner = [(name, getattr(value, name), default) for name, default in _defaults(type(value))]
    return [(name, one) for name, one, default in inner if default is msgspec.NODEFAULT or one != default]


@cache
def _defaults(model: type[msgspec.Struct]) -> tuple[tuple[str, Any], ...]:
    return tuple(
        (field.name, field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory())
        for field in msgspec.structs.fields(model)
    )
