"""What is wrong with a protocol because of a project's rules is told at the project's own lines."""

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Final

import msgspec

from treadle.protocol.findings import Finding, Place
from treadle.protocol.reading.source import Node
from treadle.protocol.rules.overrides import entries, rows

_HINTS: Final = {12: "let the row lead to a step that comes before, or to itself"}
"""What to do in the table, by the number of the check, where its own advice is about the protocol."""
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def blamed(findings: Iterable[Finding], rules: Node, own: Collection[str]) -> list[Finding]:
    """The findings, none of which stands in a file that is not the project's, and no warnings about such files."""
    found = [_moved(it, rules, own) for it in findings if it.place.file in own or it.level == "error"]
    return list(dict.fromkeys(found))


def _moved(finding: Finding, rules: Node, own: Collection[str]) -> Finding:
    if finding.place.file in own:
        return finding
    place = next(_places(finding, rules), Place(rules.place.file, 1, 1))
    return msgspec.structs.replace(finding, place=place, hint=_HINTS.get(finding.check, finding.hint))


def _places(finding: Finding, rules: Node) -> Iterator[Place]:
    """The rows of the project that a finding speaks of, then the first of them."""
    steps = entries(rules).get("steps")
    if steps is None:
        return
    named = _WORD.findall(f"{finding.where} {finding.message}")
    yield from (steps.key_place(name) for name in named if name in rows(rules))
    yield from (steps.key_place(name) for name in rows(rules))
