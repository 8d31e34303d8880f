"""What stands at an edge: the exits that take it, and what happens on the way."""

from typing import Final, NamedTuple

from treadle.protocol.drawing.row import Row
from treadle.protocol.model import tag_of

_MARKS: Final = {"tier": "▲", "sync": "⇊", "fresh": "✳"}


class Label(NamedTuple):
    """Exits, and a line for each thing that goes with them."""

    exits: tuple[str, ...]
    more: tuple[str, ...] = ()


def short(found: Row) -> Label:
    """A row in as few words as it can be said."""
    keys = found.exit.split()
    lines = [f"[{found.when}]"] if found.when else []
    if found.charge:
        lines.append(f"≤ {found.max} {found.charge}" if found.max else found.charge)
    lines += [_action(action) for action in found.do if not action.startswith("spawn ")]
    return Label((found.exit if len(keys) < 3 else f"{keys[0]} {keys[1]} …",), tuple(lines))


def _action(text: str) -> str:
    verb, _, rest = text.partition(" ")
    if verb == "send":
        return f"✉ {rest.replace(' to ', ' → ')}"
    return f"{_MARKS[verb]} {text}" if verb in _MARKS else f"· {text}"


def merged(labels: list[Label]) -> tuple[Label, ...]:
    """Exits with the same consequences share their lines; many variants of one exit share its name."""
    same: dict[tuple[str, ...], list[str]] = {}
    for label in labels:
        same.setdefault(label.more, []).extend(label.exits)
    return tuple(Label(_names(list(dict.fromkeys(exits))), more) for more, exits in same.items())


def _names(exits: list[str]) -> tuple[str, ...]:
    tags: dict[str, list[str]] = {}
    for name in exits:
        tags.setdefault(tag_of(name), []).append(name)
    return tuple(name for tag, same in tags.items() for name in ([f"{tag}.*"] if len(same) > 2 else same))
