"""Mistakes in what is proved: gates, proofs, computed fields, write scopes, and templates."""

import re
from collections.abc import Iterator

from tests.protocols.edits import drop, put
from tests.protocols.mutate_rows import Change
from tests.protocols.mutate_steps import steps
from treadle.protocol.model import CheckRef, Protocol

_TAG = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_NAME = re.compile(r"(?<![\w.'\"])[A-Za-z_]\w*(?:\.\w+)+")


def drop_gate(protocol: Protocol) -> Iterator[Change]:
    """An exit passes one check less. An advisory check is no gate: it refuses nothing, with or without a mistake."""
    for path, where, _, _, step in steps(protocol):
        for key, checks in step.gates.items():
            for n, check in enumerate(checks):
                if not check.advisory:
                    yield f"{where} {key}: gate {_shown(check)} dropped", drop(protocol, *path, "gates", key, n)
        for n, check in enumerate(step.checks):
            if not check.advisory:
                yield f"{where}: check {_shown(check)} dropped", drop(protocol, *path, "checks", n)


def _shown(check: CheckRef) -> str:
    return check.name + (f":{check.arg}" if check.arg else "") + ("?" if check.advisory else "")


def drop_gates(protocol: Protocol) -> Iterator[Change]:
    """An exit passes no checks at all."""
    for path, where, _, _, step in steps(protocol):
        for key in step.gates:
            yield f"{where} {key}: ungated", drop(protocol, *path, "gates", key)


def drop_proves(protocol: Protocol) -> Iterator[Change]:
    """An exit does not say what it stands for."""
    for name, exit_ in protocol.exits.items():
        if exit_.proves:
            yield f"exit {name}: proves {exit_.proves} dropped", put(protocol, "exits", name, "proves", value="")


def drop_route_on(protocol: Protocol) -> Iterator[Change]:
    """An exit is routed as a whole."""
    for name, exit_ in protocol.exits.items():
        if exit_.route_on:
            yield f"exit {name}: route_on dropped", put(protocol, "exits", name, "route_on", value="")


def drop_route(protocol: Protocol) -> Iterator[Change]:
    """A field is hidden from guards and spawns."""
    for name, exit_ in protocol.exits.items():
        for field_name, field in exit_.fields.items():
            if field.route:
                changed = put(protocol, "exits", name, "fields", field_name, "route", value="")
                yield f"exit {name}.{field_name}: route dropped", changed
    for name, record in protocol.types.items():
        for field_name, field in record.fields.items():
            if field.route:
                changed = put(protocol, "types", name, "fields", field_name, "route", value="")
                yield f"type {name}.{field_name}: route dropped", changed


def drop_writes(protocol: Protocol) -> Iterator[Change]:
    """Somebody who must write may not."""
    for name, role in protocol.roles.items():
        if role.writes:
            yield f"role {name}: writes nothing", put(protocol, "roles", name, "writes", value=())
    for path, where, _, _, step in steps(protocol):
        if step.writes:
            yield f"{where}: writes nothing", put(protocol, *path, "writes", value=())


def write_tests(protocol: Protocol) -> Iterator[Change]:
    """Whoever must leave the tests alone may write them."""
    for path, where, _, _, step in steps(protocol):
        kept = any(check.name == "tests_unmodified" for checks in step.gates.values() for check in checks)
        if step.kind != "agent" or not kept:
            continue
        scope = protocol.roles[step.role].writes if step.writes is None else step.writes
        plain = tuple(glob for glob in scope if not glob.startswith("!"))
        yield f"{where}: writes tests", put(protocol, *path, "writes", value=(*plain, "tests/**"))
        if plain != scope:
            yield f"{where}: tests are not excluded", put(protocol, *path, "writes", value=plain)


def let_readers_write(protocol: Protocol) -> Iterator[Change]:
    """Somebody who only reads may write."""
    for name, role in protocol.roles.items():
        if not role.writes and "modify" not in role.perms:
            yield f"role {name}: writes src", put(protocol, "roles", name, "writes", value=("src/**",))
    for path, where, _, _, step in steps(protocol):
        if step.writes == ():
            yield f"{where}: writes what its role may", put(protocol, *path, "writes", value=None)


def misspell_template(protocol: Protocol) -> Iterator[Change]:
    """A template looks into something that is not there."""
    for name, text in protocol.templates.items():
        for word in _names(text):
            root, _, rest = word.partition(".")
            yield f"template {name}: {word} → {word}x", _renamed(protocol, name, word, f"{word}x")
            yield f"template {name}: {word} → {root}x.{rest}", _renamed(protocol, name, word, f"{root}x.{rest}")


def _names(text: str) -> list[str]:
    """The dotted names that a template uses, each once."""
    return list(dict.fromkeys(word for tag in _TAG.findall(text) for word in _NAME.findall(tag)))


def _renamed(protocol: Protocol, template: str, old: str, new: str) -> Protocol:
    def rename(match: re.Match[str]) -> str:
        return re.sub(rf"(?<![\w.'\"]){re.escape(old)}(?![\w.])", new, match[0])

    return put(protocol, "templates", template, value=_TAG.sub(rename, protocol.templates[template]))
