"""A complete tree (no includes, overlays or rules left) as the model; `@back` gates are still shared.

Most of a protocol is read by the types of the model: see `Part.as_model`. This file has the rest, the keys with a
shorthand, with names that follow a rule, or with conditions on their values.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final, get_args

from treadle.protocol.fields import TypeNotationError, bare, parse_type
from treadle.protocol.findings import suggest
from treadle.protocol.model import (
    SYSTEM_EXITS,
    Artifact,
    Budget,
    Errand,
    Exit,
    Field,
    Graph,
    Handler,
    Limits,
    Mode,
    Need,
    Perm,
    Protection,
    Protocol,
    Record,
    Role,
    Routing,
    Rows,
    tag_of,
)
from treadle.protocol.reading import notation
from treadle.protocol.reading.part import (
    FIELD,
    NAME,
    SIGNAL,
    STEP,
    WORD,
    Log,
    Part,
    mapping_of,
    name_by,
    names_by,
    quote_name,
)
from treadle.protocol.reading.steps import step, table
from treadle.protocol.reading.yaml import Node

TOP_KEYS: Final = (
    *("protocol", "version", "title", "help", "root", "types", "exits", "roles", "graphs", "pools", "limits"),
    *("artifacts", "protections", "toolchain", "include", "step_rules"),
)
GRAPH_KEYS: Final = (
    *("title", "input", "start", "ends", "ok", "vars", "budgets", "system", "handlers", "commands", "steps"),
    "dialogue",
)
RECORD_KEYS: Final = ("key", "apart", "refers", "criterion_by", "about")
EXIT_KEYS: Final = ("route_on", "severity", "route_hint", "proves", "proves_when", "symbol", "about", "also")
_PREEMPT: Final = {"never": -1, "now": 0}


def parse(node: Node, templates: dict[str, str], log: Log) -> Protocol:
    """Read the tree strictly; problems go to the log, and reading continues with the rest."""
    top = Part(node, "the protocol", "", log)
    top.known(*TOP_KEYS)
    top.demand("the protocol", "protocol", "root", "graphs")
    # Steps take exits and templates from their roles, so the roles come first.
    roles = {name: _role(part) for name, part in top.named("roles", NAME)}
    readers = {
        "root": Part.as_name,
        "types": mapping_of(_record, WORD),
        "exits": mapping_of(_exit, WORD),
        "graphs": mapping_of(partial(_graph, roles=roles), NAME),
        "pools": mapping_of(partial(Part.as_whole, least=1), NAME),
        "limits": _limits,
        "artifacts": mapping_of(lambda part: part.as_model(Artifact, writer=Part.as_name), NAME),
        "protections": _protections,
        "toolchain": Part.as_words,
    }
    values = top.values(Protocol, ("version", "title", "help", *readers), readers)
    name = top.name_of("protocol")
    return Protocol(name=name, roles=roles, templates=templates, **{"version": "1", "root": "", **values})


def _role(part: Part) -> Role:
    def mode(entry: Part) -> Mode:
        return entry.as_model(Mode, exits=names_by(WORD))

    return part.as_model(Role, modes=mapping_of(mode, WORD), perms=_perms)


def _perms(part: Part) -> tuple[Perm, ...]:
    known, words = get_args(Perm), part.as_words()
    for word in words:
        if word not in known:
            part.problem(f"unknown permission {quote_name(word)}", suggest(word, known) or f"known: {', '.join(known)}")
    return tuple(perm for word in words for perm in known if perm == word)


def _limits(part: Part) -> Limits:
    def cost(entry: Part) -> float:
        value = entry.node.value
        if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
            return float(value)
        entry.expected("a number that is not negative")
        return 0.0

    positive = partial(Part.as_whole, least=1)
    return part.as_model(Limits, instances=positive, agents=positive, cost=cost, wall=Part.as_seconds)


def _protections(part: Part) -> tuple[Protection, ...]:
    found = []
    for item in part.items():
        item.known("glob", "level")
        level = item.whole("level", 0)
        if not isinstance(item.node.value, dict) or item.get("glob") is None or not 1 <= level <= 6:
            item.problem("a protection is a glob and a level from 1 to 6", "write {glob: 'src/**', level: 4}")
        found.append(Protection(glob=item.text("glob"), level=level))
    return tuple(found)


# Types and exits: mappings of fields with a few reserved keys.


def _record(part: Part) -> Record:
    fields = _fields(part, RECORD_KEYS)
    readers = {
        "key": name_by(FIELD),
        "refers": name_by(FIELD),
        "apart": names_by(FIELD),
        "criterion_by": names_by(FIELD),
    }
    values = part.values(Record, readers, readers)
    if values.get("key", "id") not in fields and "key" in values:
        message = f"'key' names the field that identifies an item, and there is no field {quote_name(values['key'])}"
        part.problem_at("key", message, "a field itself cannot be called 'key'")
    if (name := values.get("refers", "")) and name not in fields:
        message = f"'refers' names the field with the keys of other items, and there is no field {quote_name(name)}"
        hint = suggest(name, fields) or "name the field that lists the keys of other items"
        part.problem_at("refers", message, hint)
    names = values.get("apart", ())
    strays = [name for name in names if name not in fields or str(bare(parse_type(fields[name].type))) != "path"]
    if strays or len(names) == 1:
        message = f"{quote_name(strays[0])} is not a field with a path" if strays else "'apart' names a single field"
        part.problem_at("apart", message, "name two or more fields of the type path")
    if strays := [name for name in values.get("criterion_by", ()) if name not in fields]:
        what = "'criterion_by' names the fields that say what an item must do"
        message = f"{what}, and there is no {quote_name(strays[0])}"
        part.problem_at("criterion_by", message, suggest(strays[0], fields))
    return Record(fields=fields, help=part.text("about"), **values)


def _exit(part: Part) -> Exit:
    readers = {"route_on": name_by(FIELD), "also": names_by(WORD)}
    keys = [key for key in EXIT_KEYS if key != "about"]
    return Exit(fields=_fields(part, EXIT_KEYS), help=part.text("about"), **part.values(Exit, keys, readers))


def _fields(part: Part, reserved: tuple[str, ...]) -> dict[str, Field]:
    """The fields of a record or an exit: every key that is not reserved."""
    fields = {}
    for name, entry in part.entries():
        if name in reserved:
            continue
        if not FIELD.fullmatch(name):
            hint = "use ASCII letters, digits and _, no digit first"
            entry.problem(f"{quote_name(name)} is not the name of a field", hint)
        if isinstance(entry.node.value, dict):
            fields[name] = entry.as_model(Field, type=_type, route=_routing, also=names_by(FIELD))
        else:
            fields[name] = Field(type=_type(entry))
    return fields


def _routing(part: Part) -> Routing:
    match part.node.value:
        case bool(routed):
            return "value" if routed else ""
        case str():
            return part.as_choice(("value", "items", "asked"), "")
        case _:
            part.expected("true, `items` or `asked`")
            return ""


def _type(part: Part) -> str:
    """A type in its canonical notation; a YAML list of one is a list type."""
    node, depth = part.node, 0
    while isinstance(node.value, list) and len(node.value) == 1:
        node, depth = node.value[0], depth + 1
    if not isinstance(node.value, str):
        part.problem(f"{quote_name(part.name)} is not a type", "write text, int, `A | B`, Name, [T] or T?")
        return "text"
    try:
        return str(parse_type("[" * depth + node.value + "]" * depth))
    except TypeNotationError as error:
        part.problem(error.message, error.hint)
        return "text"


# Graphs: the tables, with their outcomes, budgets, handlers and rows for system exits.


def _graph(part: Part, roles: Mapping[str, Role]) -> Graph:
    part.known(*GRAPH_KEYS, "include")
    part.demand(f"the graph {quote_name(part.name)}", "start", "ends", "steps")
    readers = {
        "input": _input,
        "start": name_by(STEP),
        "ends": _ends,
        "ok": mapping_of(names_by(WORD), STEP),
        "vars": mapping_of(_variable, FIELD),
        "budgets": mapping_of(_budget, NAME),
        "system": _system,
        "handlers": mapping_of(_handler, SIGNAL),
        "commands": _commands,
        "dialogue": name_by(FIELD),
        "steps": mapping_of(partial(step, roles=roles), STEP),
    }
    values: dict[str, Any] = {"start": "", "ends": {}, "steps": {}, **part.values(Graph, GRAPH_KEYS, readers)}
    values["steps"] = {name: found for name, found in values["steps"].items() if found is not None}
    return Graph(**values)


def _input(part: Part) -> tuple[str, str]:
    entries = list(part.entries())
    if len(entries) != 1:
        part.problem("'input' must be one name with its type", "write {spec: Spec}")
        return ("input", "")
    name, entry = entries[0]
    if not FIELD.fullmatch(name):
        entry.problem(f"{quote_name(name)} is not a name", "use ASCII letters, digits and _, no digit first")
    return (name, _type(entry) if entry.node.value != "" else "")


def _ends(part: Part) -> dict[str, tuple[Need, ...]]:
    if not isinstance(part.node.value, dict):
        return dict.fromkeys(part.as_words(WORD), ())
    ends = {}
    for outcome, entry in part.entries():
        if not WORD.fullmatch(outcome):
            message = f"{quote_name(outcome)} is not the name of an outcome"
            entry.problem(message, "use letters and digits, a letter first")
        ends[outcome] = notation.needs(entry)
    return ends


def _variable(part: Part) -> int | str | bool:
    if isinstance(part.node.value, int | str):
        return part.node.value
    part.expected("a whole number, text, or true or false")
    return 0


def _budget(part: Part) -> Budget:
    return part.as_model(Budget, to=partial(notation.target, step=""), resets=names_by(STEP))


def _system(part: Part) -> dict[str, Rows]:
    rows = table(part)
    for key in rows:
        if key != "!*" and tag_of(key) not in SYSTEM_EXITS:
            hint = suggest(tag_of(key), SYSTEM_EXITS) or f"known: {' '.join(SYSTEM_EXITS)} !*"
            part.problem_at(key, f"{quote_name(key)} is not a system exit", hint)
    return rows


def _handler(part: Part) -> Handler:
    if isinstance(part.node.value, str):
        return Handler(step=part.as_name(STEP))
    return part.as_model(Handler, step=name_by(STEP), preempt=_preempt)


def _preempt(part: Part) -> int:
    word = part.node.value
    if isinstance(word, str) and word in _PREEMPT:
        return _PREEMPT[word]
    if isinstance(word, str) and not word[:1].isdigit():
        hint = suggest(word, _PREEMPT) or "write never, now, or a duration"
        part.problem(f"'preempt' cannot be {quote_name(word)}", hint)
        return -1
    return part.as_seconds(-1)


def _commands(part: Part) -> dict[str, str | tuple[Errand, ...]]:
    commands: dict[str, str | tuple[Errand, ...]] = {}
    for name, entry in part.entries():
        if not name or any(letter.isspace() for letter in name):
            entry.problem(f"{quote_name(name)} is not a command", "write a word such as /p")
        if isinstance(entry.node.value, str):
            commands[name] = entry.as_name(STEP)
            continue
        errands = tuple(_errand(word, errand) for word, errand in entry.entries())
        if not errands:
            entry.problem(f"the command {quote_name(name)} leads nowhere", "name a step, or {WORD: STEP}")
        words = [spelt for errand in errands for spelt in (errand.word, *errand.also)]
        for word in sorted({word for word in words if words.count(word) > 1}):
            message = f"{quote_name(word)} means two things to the command {quote_name(name)}"
            entry.problem(message, "spell them differently")
        commands[name] = errands
    return commands


def _errand(word: str, part: Part) -> Errand:
    if isinstance(part.node.value, str):
        return Errand(word=word, to=(part.as_name(STEP),))
    part.known("to", "also", "item")
    part.demand(quote_name(word), "to")
    return Errand(word=word, to=part.words("to", STEP), also=part.texts("also"), item=part.name_of("item", FIELD))
