"""Check 18, `proves_when`: it can be read, and speaks of values that the exit's own fields can have."""

from collections.abc import Iterator

from treadle.protocol.checks.subject import Subject
from treadle.protocol.fields import EnumType, bare, parse_type
from treadle.protocol.findings import Finding, suggest
from treadle.protocol.guards import Guard, GuardError, parse
from treadle.protocol.model import Exit


def proofs_can_be_read(subject: Subject) -> Iterator[Finding]:
    """18. Every `proves_when` parses, and looks at nothing but fields that routes see."""
    for name, exit_ in subject.protocol.exits.items():
        for message, hint in _faults(exit_) if exit_.proves_when else ():
            yield subject.finding(18, name, f"exits.{name}", message, hint)


def _faults(exit_: Exit) -> Iterator[tuple[str, str]]:
    if not exit_.proves:
        yield "has `proves_when`, but proves nothing", "add `proves`, or leave it away"
    try:
        guard = parse(exit_.proves_when)
    except GuardError as error:
        yield f"guard `{exit_.proves_when[:80]}` {error}", "see the table of `when`"
        return
    for full in sorted(guard.names):
        root, _, name = full.partition(".")
        seen = [field for field, it in exit_.fields.items() if it.route or field == exit_.route_on]
        if root != "data" or name not in seen:
            hint = suggest(name, seen) or f"name one of data.{', data.'.join(seen)}" if seen else "route a field first"
            yield f"guard `{exit_.proves_when}` looks at '{full}', which is no routed field of this exit", hint
    yield from _literals(exit_, guard)


def _literals(exit_: Exit, guard: Guard) -> Iterator[tuple[str, str]]:
    for full, literals in guard.comparisons:
        field = exit_.fields.get(full.partition(".")[2])
        kind = bare(parse_type(field.type)) if field else None
        values = kind.values if isinstance(kind, EnumType) else ()
        for literal in literals if values else ():
            if literal not in values:
                shown = [str(value) for value in values]
                hint = suggest(str(literal), shown) or f"values are {', '.join(shown[:8])}"
                yield f"guard `{exit_.proves_when}` compares '{full}' with {literal!r}, which it never is", hint
