"""The paths of a row: what they name, and what speaks against them."""

import re
from typing import Final

from treadle.protocol.findings import suggest
from treadle.protocol.globs import glob_fault, shown
from treadle.protocol.reading.part import Part, quoted

WRITES: Final = "claude_writes"
AMENDS: Final = "amends"
_STORY: Final = "story"
_PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")
_DOUBLED: Final = "US-{story}"
"""A15: as it was published; the id of a story is "US-005" already."""


def globs(part: Part, key: str, field: str = "id") -> tuple[str, ...]:
    """Paths of a row; `{story}` is the story's id, and `field` what the input of the graph calls it."""
    entry = part.get(key)
    for item in entry.items() if entry else ():
        if not isinstance(item.node.value, str):
            continue
        for name in _PLACEHOLDER.findall(item.node.value):
            if name != _STORY:
                hint = suggest(name, [_STORY]) or "the only one is {story}"
                item.problem(f"unknown placeholder {{{name}}} in {quoted(key)}", hint)
        if fault := glob_fault(item.node.value):
            item.problem(f"{shown(item.node.value)} in {quoted(key)} {fault[0]}", fault[1])
    return tuple(_meant(glob, field) for glob in (entry.as_texts() if entry else ()))


def _meant(glob: str, field: str) -> str:
    """A path as the table means it: `*.go` lies in any folder, and `US-{story}` is the id of the story."""
    mark, rest = ("!", glob[1:]) if glob.startswith("!") else ("", glob)
    anywhere = "**/" if "*" in rest and "/" not in rest and not rest.startswith("**") else ""
    return mark + anywhere + rest.replace(_DOUBLED, "{story}").replace("{story}", f"{{{field}}}")
