"""The variables that a step's template may read, with the fields they have."""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from jinja2 import nodes
from jinja2.defaults import DEFAULT_NAMESPACE

from treadle.protocol.checks.children import result_fields
from treadle.protocol.checks.declarations import TOOLCHAIN
from treadle.protocol.checks.subject import Flow, ProtocolSubject
from treadle.protocol.fields import (
    BareType,
    EnumType,
    ListType,
    OptionalType,
    RecordType,
    ScalarType,
    TypeNotationError,
    bare,
    parse_type,
)
from treadle.protocol.model import Exit, Need, Record, Send, base_of, tag_of

Kind = Literal["", "number", "text", "list", "object"]
"""The kind of a value in a computation; empty if unknown."""


class Macro(NamedTuple):
    """A macro: its definition, the template it stands in, and the variables it sees there."""

    node: nodes.Macro
    template: str
    scope: "dict[str, ValueShape]"


class ValueShape(NamedTuple):
    """The known facts about a value."""

    kind: Kind = ""
    label: str = ""
    """How a message calls it: `fix.Fixed`, `run`, or its type."""
    parts: "Mapping[str, ValueShape] | None" = None
    """Its fields; None if they are not known."""
    item: "ValueShape | None" = None
    """The items of a list."""
    absent: Literal["", "unset", "null"] = ""
    """Whether it may be absent: an optional slot is not set then, an optional field is null."""
    slots: bool = False
    """Whether its parts are declared by `needs`."""
    macro: Macro | None = None


UNKNOWN: Final = ValueShape()
INT: Final = ValueShape("number", "int", {})
_TEXT: Final = ValueShape("text", "text", {})
_TEXTS: Final = ValueShape("list", "[text]", {}, _TEXT)


def object_of(label: str, parts: Mapping[str, ValueShape], *, slots: bool = False) -> ValueShape:
    """Something with known parts: a step's slots, an exit's fields, a variable of the orchestrator."""
    return ValueShape("object" if parts else "", label, parts, slots=slots)


def list_of(item: ValueShape) -> ValueShape:
    """A list of things with known parts."""
    return ValueShape("list", "", {}, item)


def value_kind(expr: BareType) -> Literal["", "number", "text"]:
    """Whether a single value is a number or a text; true and false count as numbers."""
    match expr:
        case ScalarType(name=name):
            return "text" if name in ("text", "path") else "number"
        case EnumType(values=values):
            texts = {isinstance(value, str) for value in values}
            return "" if len(texts) > 1 else "text" if True in texts else "number"
    return ""


_ALWAYS: Final[dict[str, ValueShape]] = {
    "run": object_of("run", {"id": _TEXT, "protocol": _TEXT}),
    "node": object_of(
        "node",
        {
            **dict.fromkeys(("id", "key", "graph", "branch", "parent"), _TEXT),
            "depth": INT,
            "children": list_of(object_of("node.children", dict.fromkeys(("id", "key", "outcome", "trouble"), _TEXT))),
        },
    ),
    "step": _TEXT,
    "role": _TEXT,
    "mode": object_of("mode", {"type": _TEXT}),
    "attempt": INT,
    "max_attempts": INT,
    "gate_report": _TEXT,
    "human_note": _TEXT,
    "scope": object_of("scope", dict.fromkeys(("reads", "writes", "stubs", "hidden"), _TEXTS)),
    "toolchain": object_of("toolchain", dict.fromkeys(TOOLCHAIN, _TEXT)),
    "session": _TEXT,
    "params": _TEXT,
    "exit_schema": UNKNOWN,
}
"""The variables that are alike in every template."""
ALL_NEEDS: Final = "reports"
"""The variable that shows every need of a step."""
RESERVED: Final = frozenset(
    {*_ALWAYS, *DEFAULT_NAMESPACE, ALL_NEEDS}
    | set("last signals vars verified ways up loop caller varargs kwargs self super".split())
    | set("true false none True False None and or not if else in is".split())
)
"""Names that already mean something in a template, so that no step and no input can be read by them."""


def variable_name(step: str) -> str:
    """How a step is called in templates."""
    return step.replace("-", "_")


class TemplateVariables:
    """The variables of every step's template."""

    def __init__(self, subject: ProtocolSubject) -> None:
        self._subject, self._exits = subject, subject.protocol.exits
        types = subject.protocol.types
        parts: dict[str, dict[str, ValueShape]] = {name: {} for name in types}
        self._records = {name: ValueShape("object", name, parts[name]) for name in types}
        for name, record in types.items():
            parts[name] |= self._fields(record)  # filled in afterwards, because a record may hold itself
        # A need in `reports` may be any exit, so its fields are those of all exits.
        data = object_of("report.data", self._fields(*self._exits.values()))
        report = {**dict.fromkeys(("step", "title", "exit"), _TEXT), "data": data}
        self._reports = list_of(object_of(ALL_NEEDS, report))

    def of_step(self, flow: Flow, name: str) -> dict[str, ValueShape]:
        """Everything the template of a step may use."""
        step = flow.graph.steps[name]
        own = [need for need in step.needs if need.step and not need.up]
        verified: dict[str, dict[str, ValueShape]] = {}
        for need in own:
            verified.setdefault(variable_name(need.step), {})[need.exit] = _TEXTS
        checked = {owner: object_of(f"verified.{owner}", exits) for owner, exits in verified.items()}
        input_name, input_type = flow.graph.input
        above = self._slots(flow, [need for need in step.needs if need.step and need.up], "up.")
        return {
            **_ALWAYS,
            ALL_NEEDS: self._reports,
            "last": object_of("last", {variable_name(one): _TEXT for one in flow.graph.steps}),
            "ways": object_of("ways", dict.fromkeys(step.routes if step.kind == "ask" else (), _TEXTS)),
            "vars": object_of("vars", dict.fromkeys(flow.graph.vars, UNKNOWN)),
            "signals": self._signals(flow, base_of(name)),
            input_name: self._records.get(input_type, UNKNOWN),
            "verified": object_of("verified", checked, slots=True),
            "up": object_of("up", above, slots=True),
            **self._slots(flow, own, ""),
        }

    def _slots(self, flow: Flow, needs: list[Need], prefix: str) -> dict[str, ValueShape]:
        parts: dict[str, dict[str, ValueShape]] = {}
        for need in needs:
            owner = variable_name(need.step)
            parts.setdefault(owner, {})[need.exit] = self._slot(flow, need, f"{prefix}{owner}.{need.exit}")
        return {owner: object_of(prefix + owner, exits, slots=True) for owner, exits in parts.items()}

    def _slot(self, flow: Flow, need: Need, label: str) -> ValueShape:
        """The shape of an exit's payload; results of people and checks have no declared fields."""
        source = None if need.up else flow.graph.steps.get(need.step)
        exit_ = self._exits.get(tag_of(need.exit))
        parts: dict[str, ValueShape] | None = None
        if source is not None and source.kind == "map" and source.over:
            texts = dict.fromkeys(("key", "instance", "outcome", "left", "commit"), _TEXT)
            results = list_of(object_of(f"{label}.results", {**texts, "said": UNKNOWN}))
            parts = {"total": INT, "failed": INT, "results": results}
        elif source is not None and source.kind == "map":
            fields = result_fields(self._subject, flow.name, need.step) if need.exit == "AllOk" else None
            parts = None if fields is None else self._fields(Exit(fields=fields))
        elif exit_ and (source is None or source.kind in ("agent", "effect") or source.asks == "parent"):
            parts = self._fields(exit_)
        if parts is None or (need.optional and not parts):
            return ValueShape(absent="unset" if need.optional else "")
        payload = object_of(label, parts)
        return list_of(payload) if need.every else payload._replace(absent="unset" if need.optional else "")

    def _signals(self, flow: Flow, name: str) -> ValueShape:
        """The shape of `signals`; their data is unknown if one of them may come from outside."""
        received = {signal for signal, steps in flow.handled.items() if name in map(base_of, steps)}
        # A signal takes its payload from the exits that send it, and from those that lead to a question.
        sources: list[Exit] = []
        for other, edge in self._subject.edges() if received else ():
            goal = other.graph.steps.get(edge.lands_at)
            caused = {action.signal for action in edge.actions if isinstance(action, Send)}
            if goal is not None and goal.asks == "parent":
                caused.add(goal.signal)
            if caused & received and tag_of(edge.key) in self._exits:
                sources.append(self._exits[tag_of(edge.key)])
        known = sources and received <= self._subject.sent
        data = object_of("signal.data", self._fields(*sources)) if known else UNKNOWN
        return list_of(object_of("signals", {"name": _TEXT, "sender": _TEXT, "data": data}))

    def _fields(self, *owners: Exit | Record) -> dict[str, ValueShape]:
        """The shapes of the fields of some exits or records, all in one."""
        return {name: self._shape(field.type) for owner in owners for name, field in owner.fields.items()}

    def _shape(self, text: str) -> ValueShape:
        try:
            expr = parse_type(text)
        except TypeNotationError:
            return UNKNOWN
        shape = self._bare(bare(expr))
        return shape._replace(absent="null") if isinstance(expr, OptionalType) else shape

    def _bare(self, expr: BareType) -> ValueShape:
        match expr:
            case ListType(item=item):
                return ValueShape("list", str(expr), {}, self._bare(item))
            case RecordType(name=name):
                return self._records.get(name, ValueShape("object", name))
        return ValueShape(value_kind(expr), str(expr), {})
