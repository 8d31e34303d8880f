"""How a name that does not exist is said, wherever it stands."""

from collections.abc import Iterable, Iterator

from treadle.protocol.findings import suggest

Fault = tuple[str, str, str, str]
"""Where, dotted path, message, hint."""


def unknown(where: str, path: str, verb: str, what: str, name: str, known: Iterable[str]) -> Iterator[Fault]:
    """Nothing if the name is known, else one fault with the nearest known name."""
    names = list(known)
    if name not in names:
        hint = suggest(name, names) or (
            f"known: {', '.join(sorted(names)[:8])}" if names else f"there is no {what} here"
        )
        yield where, path, f"{verb} unknown {what} '{name}'", hint
