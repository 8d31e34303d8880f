"""An effect's exit as a protocol declares it: every field filled in, and enums in the protocol's own spelling."""

from treadle.errors import PortError
from treadle.ports import Outcome
from treadle.protocol.items import Json
from treadle.protocol.model import Field, Protocol, Step

Values = dict[str, Json]


def outcome(protocol: Protocol, step: Step, exit_: str, values: Values) -> Outcome:
    """The exit of a step with the values that it declares; a `PortError` if the protocol asks for another one."""
    if exit_ not in step.exits or exit_ not in protocol.exits:
        raise PortError(
            f"the effect '{step.effect}' ended by {exit_}, which its step has no row for", code="git.effect"
        )
    fields = {name: field for name, field in protocol.exits[exit_].fields.items() if field.by != "kernel"}
    return Outcome(exit=exit_, fields=_fitted(protocol, fields, values, exit_))


def _fitted(protocol: Protocol, fields: dict[str, Field], values: Values, what: str) -> Values:
    found: Values = {}
    for name, field in fields.items():
        key = next((one for one in (name, *field.also) if one in values), None)
        if key is not None:
            found[name] = _value(protocol, field, values[key])
        elif not field.type.endswith("?"):
            raise PortError(
                f"nothing fills in the field '{name}' of {what}; git knows {', '.join(sorted(values))}",
                code="git.effect",
            )
    return found


def _value(protocol: Protocol, field: Field, value: Json) -> Json:
    kind = field.type.removesuffix("?")
    if isinstance(value, str):
        return _spelt(kind, value.encode(errors="replace").decode())
    if isinstance(value, list):
        record = protocol.types.get(kind.removeprefix("[").removesuffix("]"))
        return [
            _fitted(protocol, record.fields, one, kind)
            if record and isinstance(one, dict)
            else _value(protocol, field, one)
            for one in value
        ]
    return value


def _spelt(kind: str, value: str) -> str:
    """`NewExport` as the enum of the field writes it, say `NEW_EXPORT`."""
    options = {_plain(option): option for option in kind.split(" | ")} if " | " in kind else {}
    return options.get(_plain(value), value)


def _plain(word: str) -> str:
    return word.replace("_", "").lower()
