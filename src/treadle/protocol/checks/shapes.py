"""The variables that a step's template may read, with the fields they have."""

from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

from jinja2 import nodes
from jinja2.defaults import DEFAULT_NAMESPACE

from treadle.protocol.checks.declarations import TOOLCHAIN
from treadle.protocol.checks.subject import Flow
from treadle.protocol.fields import ListType, OptionalType, RecordType, TypeExpr, TypeNotationError, parse_type
from treadle.protocol.model import Need, Protocol, Step, tag_of


class ObjectShape(NamedTuple):
    """Something with known parts: a step's slots, an exit's fields, a variable of the orchestrator."""

    label: str
    parts: "Mapping[str, Shape]"
    optional: bool = False


class ListShape(NamedTuple):
    """A list of things with known parts."""

    item: "Shape"
    optional: bool = False


class MacroShape(NamedTuple):
    """A macro: its definition, the template it stands in, and the variables it sees there."""

    macro: nodes.Macro
    template: str
    scope: "dict[str, Shape]"


Shape: TypeAlias = TypeExpr | ObjectShape | ListShape | MacroShape | None
"""The shape of a value; None if unknown."""

_TEXT: Final[TypeExpr] = parse_type("text")
_TEXTS: Final[TypeExpr] = parse_type("[text]")
_ALWAYS: Final[dict[str, Shape]] = {
    "run": ObjectShape("run", {"id": _TEXT, "protocol": _TEXT}),
    "node": ObjectShape(
        "node",
        {
            **dict.fromkeys(("id", "key", "graph", "branch", "parent"), _TEXT),
            "depth": parse_type("int"),
            "children": ListShape(
                ObjectShape("node.children", dict.fromkeys(("id", "key", "outcome", "trouble"), _TEXT))
            ),
        },
    ),
    "step": _TEXT,
    "role": _TEXT,
    "mode": ObjectShape("mode", {"type": _TEXT}),
    "attempt": parse_type("int"),
    "max_attempts": parse_type("int"),
    "gate_report": _TEXT,
    "human_note": _TEXT,
    "scope": ObjectShape("scope", dict.fromkeys(("reads", "writes", "stubs", "hidden"), _TEXTS)),
    "toolchain": ObjectShape("toolchain", dict.fromkeys(TOOLCHAIN, _TEXT)),
    "signals": ListShape(ObjectShape("signals", {"name": _TEXT, "sender": _TEXT, "data": None})),
    "session": _TEXT,
    "params": _TEXT,
    "exit_schema": None,
}
"""The variables that every template has."""
ALL_NEEDS: Final = "reports"
"""The variable that shows every need of a step."""
_TAKEN: Final = frozenset(
    {
        *_ALWAYS,
        *DEFAULT_NAMESPACE,
        ALL_NEEDS,
        "last",
        "vars",
        "verified",
        "ways",
        "up",
        "loop",
        "caller",
        "varargs",
        "kwargs",
        "self",
        "super",
    }
    | set("true false none True False None and or not if else in is".split())
)
"""Reserved names: in a template each already means something."""


def variables(protocol: Protocol, flow: Flow, step: Step) -> dict[str, Shape]:
    """Everything the template of a step may use."""
    found = dict(_ALWAYS)
    # A need in `reports` may be any exit, so its fields are those of all exits.
    fields = {name: type_of(field.type) for exit_ in protocol.exits.values() for name, field in exit_.fields.items()}
    report: dict[str, Shape] = dict.fromkeys(("step", "title", "exit"), _TEXT)
    found[ALL_NEEDS] = ListShape(ObjectShape(ALL_NEEDS, {**report, "data": ObjectShape("report.data", fields)}))
    found["last"] = ObjectShape("last", {variable_name(one): _TEXT for one in flow.graph.steps})
    found["ways"] = ObjectShape("ways", dict.fromkeys(step.routes if step.kind == "ask" else (), _TEXTS))
    found["vars"] = ObjectShape("vars", dict.fromkeys(flow.graph.vars))
    name, kind = flow.graph.input
    found[name] = RecordType(kind) if kind in protocol.types else None
    verified: dict[str, dict[str, Shape]] = {}
    for need in step.needs:
        if need.step and not need.up:
            verified.setdefault(variable_name(need.step), {})[need.exit] = _TEXTS
    checked = {owner: ObjectShape(f"verified.{owner}", exits) for owner, exits in verified.items()}
    found["verified"] = ObjectShape("verified", checked)
    found["up"] = ObjectShape("up", _slots(protocol, [need for need in step.needs if need.up], "up."))
    return found | _slots(protocol, [need for need in step.needs if not need.up], "", flow)


def hidden_names(flow: Flow, step: Step) -> list[str]:
    """Steps that cannot be read under their own name, because another variable has it."""
    taken = _TAKEN | {flow.graph.input[0]}
    return sorted({need.step for need in step.needs if not need.up and variable_name(need.step) in taken})


def hides_another(name: str) -> bool:
    """Whether an input cannot have this name, because it means something else in templates."""
    return name in _TAKEN


def variable_name(step: str) -> str:
    """How a step is called in templates."""
    return step.replace("-", "_")


def _slots(protocol: Protocol, needs: list[Need], prefix: str, flow: Flow | None = None) -> dict[str, Shape]:
    parts: dict[str, dict[str, Shape]] = {}
    for need in needs:
        if need.step:
            label = f"{prefix}{variable_name(need.step)}.{need.exit}"
            parts.setdefault(variable_name(need.step), {})[need.exit] = _slot(protocol, need, label, flow)
    return {name: ObjectShape(prefix + name, exits) for name, exits in parts.items()}


def _slot(protocol: Protocol, need: Need, label: str, flow: Flow | None) -> Shape:
    """Return the shape of an exit's payload; results of people, maps and checks have no declared fields."""
    exit_ = protocol.exits.get(tag_of(need.exit))
    source = flow.graph.steps.get(need.step) if flow else None
    answers = source is not None and source.asks == "parent"
    if exit_ is None or (source is not None and source.kind not in ("agent", "effect") and not answers):
        return None if not need.optional else ObjectShape(label, {}, optional=True)
    fields = {name: type_of(field.type) for name, field in exit_.fields.items()}
    payload = ObjectShape(label, fields, need.optional)
    return ListShape(ObjectShape(label, fields)) if need.every else payload


def type_of(text: str) -> Shape:
    """The shape of a declared type; unknown if it cannot be read."""
    try:
        return parse_type(text)
    except TypeNotationError:
        return None


def is_optional(shape: Shape) -> bool:
    """Whether the value may be absent."""
    return isinstance(shape, OptionalType) or (isinstance(shape, ObjectShape | ListShape) and shape.optional)


def present(shape: Shape) -> Shape:
    """The same value, known to be there."""
    if isinstance(shape, OptionalType):
        return shape.inner
    if isinstance(shape, ObjectShape | ListShape):
        return shape._replace(optional=False)
    return shape


def item_of(shape: Shape) -> Shape:
    """The shape of the items of a list; unknown for anything else."""
    inner = present(shape)
    if isinstance(inner, ListType):
        return inner.item
    return inner.item if isinstance(inner, ListShape) else None


def parts_of(protocol: Protocol, shape: Shape) -> Mapping[str, Shape] | None:
    """The parts of a value by name; None if they are not known."""
    inner = present(shape)
    if isinstance(inner, ObjectShape):
        return inner.parts
    if isinstance(inner, RecordType):
        record = protocol.types.get(inner.name)
        return {name: type_of(field.type) for name, field in record.fields.items()} if record else None
    return None if inner is None or isinstance(inner, MacroShape) else {}


def describe(shape: Shape) -> str:
    """Describe a value for a message."""
    inner = present(shape)
    match inner:
        case None:
            return "it"
        case ListShape():
            return "a list"
        case ObjectShape(label=label):
            return f"'{label}'"
    return f"'{inner}'"
