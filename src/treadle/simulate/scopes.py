"""Named scopes: the searches that a protocol's authors think worth while, as data beside the protocol."""

from typing import Final

import msgspec

from treadle.protocol.findings import Place
from treadle.protocol.reading.source import fail, read
from treadle.simulate.bounds import out_of_range
from treadle.simulate.scope import Scope

FILE: Final = "scopes.yaml"
SMALL: Final = Scope(name="small", help="at most one child and one item of a list, any budgets", budgets=None)
"""The scope of every protocol that names no other `small` itself: done in seconds."""


def read_scopes(text: str, filename: str = FILE) -> dict[str, Scope]:
    """The scopes of a `scopes.yaml`: name → the fields of a scope."""
    tree = read(text, filename)
    if not isinstance(tree.value, dict):
        fail(tree.place, "scopes are a mapping", "write `NAME: {graph: …, items: …}`", code="protocol.scope")
    return {name: _scope(name, node.plain(), node.place) for name, node in tree.value.items()}


def _scope(name: str, fields: object, place: Place) -> Scope:
    try:
        scope = msgspec.structs.replace(msgspec.convert(fields, Scope), name=name)
    except msgspec.ValidationError as error:
        fail(
            place,
            f"the scope '{name}' is not understood: {error}",
            f"it has {', '.join(Scope.__struct_fields__)}",
            code="protocol.scope",
        )
    for problem in out_of_range(scope):
        fail(place, f"the scope '{name}' is not understood: {problem}", code="protocol.scope")
    return scope
