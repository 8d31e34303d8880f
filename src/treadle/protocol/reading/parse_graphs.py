"""Graphs: the tables, with their outcomes, budgets, handlers and rows for system exits."""

from collections.abc import Mapping
from typing import Final

from treadle.protocol.findings import suggest
from treadle.protocol.model import SYSTEM_EXITS, Budget, Errand, Graph, Handler, Need, Role, Rows, tag_of
from treadle.protocol.reading import notation
from treadle.protocol.reading.parse_records import type_text
from treadle.protocol.reading.parse_routes import table
from treadle.protocol.reading.parse_steps import step
from treadle.protocol.reading.part import FIELD, NAME, SIGNAL, STEP, WORD, Part, quoted

GRAPH_KEYS: Final = (
    *("title", "input", "start", "ends", "ok", "vars", "budgets", "system", "handlers", "commands", "steps"),
    "dialogue",
)
_PREEMPT: Final = {"never": -1, "now": 0}


def graph(part: Part, roles: Mapping[str, Role]) -> Graph:
    """One graph."""
    part.known(*GRAPH_KEYS, "include")
    for key in ("start", "ends", "steps"):
        if part.get(key) is None:
            part.problem(f"the graph {quoted(part.name)} has no {quoted(key)}", f"add `{key}:`")
    steps = {name: step(entry, roles) for name, entry in part.named("steps", STEP)}
    return Graph(
        title=part.text("title"),
        input=_input(part.get("input")),
        start=part.name_of("start", STEP),
        ends=_ends(part.get("ends")),
        ok={group: entry.as_words(WORD) for group, entry in part.named("ok", STEP)},
        vars={name: _variable(entry) for name, entry in part.named("vars", FIELD)},
        budgets={name: _budget(entry) for name, entry in part.named("budgets", NAME)},
        system=_system(part.get("system")),
        handlers={name: _handler(entry) for name, entry in part.named("handlers", SIGNAL)},
        commands=_commands(part.get("commands")),
        dialogue=part.name_of("dialogue", FIELD),
        steps={name: found for name, found in steps.items() if found is not None},
    )


def _input(part: Part | None) -> tuple[str, str]:
    if part is None:
        return ("input", "")
    entries = list(part.entries())
    if len(entries) != 1:
        part.problem("'input' must be one name with its type", "write {spec: Spec}")
        return ("input", "")
    name, entry = entries[0]
    if not FIELD.fullmatch(name):
        entry.problem(f"{quoted(name)} is not a name", "use ASCII letters, digits and _, no digit first")
    return (name, type_text(entry) if entry.node.value != "" else "")


def _ends(part: Part | None) -> dict[str, tuple[Need, ...]]:
    if part is None:
        return {}
    if not isinstance(part.node.value, dict):
        return dict.fromkeys(part.as_words(WORD), ())
    found = {}
    for outcome, entry in part.entries():
        if not WORD.fullmatch(outcome):
            entry.problem(f"{quoted(outcome)} is not the name of an outcome", "use letters and digits, a letter first")
        found[outcome] = notation.needs(entry)
    return found


def _variable(part: Part) -> int | str | bool:
    if isinstance(part.node.value, int | str):
        return part.node.value
    part.expected("a whole number, text, or true or false")
    return 0


def _budget(part: Part) -> Budget:
    part.known("max", "to", "resets")
    for key in ("max", "to"):
        if part.get(key) is None:
            part.problem(f"the budget {quoted(part.name)} has no {quoted(key)}", "write {max: 3, to: STEP}")
    to = part.get("to")
    return Budget(
        max=part.whole("max", 1),
        to=notation.target(to, "") if to else "?",
        resets=part.words("resets", STEP),
    )


def _system(part: Part | None) -> dict[str, Rows]:
    found = table(part)
    for key in found:
        if key != "!*" and tag_of(key) not in SYSTEM_EXITS and part is not None:
            hint = suggest(tag_of(key), SYSTEM_EXITS) or f"known: {' '.join(SYSTEM_EXITS)} !*"
            part.log.add(part.node.key_place(key), part.path, f"{quoted(key)} is not a system exit", hint)
    return found


def _handler(part: Part) -> Handler:
    if isinstance(part.node.value, str):
        return Handler(step=part.as_name(STEP))
    part.known("step", "prio", "coalesce", "reply", "preempt")
    if part.get("step") is None:
        part.problem(f"the handler of {quoted(part.name)} has no step", "write {step: STEP}")
    return Handler(
        step=part.name_of("step", STEP),
        prio=part.whole("prio", 1),
        coalesce=part.flag("coalesce"),
        reply=part.flag("reply"),
        preempt=_preempt(part.get("preempt")),
    )


def _preempt(part: Part | None) -> int:
    if part is None:
        return -1
    word = part.node.value
    if isinstance(word, str) and word in _PREEMPT:
        return _PREEMPT[word]
    if isinstance(word, str) and not word[:1].isdigit():
        hint = suggest(word, _PREEMPT) or "write never, now, or a duration"
        part.problem(f"'preempt' cannot be {quoted(word)}", hint)
        return -1
    return part.as_seconds(-1)


def _commands(part: Part | None) -> dict[str, str | tuple[Errand, ...]]:
    found: dict[str, str | tuple[Errand, ...]] = {}
    for name, entry in part.entries() if part else ():
        if not name or any(letter.isspace() for letter in name):
            entry.problem(f"{quoted(name)} is not a command", "write a word such as /p")
        is_plain = isinstance(entry.node.value, str)
        found[name] = entry.as_name(STEP) if is_plain else _errands(entry)
    return found


def _errands(part: Part) -> tuple[Errand, ...]:
    found = tuple(_errand(word, entry) for word, entry in part.entries())
    if not found:
        part.problem(f"the command {quoted(part.name)} leads nowhere", "name a step, or {WORD: STEP}")
    words = [spelt for errand in found for spelt in (errand.word, *errand.also)]
    for word in sorted({word for word in words if words.count(word) > 1}):
        part.problem(f"{quoted(word)} means two things to the command {quoted(part.name)}", "spell them differently")
    return found


def _errand(word: str, part: Part) -> Errand:
    if isinstance(part.node.value, str):
        return Errand(word=word, to=(part.as_name(STEP),))
    part.known("to", "also", "item")
    if part.get("to") is None:
        part.problem(f"{quoted(word)} leads nowhere", "write {to: STEP}")
    return Errand(word=word, to=part.words("to", STEP), also=part.texts("also"), item=part.name_of("item", FIELD))
