"""What a lane holds as a commit: `commit`, `commit_once`, `checkpoint`, `readonly`, `rebased`, `resolved`."""

from collections.abc import Iterable
from typing import Final

import msgspec

from treadle.evidence.checks.scope import left_in_conflict
from treadle.evidence.findings import Found, Problem, failed, found, note, problem, some
from treadle.evidence.meanwhile import FACT, meanwhile
from treadle.evidence.past import commits
from treadle.evidence.subject import Subject
from treadle.git.globs import matches
from treadle.git.scan import Finding, FindingKind
from treadle.protocol.items import Json

_MARKS = ("<<<<<<< ", ">>>>>>> ")
_HARMLESS = frozenset({"special"})
_CODES: Final[dict[FindingKind, str]] = {
    "large": "record.large",
    "link": "record.link",
    "name": "record.name",
    "repository": "record.repository",
    "special": "record.special",
    "submodule": "record.submodule",
}


async def commit(s: Subject) -> Found:
    """The lane's tree differs from the activity's base; recorded as one commit."""
    if s.work.tree == await s.git.tree(s.work.base):
        return failed(
            "nothing was changed",
            expected="the files of this step, written in the working folder",
            code="record.nothing",
        )
    return await checkpoint(s)


async def commit_once(s: Subject) -> Found:
    """As commit; but what was accepted of this step before may stay as it is, if it still passes."""
    done = [one for one, _ in commits(s.case, s.inst) if one.step == s.job.step]
    if done and s.work.tree == await s.git.tree(s.work.base):
        kept = await checkpoint(s)
        same = note("nothing was changed: it stays as it was accepted", code="record.unchanged")
        return msgspec.structs.replace(kept, notes=(*kept.notes, same))
    return await commit(s)


async def checkpoint(s: Subject) -> Found:
    """The lane's tree is recorded as a commit, changed or not."""
    own = [one for one in s.work.findings if one.kind != "link" or one.path in s.work.paths]
    notes = [
        note(f"was left out: {one.detail}", one.path, code=_CODES[one.kind]) for one in own if one.kind in _HARMLESS
    ]
    return _with_meanwhile(s, found([_left_out(one) for one in own if one.kind not in _HARMLESS], notes))


def _with_meanwhile(s: Subject, one: Found) -> Found:
    beside = meanwhile(s)
    facts: dict[str, Json] = {FACT: [str(one) for one in beside]} if beside else {}
    return msgspec.structs.replace(one, notes=(*one.notes, *beside), facts=facts)


def _left_out(one: Finding) -> Problem:
    if one.kind == "link":
        return problem(
            f"the link {one.detail}",
            one.path,
            expected="a link inside of the working folder, or a file",
            code=_CODES[one.kind],
        )
    return problem(
        f"cannot be recorded: {one.detail}",
        one.path,
        expected="remove it, or keep it out with .gitignore",
        code=_CODES[one.kind],
    )


async def readonly(s: Subject) -> Found:
    """The lane's tree is unchanged."""
    if s.work.tree == await s.git.tree(s.work.base):
        return _with_meanwhile(s, found())
    wanted = "this step reads and changes nothing; put it back"
    problems = [problem(f"was {one.kind}", one.path, expected=wanted, code="scope.readonly") for one in s.work.changed]
    return _with_meanwhile(s, found(problems))


async def rebased(s: Subject) -> Found:
    """The lane stands on the new head, without conflict markers."""
    parent = await s.git.parent_head(s.case.state, s.job.inst)
    problems: list[Problem] = []
    if not await s.git.contains(s.work.commit, parent):
        problems.append(
            problem(f"the work does not stand on its parent's head {parent[:12]}", code="rebase.not_on_parent")
        )
    changed = await s.git.changes(parent, s.work.commit)
    problems += await _marked(s, [change.path for change in changed if change.kind != "deleted"])
    where = f"stands on {parent[:12]}, {some([one.path for one in s.work.changed]) or 'unchanged'}"
    return found(problems, [note(where, code="rebase.base")])


async def resolved(s: Subject) -> Found:
    """What the last rebase has left in conflict holds no markers any more, as far as this role may write it."""
    return found(await _marked(s, [path for path in left_in_conflict(s) if matches(path, s.scope.writes)]))


async def _marked(s: Subject, paths: Iterable[str]) -> list[Problem]:
    return [
        problem("a conflict marker was left", path, number, expected="the lines as they shall be", code="rebase.marker")
        for path in paths
        for number, line in enumerate((await s.text(path) or "").splitlines(), 1)
        if line.startswith(_MARKS)
    ]
