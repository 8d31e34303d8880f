"""What was written for people: `documents`, `diff_only`."""

import re
from typing import Final

from treadle.evidence.cross_references import dead_references
from treadle.evidence.documents import documents_of
from treadle.evidence.findings import Found, Problem, found, problem
from treadle.evidence.subject import Subject
from treadle.protocol.artifact_place import place_of

_PROSE: Final = re.compile(r"\.(md|rst|adoc|txt|ya?ml|json|toml)\Z")
_SHORTEST: Final = 20
_KEPT: Final = 0.5
"""How much of an existing document an amendment leaves as it was."""


async def documents(s: Subject) -> Found:
    """The documents that the exit returns are well formed, have a place, and refer to sections that are there."""
    problems: list[Problem] = []
    given = documents_of(s.case.protocol, s.job.exit, s.case.claim)
    placed: dict[str, str] = {}
    for name, text in given.items():
        problems += [
            problem(f"the document '{name}' {fault}", expected=wanted, code="document.malformed")
            for fault, wanted in faults(text)
        ]
        if place := place_of(s.case.protocol.artifacts[name], s.input):
            placed[place] = text
        else:
            problems.append(
                problem(
                    f"the document '{name}' has no place: {s.case.protocol.artifacts[name].path}",
                    code="document.no_place",
                )
            )
    return found([*problems, *await dead_references(s, given, placed)])


def faults(text: str) -> list[tuple[str, str]]:
    """Why a text is not a document in Markdown, and what would be one."""
    whole = "the whole document in Markdown"
    if len(text.strip()) < _SHORTEST:
        return [("is empty" if not text.strip() else "is too short to be one", whole)]
    said: list[tuple[str, str]] = []
    if bad := next((char for char in text if not char.isprintable() and char not in "\n\t\r"), ""):
        said.append((f"holds the control character {bad!r}", "plain text"))
    if text.count("\n```") % 2 != text.startswith("```"):
        said.append(("has a code block that does not end", "a closing ``` for each opening one"))
    if not re.search(r"^#{1,6} \S", text, re.MULTILINE):
        said.append(("has no heading", whole))
    return said


async def diff_only(s: Subject) -> Found:
    """An existing document was amended, not rewritten."""
    problems: list[Problem] = []
    for change in s.work.changed:
        if change.kind != "modified" or not _PROSE.search(change.path):
            continue
        before = (await s.text(change.path, s.work.base) or "").splitlines()
        after = set((await s.text(change.path) or "").splitlines())
        kept = sum(line in after for line in before)
        if before and kept / len(before) < _KEPT:
            share = f"only {kept} of {len(before)} lines were left"
            problems.append(
                problem(
                    f"was rewritten: {share}",
                    change.path,
                    expected="amend it where it changes",
                    code="document.rewritten",
                )
            )
    return found(problems)
