"""Random types, exits and answers, for the properties that schemas and validation share."""

from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from treadle.protocol.fields import EnumType, ListType, OptionalType, RecordType, ScalarType, TypeExpr, agent_fields
from treadle.protocol.model import Exit, Field, Protocol, Record

EXITS = ("Done", "Stuck", "More")
RECORDS = ("Low", "Mid", "Top")
_SCALARS = ("text", "int", "number", "bool", "Red | Green", "1 | 2 | 0.5 | many")

json_scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(-1e6, 1e6)
    | st.sampled_from(["Red", "many", 1, 2, 0.5, 1.0, "", "Done"])
    | st.text(max_size=5)
)
json_values: st.SearchStrategy[Any] = st.recursive(
    json_scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "type", "exit"]) | st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


@st.composite
def protocols(draw: st.DrawFn, *scalars: str) -> Protocol:
    """A protocol of three exits; a record refers to earlier ones, or to itself in a list."""
    types: dict[str, Record] = {}
    for name in RECORDS:
        fields = draw(_fields((*_SCALARS, *scalars, *types, f"[{name}]")))
        types[name] = Record(fields=fields, key="nothing", help=draw(st.sampled_from(["", "About."])))
    exits = {name: Exit(fields=draw(_fields((*_SCALARS, *scalars, *types))), help="Why.") for name in EXITS}
    return Protocol(name="p", version="1", root="g", types=types, exits=exits)


@st.composite
def answers(draw: st.DrawFn, protocol: Protocol) -> Any:
    """A right answer, or one with something replaced, removed or added."""
    name = draw(st.sampled_from(EXITS))
    answer = {"exit": {"type": name, **draw(_object(protocol, protocol.exits[name].fields, 0))}}
    for _ in range(draw(st.integers(0, 2))):
        container, key = draw(st.sampled_from(list(_places(answer))))
        match draw(st.sampled_from(["replace", "remove", "add"])):
            case "replace":
                container[key] = draw(json_values)
            case "remove":
                del container[key]
            case "add" if isinstance(container, dict):
                container[draw(st.sampled_from(["a", "b", "c", "more", "commit"]))] = draw(json_values)
        if not list(_places(answer)):
            break
    return answer


def values(protocol: Protocol, expr: TypeExpr, depth: int = 0) -> st.SearchStrategy[Any]:
    """Values of a type."""
    match expr:
        case OptionalType(inner=inner):
            return st.none() | values(protocol, inner, depth)
        case ListType(item=item):
            return st.lists(values(protocol, item, depth + 1), max_size=2 if depth < 3 else 0)
        case EnumType(values=choices):
            return st.sampled_from(choices)
        case RecordType(name=name):
            return _object(protocol, protocol.types[name].fields, depth + 1)
        case ScalarType(name="int"):
            return st.integers(-(2**53), 2**53) | st.integers(-9, 9).map(float)
        case ScalarType(name="number"):
            return st.floats(-1e9, 1e9) | st.integers(-9, 9)
        case ScalarType(name="bool"):
            return st.booleans()
        case ScalarType(name="path"):
            return st.sampled_from(["src/a.py", "./b//c", "."])
        case ScalarType():
            return st.text(max_size=8)


@st.composite
def _fields(draw: st.DrawFn, types: tuple[str, ...]) -> dict[str, Field]:
    notation = st.sampled_from(types).flatmap(
        lambda name: st.sampled_from([name, f"{name}?", f"[{name}]", f"[{name}]?"])
    )
    legal = notation.filter(lambda text: "[[" not in text)
    found = {name: Field(type=draw(legal), help=draw(st.sampled_from(["", "Help."]))) for name in draw(_names)}
    return {**found, "commit": Field(type="text", by="git")}


_names = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=4, unique=True)


@st.composite
def _object(draw: st.DrawFn, protocol: Protocol, fields: dict[str, Field], depth: int) -> dict[str, Any]:
    result = {}
    for name, _, expr in agent_fields(fields):
        if isinstance(expr, OptionalType) and draw(st.booleans()):
            continue
        result[name] = draw(values(protocol, expr, depth))
    return result


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        yield value, key
        yield from _places(inner)
