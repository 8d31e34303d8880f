"""Check 3, the protocol's own parts: types, exits, roles, limits of what a toolchain can be asked."""

from collections.abc import Iterator, Mapping
from typing import Final

from treadle.protocol.checks.subject import Subject
from treadle.protocol.fields import (
    SCALARS,
    EnumType,
    ListType,
    RecordType,
    ScalarType,
    TypeNotationError,
    bare,
    parse_type,
    record_of,
    type_fault,
)
from treadle.protocol.findings import Finding, suggest
from treadle.protocol.model import Exit, Field, Record, Role

TOOLCHAIN: Final = ("build", "test", "contract", "lint", "format", "api_dump", "collect", "interface")
"""The commands a project can say how to run."""


def declarations_hold_together(subject: Subject) -> Iterator[Finding]:
    """3. Types, exits, roles and the root mention only what exists."""
    protocol = subject.protocol
    if protocol.root not in protocol.graphs:
        hint = suggest(protocol.root, protocol.graphs) or "name one of its graphs"
        yield subject.finding(3, "", "root", f"the root is unknown graph '{protocol.root}'", hint)
    yield from _records(subject)
    for name, exit_ in protocol.exits.items():
        yield from _fields(subject, name, f"exits.{name}", exit_.fields)
        yield from _route_on(subject, name, exit_)
    for name, role in protocol.roles.items():
        yield from _role(subject, name, role)
    for command in protocol.toolchain:
        if command not in TOOLCHAIN:
            hint = suggest(command, TOOLCHAIN) or f"commands are {', '.join(TOOLCHAIN)}"
            yield subject.finding(3, "", "toolchain", f"unknown toolchain command '{command}'", hint)


def _records(subject: Subject) -> Iterator[Finding]:
    types = subject.protocol.types
    endless = _endless(types)
    for name, record in types.items():
        if name in SCALARS:
            message = f"a record cannot be called '{name}', which is a type of the language"
            yield subject.finding(3, name, f"types.{name}", message, "rename it")
        if name in endless:
            message = f"no value of '{name}' can be written down: it needs {_circle(endless, name)}, and so on"
            hint = f"make one of them optional, as in `{endless[name]}?`, or a list"
            yield subject.finding(3, name, f"types.{name}", message, hint)
        yield from _fields(subject, name, f"types.{name}", record.fields)


def _endless(types: Mapping[str, Record]) -> dict[str, str]:
    """Records that need a value of a record that needs … for ever → the one they need."""
    needed = {name: [_needed(field) for field in record.fields.values()] for name, record in types.items()}
    left = set(types)
    while ended := {name for name in left if not any(other in left for other in needed[name])}:
        left -= ended
    return {name: next(other for other in needed[name] if other in left) for name in types if name in left}


def _needed(field: Field) -> str:
    """The record of which a field must hold a value; empty if it can do without."""
    try:
        expr = parse_type(field.type)
    except TypeNotationError:
        return ""
    return expr.name if isinstance(expr, RecordType) else ""


def _circle(endless: Mapping[str, str], name: str) -> str:
    shown = [endless[name]]
    while endless[shown[-1]] not in shown and shown[-1] != name:
        shown.append(endless[shown[-1]])
    return ", which needs ".join(f"a '{other}'" for other in shown)


def _fields(subject: Subject, where: str, path: str, fields: Mapping[str, Field]) -> Iterator[Finding]:
    types = subject.protocol.types
    for name, field in fields.items():
        place = f"{path}.{name}"
        fault = type_fault(field.type, types)
        if fault is not None:
            yield subject.finding(3, where, place, f"field '{name}': {fault.message}", fault.hint)
            continue
        expr = bare(parse_type(field.type))
        if field.route == "asked" and (expr.item if isinstance(expr, ListType) else expr) != ScalarType("text"):
            message = f"field '{name}' is routed as a question, but '{field.type}' is no text"
            yield subject.finding(3, where, place, message, "write `text` or `[text]`, or leave `route` away")
        if field.route != "items":
            continue
        record = record_of(expr)
        if not isinstance(expr, ListType):
            message = f"field '{name}' is routed as items, but '{field.type}' is not a list"
            yield subject.finding(3, where, place, message, "write `[T]`, or `route: true`")
        elif record and types[record].key not in types[record].fields:
            message = f"field '{name}' is routed as items, but type '{record}' has no field '{types[record].key}'"
            hint = suggest(types[record].key, types[record].fields) or "say with `key` which field identifies an item"
            yield subject.finding(3, where, f"types.{record}", message, hint)


def _route_on(subject: Subject, name: str, exit_: Exit) -> Iterator[Finding]:
    if not exit_.route_on:
        return
    path = f"exits.{name}.route_on"
    field = exit_.fields.get(exit_.route_on)
    if field is None:
        hint = suggest(exit_.route_on, exit_.fields) or "name one of its enum fields"
        yield subject.finding(3, name, path, f"routes on unknown field '{exit_.route_on}'", hint)
    elif type_fault(field.type, subject.protocol.types) is None and not isinstance(parse_type(field.type), EnumType):
        message = f"routes on '{exit_.route_on}', which is '{field.type}' and not an enum"
        yield subject.finding(3, name, path, message, "write its values as `A | B`")


def _role(subject: Subject, name: str, role: Role) -> Iterator[Finding]:
    protocol = subject.protocol
    templates = [(f"roles.{name}.template", role.template)]
    for mode_name, mode in role.modes.items():
        path = f"roles.{name}.modes.{mode_name}"
        templates.append((f"{path}.template", mode.template))
        for exit_ in mode.exits:
            if exit_ not in protocol.exits:
                hint = suggest(exit_, protocol.exits) or "declare it under `exits`"
                yield subject.finding(3, name, f"{path}.exits", f"mode '{mode_name}': unknown exit '{exit_}'", hint)
    for path, template in templates:
        if template and template not in protocol.templates:
            hint = suggest(template, protocol.templates) or f"write templates/{template}"
            yield subject.finding(3, name, path, f"unknown template '{template}'", hint)
    if not role.models:
        yield subject.finding(3, name, f"roles.{name}.models", "has no models", "name at least one tier")
