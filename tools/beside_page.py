"""The page that puts the published orchestrator of the Agentic Coding Protocol beside ours, from `docs/beside/`."""

import re
from typing import Final

import msgspec

from tools.places import DOCS, links, read_yaml
from treadle.protocol.drawing.table import escape_markdown, markdown_table

FILE: Final = DOCS / "beside" / "orchestrator-core.yaml"


_PAGE: Final = """# Beside the published orchestrator

The author of the Agentic Coding Protocol has published an orchestrator of it: the npm package `{package}`, here \
version {version}. `make orchestrator-core` installs it, and `tests/protocols/test_orchestrator_core.py` asks it: the \
same STATE.json in, the same next step out, for every step, status, reason and first or last attempt; and whether it \
does what the second table says. Made from `docs/beside/orchestrator-core.yaml`.

## Where the next step differs

Everywhere else it is the same. `impl 2` is the second attempt of an executor at `impl`. The decisions are those of \
[Contradictions](contradictions.md); without one, the package goes beyond what is published.

{differences}
## What each of the two enforces

| what | the package | Treadle | shown by |
| --- | --- | --- | --- |
{enforced}"""


class Difference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Moves after which the two go on differently, and why."""

    when: str
    moves: tuple[str, ...]
    theirs: str
    ours: str
    why: str
    decision: str = ""
    """The line of `docs/contradictions` that decides it; empty: the package goes beyond what is published."""

    def tells(self, move: str) -> bool:
        return any(re.fullmatch(pattern, move) for pattern in self.moves)

    def outcomes(self, step: str) -> tuple[str, str]:
        """What each of the two does after a move at a step."""
        return self.theirs.replace("STEP", step), self.ours.replace("STEP", step)


class Enforced(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something that the protocol asks for, and whether each of the two sees to it."""

    what: str
    theirs: str
    ours: str
    probe: str
    place: str


class Beside(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    package: str
    version: str
    differences: tuple[Difference, ...]
    enforced: tuple[Enforced, ...]


def beside() -> Beside:
    """What is known of the package."""
    return msgspec.convert(read_yaml(FILE), Beside)


def beside_page() -> str:
    """Both tables."""
    found = beside()
    rows = [(it.when, it.theirs, it.ours, it.decision, it.why) for it in found.differences]
    kept = [[*map(escape_markdown, (it.what, it.theirs, it.ours)), links([it.place])] for it in found.enforced]
    return _PAGE.format(
        package=found.package,
        version=found.version,
        differences=markdown_table(("STATE.json says", "theirs", "ours", "decision", "why"), rows),
        enforced="".join(f"| {' | '.join(row)} |\n" for row in kept),
    )
