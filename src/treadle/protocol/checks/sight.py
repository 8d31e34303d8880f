"""What the guards of one row see: which names have which values, as far as that can be listed."""

from typing import Final, NamedTuple

from treadle.protocol.checks.flow import Flow
from treadle.protocol.checks.sense import Kind
from treadle.protocol.fields import BareType, EnumType, ListType, ScalarType, TypeNotationError, bare, parse_type
from treadle.protocol.model import Field, system_keys

_NUMBERS: Final = ("attempt", "same_failure", "same_question", "depth")
_DEEPEST: Final = 100
"""No run goes deeper; what a protocol says of its depth, a project may raise."""


class Sight(NamedTuple):
    """The graph, the fields of the exit that is being routed, and how often its step is tried (0: without an end)."""

    flow: Flow
    fields: dict[str, Field]
    attempts: int

    def kind(self, full: str) -> Kind:
        """Whether a name stands for a number or a text; true and false count as numbers."""
        root, _, name = full.partition(".")
        if root == "last":
            return "text"
        if root == "data":
            return _kind(self._type(name))
        return "number" if root in (*_NUMBERS, "spent", "root") else ""

    def words(self, full: str) -> list[object]:
        """The words and the like that a name can be, if they can be listed; None where it may be absent."""
        root, _, name = full.partition(".")
        if root == "last" and name in self.flow.graph.steps:
            step = self.flow.graph.steps[name]
            return [None, *dict.fromkeys([*self.flow.keys(name), *system_keys(step)])]
        type_ = self._type(name) if root == "data" else None
        return [None, *type_.values] if isinstance(type_, EnumType) else []

    def listed(self, names: frozenset[str]) -> dict[str, list[object]]:
        """All the values of those names of which they can be listed."""
        return {name: values for name in names if (values := self.words(name) or self._range(name))}

    def _range(self, full: str) -> list[object]:
        root, _, name = full.partition(".")
        match root:
            case "attempt":
                return list(range(self.attempts + 1)) if self.attempts else []
            case "depth":
                return list(range(_DEEPEST + 1))
            case "root":
                return [False, True]
            case "spent" if name in self.flow.graph.budgets:
                return list(range(self.flow.graph.budgets[name].max + 1))
            case "data" if self._type(name) == ScalarType("bool"):
                return [None, False, True]
        return []

    def _type(self, name: str) -> BareType | None:
        """The type of a field, if it can be read."""
        try:
            return bare(parse_type(self.fields[name].type)) if name in self.fields else None
        except TypeNotationError:
            return None


def _kind(type_: BareType | None) -> Kind:
    match type_:
        case ScalarType(name=name):
            return "text" if name in ("text", "path") else "number"
        case ListType():
            return "number"
        case EnumType(values=values):
            texts = {isinstance(value, str) for value in values}
            return "" if len(texts) > 1 else "text" if True in texts else "number"
    return ""
