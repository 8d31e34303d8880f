"""The delta of a design, held against what it changes: `delta_merged`, `affected_paths`."""

import re
from collections.abc import Sequence
from typing import Final

from treadle.evidence.contract_changes import unnamed
from treadle.evidence.findings import Found, Problem, found, problem
from treadle.evidence.schemas.api_contracts import contract_value
from treadle.evidence.schemas.delta import IN_BACKQUOTES, items, loose
from treadle.evidence.subject import Subject
from treadle.protocol.artifact_place import place_of

_DESIGN: Final = "sdd"
_CONTRACTS: Final = ("openapi", "asyncapi")
_PATH: Final = re.compile(r"(?:[A-Z]+ )?/\S*")
_NAMED: Final = f"a bullet with {IN_BACKQUOTES}; if it is part of the design already, write so into the delta"


async def delta_merged(s: Subject) -> Found:
    """What the delta adds and what it has changed stands in the design document, and what it removes does not."""
    place, text = await _delta(s)
    design = _place(s, _DESIGN)
    if text is None:
        return found(
            [problem("there is no delta to be merged", place, expected="the delta of the story", code="delta.missing")]
        )
    said, before = [_plain(await s.text(design, commit) or "") for commit in ("", await _origin(s))]
    problems = [
        problem(
            f"{line.strip()!r} belongs to no item, so that nobody can look for it",
            place,
            number,
            expected=_NAMED,
            code="delta.loose",
        )
        for number, line in loose(text)
    ]
    for one in items(text):
        stands = [name for name in one.signatures if _plain(name) in said]
        if not one.signatures:
            what = f"an item of {one.section} has no name, so that nobody can look for it in {design}"
            problems.append(problem(what, place, one.line, expected=_NAMED, code="delta.nameless"))
        elif one.section == "REMOVED" and stands:
            what = f"`{stands[0]}` is removed by the delta and still stands in {design}"
            problems.append(problem(what, place, one.line, expected=f"{design} without it", code="delta.not_removed"))
        elif one.section != "REMOVED" and (missing := _unmerged(one.signatures, said, before)):
            what = f"`{missing}` ({one.section}) does not stand in {design}"
            problems.append(
                problem(
                    what, place, one.line, expected=f"it is part of {design}, letter by letter", code="delta.not_merged"
                )
            )
    return found(problems)


def _unmerged(names: Sequence[str], said: str, before: str) -> str:
    """What a design lacks: it has none of the names that it had not before. Paths may stand in the contracts only."""
    own = [name for name in names if not _PATH.fullmatch(name)] or names
    new = [name for name in own if _plain(name) not in before]
    return "" if not new or any(_plain(name) in said for name in new) else new[0]


async def _origin(s: Subject) -> str:
    """Where the story began."""
    return await s.git.origin(s.case.state, s.job.inst)


async def affected_paths(s: Subject) -> Found:
    """In a contract, only what the delta names has changed."""
    place, delta = await _delta(s)
    changed = {change.path for change in s.work.changed}
    problems: list[Problem] = []
    for name in _CONTRACTS:
        file = _place(s, name)
        if file in changed:
            before, after = [contract_value(text) for text in (await s.text(file, s.work.base), await s.text(file))]
            wanted = f"as it was, or an item of {place} that names it"
            problems += [
                problem(
                    f"{what} was changed, and the delta does not name it",
                    file,
                    expected=wanted,
                    code="delta.unnamed_change",
                )
                for what in unnamed(before, after, delta or "")
            ]
    return found(problems)


async def _delta(s: Subject) -> tuple[str, str | None]:
    """Where the delta of the story lies, and its text; once it is part of the design, it lies in the archive."""
    place = _place(s, "delta")
    text = await s.text(place) if place else None
    if text is not None:
        return place, text
    declared = s.case.protocol.artifacts.get("deltas")
    folder = declared.path.rpartition("/")[0] if declared else ""
    name = re.compile(rf"{re.escape(folder)}/\d{{4}}-\d\d-\d\d-{re.escape(str(s.input.get('id', '')))}(-\d+)?\.md")
    filed = sorted((path for path in await s.entries() if name.fullmatch(path)), key=lambda path: (len(path), path))
    return (filed[-1], await s.text(filed[-1])) if filed else (place, None)


def _place(s: Subject, artifact: str) -> str:
    declared = s.case.protocol.artifacts.get(artifact)
    return place_of(declared, s.input) if declared else ""


def _plain(text: str) -> str:
    """A text without the marks and breaks that a document may put into it."""
    return re.sub(r"[\s`*\\]+", "", text)
