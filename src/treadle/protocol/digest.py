"""The digest that a run pins: two protocols with the same digest behave the same."""

from functools import cache
from typing import Any

import msgspec

from treadle.protocol.items import content_ref
from treadle.protocol.model import Protocol


def digest(protocol: Protocol) -> str:
    """`sha256:…` of the protocol as canonical JSON.

    A value equal to its default is left out even if the file writes it, and a field that a later model adds with a
    default leaves the digests of older protocols as they are.
    """
    return content_ref(plain(protocol))


def plain(value: Any) -> Any:
    """A part of a protocol as plain data, without any value that equals its default."""
    if isinstance(value, msgspec.Struct):
        config = value.__struct_config__
        tag = {str(config.tag_field): str(config.tag)} if config.tag is not None else {}
        return {**tag, **{name: plain(inner) for name, inner in non_default_fields(value)}}
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, tuple | list):
        return [plain(inner) for inner in value]
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
