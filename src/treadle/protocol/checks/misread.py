"""A file of which a part cannot be read: which names in the rest of it do not exist, told together with that part.

What follows from the part itself is left out: it goes away with the mistake, or is told once that is mended.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from treadle.protocol.checks.declarations import declarations_hold_together
from treadle.protocol.checks.names import graphs_mention_what_exists
from treadle.protocol.checks.steps import steps_mention_what_exists
from treadle.protocol.checks.subject import Places, Subject
from treadle.protocol.findings import Finding, Place
from treadle.protocol.model import Protocol

_NAMES: Final = (declarations_hold_together, graphs_mention_what_exists, steps_mention_what_exists)
_NAMELESS: Final = frozenset({"title", "help", "version", "limits", "protections"})
"""Parts that nothing else in a protocol mentions."""
_SECTIONS: Final = frozenset({"types", "exits", "roles", "pools", "artifacts"})


def unknown_besides(
    protocol: Protocol, misread: Collection[str], places: Mapping[str, Place], place_of: Places
) -> Iterator[Finding]:
    """The names that do not exist, as far as the parts that could not be read have nothing to do with it."""
    owners = [_owner(path) for path in misread]
    if None in owners:
        return
    spoiled = {places.get(around) for path in misread for around in _around(path)}
    lost = "|".join(re.escape(name) for name in owners if name)
    about_lost = re.compile(rf"'(?:{lost})['.@?]" if lost else r"(?!)")
    subject = Subject(protocol, place_of)
    for finding in (one for check in _NAMES for one in check(subject)):
        if finding.place not in spoiled and not about_lost.search(finding.message):
            yield finding


def _owner(path: str) -> str | None:
    """The name that others know the part by; empty if it has none, None if many names may be lost with it."""
    match path.split("."):
        case ["graphs", _, _, name, *_]:
            return name
        case [section, name, *_] if section in _SECTIONS:
            return name
        case [top, *_] if top in _NAMELESS:
            return ""
        case _:
            return None


def _around(path: str) -> Iterator[str]:
    parts = path.split(".")
    yield from (".".join(parts[:count]) for count in range(1, len(parts) + 1))
