"""How a name that does not exist is said, wherever it stands."""

from collections.abc import Iterable, Iterator

from treadle.protocol.findings import suggest
from treadle.protocol.model import base_of

Fault = tuple[str, str, str, str]
"""Where, dotted path, message, hint."""


def unknown(where: str, path: str, verb: str, what: str, name: str, known: Iterable[str]) -> Iterator[Fault]:
    """Nothing if the name is known, else one fault with the nearest known name."""
    names = list(known)
    if name in names:
        return
    if what == "step" and (copies := [other for other in names if base_of(other) == name]):
        yield where, path, f"{verb} '{name}', {copied(copies)[0]}", copied(copies)[1]
        return
    offered = written(names) if what == "step" else names
    hint = suggest(name, offered) or _listed(offered) or f"there is no {what} here"
    yield where, path, f"{verb} unknown {what} '{name}'", hint


def written(steps: Iterable[str]) -> list[str]:
    """Steps as the file calls them: a gate with `@back` once, not once per caller."""
    return list(dict.fromkeys(map(base_of, steps)))


def copied(copies: list[str]) -> tuple[str, str]:
    """What is wrong with speaking of a gate as one step, and what to write instead."""
    return "which leads @back and is a step of its own for each caller", f"name the caller as well: `{copies[0]}`"


def _listed(names: list[str]) -> str:
    return f"known: {', '.join(sorted(names)[:8])}" if names else ""
