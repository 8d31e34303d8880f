"""Check 3, the names in an answer: each means one thing, to the agent that gives it and to whoever reads it."""

from collections.abc import Iterator, Mapping
from typing import Final

from treadle.protocol.answers.schema import TAG, TOOL
from treadle.protocol.checks.flow import step_path
from treadle.protocol.checks.subject import Subject
from treadle.protocol.findings import Finding
from treadle.protocol.model import Exit, Field, Record

MAX_TOOL: Final = 64
"""How long the name of a tool may be; model APIs refuse longer ones."""


def names_mean_one_thing(subject: Subject) -> Iterator[Finding]:
    """3. No field is called as an answer's tag, no alias stands for two things, no tool's name is too long."""
    protocol = subject.protocol
    for name, exit_ in protocol.exits.items():
        yield from _exit(subject, name, exit_)
    for kind, parts in (("types", protocol.types), ("exits", protocol.exits)):
        for name, part in parts.items():
            yield from _fields(subject, f"{kind}.{name}", name, part)
    for flow in subject.flows.values():
        for name, step in flow.graph.steps.items():
            exits = {tag: protocol.exits[tag].also for tag in step.exits if tag in protocol.exits}
            for word, one, other in _clashes(exits):
                message = f"an answer '{word}' could mean exit '{one}' or exit '{other}'"
                path = f"{step_path(flow.name, name)}.exits"
                yield subject.finding(3, f"{flow.name}.{name}", path, message, "rename one of them in `also`")


def _exit(subject: Subject, name: str, exit_: Exit) -> Iterator[Finding]:
    for field, declared in exit_.fields.items():
        if TAG in (field, *declared.also):
            message = f"a field cannot be called '{TAG}', which says in an answer which exit it is"
            yield subject.finding(3, name, f"exits.{name}.{field}", message, "rename it, e.g. 'kind'")
    if len(TOOL + name) > MAX_TOOL:
        message = f"its tool would be called '{TOOL}{name}', {len(TOOL + name)} characters"
        hint = f"an exit's name has at most {MAX_TOOL - len(TOOL)} characters"
        yield subject.finding(3, name, f"exits.{name}", message, hint)


def _fields(subject: Subject, path: str, where: str, part: Exit | Record) -> Iterator[Finding]:
    for word, one, other in _clashes({name: field.also for name, field in _given(part.fields).items()}):
        message = f"'{word}' could mean field '{one}' or field '{other}'"
        yield subject.finding(3, where, f"{path}.{other}", message, "rename one of them in `also`")


def _given(fields: Mapping[str, Field]) -> dict[str, Field]:
    """The fields that somebody fills in; a computed one is never looked for in an answer."""
    return {name: field for name, field in fields.items() if field.by == "agent"}


def _clashes(names: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, str, str]]:
    """A word that stands for two of the names, and these two."""
    owners = {name: name for name in names}
    for name, others in names.items():
        for word in dict.fromkeys(others):
            owner = owners.setdefault(word, name)
            if owner != name:
                yield word, owner, name
