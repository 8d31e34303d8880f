"""The commit of a lane: `commit`, `commit_once`, `checkpoint`, `readonly`, `rebased`, `resolved`.

None of them makes that commit: `ClaimVerifier` records the lane before the first check.

Also the limits of a rebase: it keeps siblings' merged work (`canon`), logic (`mechanical_only`, `mechanical_tests`),
and lines that others have merged into files in conflict (`both_kept`).
"""

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from treadle.evidence.call_arguments import (
    CodeFile,
    SideChanges,
    SideFile,
    changed_definitions,
    changed_lines,
    rebase_problems,
)
from treadle.evidence.checks.scope import left_in_conflict
from treadle.evidence.checks.sign_off import unknown_criteria
from treadle.evidence.code_pieces import definitions_of, read_units
from treadle.evidence.code_shapes import Shape, line_shapes, logic_shapes
from treadle.evidence.document_text import without_comments
from treadle.evidence.findings import CheckOutcome, CheckProblem, conclude, join_names, note, problem, refuse
from treadle.evidence.subject import Subject, accepted_commits
from treadle.git.api.languages import Symbol, is_source
from treadle.git.files import FindingKind, LaneFinding
from treadle.git.globs import matches
from treadle.protocol.items import Json

# Changes beside the lane while an activity worked, by the activity or by others: the evidence notes them, and they
# prove nothing.

FACT: Final = "meanwhile"
"""The name under which it is part of a check's evidence."""


def changes_meanwhile(s: Subject) -> tuple[CheckProblem, ...]:
    """A note for each thing that changed where this activity had nothing to do."""
    moved = [
        note(f"another program moved the ref {one} during the step; Treadle restored it", code="record.ref_moved")
        for one in s.work.moved
    ]
    around = [
        note(
            f"in the user's repository, {one} while {s.job.step} worked in its own folder",
            code="record.repository_changed",
        )
        for one in s.work.around
    ]
    return (*moved, *around)


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


async def commit(s: Subject) -> CheckOutcome:
    """The lane's tree differs from the activity's base, and everything in it could be recorded."""
    if s.work.tree == await s.git.tree(s.work.base):
        return refuse(
            "nothing was changed",
            expected="the files of this step, written in the working folder",
            code="record.nothing",
        )
    return await checkpoint(s)


async def commit_once(s: Subject) -> CheckOutcome:
    """Check as `commit` does, but let a step that was accepted before leave its work unchanged, if it still passes."""
    done = [one for one, _ in accepted_commits(s.case, s.inst) if one.step == s.job.step]
    if done and s.work.tree == await s.git.tree(s.work.base):
        kept = await checkpoint(s)
        same = note("nothing was changed: it stays as it was accepted", code="record.unchanged")
        return msgspec.structs.replace(kept, notes=(*kept.notes, same))
    return await commit(s)


async def checkpoint(s: Subject) -> CheckOutcome:
    """Everything in the lane could be recorded, changed or not."""
    own = [one for one in s.work.findings if one.kind != "link" or one.path in s.work.paths]
    notes = [
        note(f"was left out: {one.detail}", one.path, code=_CODES[one.kind]) for one in own if one.kind in _HARMLESS
    ]
    return _with_meanwhile(s, conclude([_left_out(one) for one in own if one.kind not in _HARMLESS], notes))


def _with_meanwhile(s: Subject, one: CheckOutcome) -> CheckOutcome:
    beside = changes_meanwhile(s)
    facts: dict[str, Json] = {FACT: [str(one) for one in beside]} if beside else {}
    return msgspec.structs.replace(one, notes=(*one.notes, *beside), facts=facts)


def _left_out(one: LaneFinding) -> CheckProblem:
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


async def readonly(s: Subject) -> CheckOutcome:
    """The lane's tree is unchanged, and the answer, which is only text, names only criteria that exist."""
    problems = await unknown_criteria(s)
    if s.work.tree != await s.git.tree(s.work.base):
        wanted = "this step only reads; restore the file"
        changed = [
            problem(f"was {one.kind}", one.path, expected=wanted, code="scope.readonly") for one in s.work.changed
        ]
        problems = [*changed, *problems]
    return _with_meanwhile(s, conclude(problems))


async def rebased(s: Subject) -> CheckOutcome:
    """The lane stands on the new head, without conflict markers."""
    parent = await s.git.parent_head(s.case.state, s.job.inst)
    problems: list[CheckProblem] = []
    if not await s.git.contains(s.work.commit, parent):
        problems.append(
            problem(f"the work does not stand on its parent's head {parent[:12]}", code="rebase.not_on_parent")
        )
    changed = await s.git.changes(parent, s.work.commit)
    problems += await _marked(s, [change.path for change in changed if change.kind != "deleted"])
    where = f"stands on {parent[:12]}, {join_names([one.path for one in s.work.changed]) or 'unchanged'}"
    return conclude(problems, [note(where, code="rebase.base")])


async def resolved(s: Subject) -> CheckOutcome:
    """Refuse conflict markers in the files that the last rebase left in conflict and that this role may write."""
    return conclude(await _marked(s, [path for path in left_in_conflict(s) if matches(path, s.scope.writes)]))


async def _marked(s: Subject, paths: Iterable[str]) -> list[CheckProblem]:
    return [
        problem(
            "a conflict marker was left",
            path,
            number,
            expected="the resolved lines, without markers",
            code="rebase.marker",
        )
        for path in paths
        for number, line in enumerate((await s.text(path) or "").splitlines(), 1)
        if line.startswith(_MARKS)
    ]


# A rebase keeps siblings' merged work (`canon`) and logic (`mechanical_only`, `mechanical_tests`).

_WANTED = "the same logic as before; only imports, names and arguments may follow the siblings"


async def canon(s: Subject) -> CheckOutcome:
    """Every symbol a sibling merged has the sibling's signature and body."""
    old = await s.origin()
    new = await s.git.parent_head(s.case.state, s.job.inst)
    paths = {path for change in await s.git.changes(old, new) for path in change.touched if is_source(path)}
    before, merged, ours = [await s.git.api(commit, paths) for commit in (old, new, s.work.commit)]
    if unread := [path for path in ours.broken if path not in merged.broken]:
        return conclude(
            problem(ours.broken[path], path, expected="the file as it was merged", code="code.unparsable")
            for path in unread
        )
    return conclude(
        problem(
            f"{name}, which a sibling merged, {_what(ours.symbols.get(name), symbol)}",
            expected=f"as merged: {symbol.signature}",
            code="canon.changed",
        )
        for name, symbol in merged.symbols.items()
        if symbol not in (before.symbols.get(name), ours.symbols.get(name))
    )


def _what(mine: Symbol | None, merged: Symbol) -> str:
    if mine is None:
        return "is gone"
    return "has another signature" if mine.signature != merged.signature else "does something else"


async def mechanical_only(s: Subject) -> CheckOutcome:
    """Only imports, names, arguments and parameter lists changed."""
    return conclude(await _new_logic(s, await _adapted(s)))


async def mechanical_tests(s: Subject) -> CheckOutcome:
    """Check the same for test files only; the tests themselves decide whether the remaining code still works."""
    return conclude(await _new_logic(s, [path for path in await _adapted(s) if s.tests.is_test(path)]))


async def _adapted(s: Subject) -> list[str]:
    """The files that either side has changed, or the rebase."""
    own = await s.git.head(s.case.state, s.job.inst, s.job.id)
    parent = await s.git.parent_head(s.case.state, s.job.inst)
    origin = await s.origin()
    changed = [*await s.git.changes(parent, s.work.commit), *await s.git.changes(origin, own)]
    return list(dict.fromkeys(path for change in changed for path in change.touched))


async def _new_logic(s: Subject, paths: list[str]) -> list[CheckProblem]:
    own = await s.git.head(s.case.state, s.job.inst, s.job.id)
    parent = await s.git.parent_head(s.case.state, s.job.inst)
    origin = await s.origin()
    others = await _changes_of_both(s, (origin, own, parent))
    problems: list[CheckProblem] = []
    for path in paths:
        mine, theirs, now = [await s.text(path, commit) for commit in (own, parent, s.work.commit)]
        if now is not None:
            found = _logic(path, mine or "", theirs or "", now)
            problems += found or _arguments(path, (mine or "", theirs or ""), now, others)
        elif mine is not None and (theirs is not None or await s.text(path, origin) is None):
            problems.append(
                problem("was removed", path, expected="the file; a rebase removes none", code="canon.removed")
            )
    return problems


async def _changes_of_both(s: Subject, commits: tuple[str, str, str]) -> tuple[SideChanges, SideChanges]:
    """Return the changes that this work has to follow, and those that the others' work has to follow.

    Each side follows the changed definitions of the other one. The rebase itself may have changed signatures, because
    they hand on a parameter; calls of those follow, too.
    """
    origin, own, parent = commits
    paths = set(await _adapted(s)) | {path for one in await s.git.changes(origin, parent) for path in one.touched}
    known = {
        commit: [it for path in sorted(paths) for it in definitions_of(path, await s.text(path, commit) or "")]
        for commit in (*commits, s.work.commit)
    }
    follows = changed_definitions(known[origin], known[parent])
    followed = changed_definitions(known[origin], known[own])
    now = known[s.work.commit]
    return (
        follows.more(changed_definitions(known[own], now)),
        followed.more(changed_definitions(known[parent], now)),
    )


def _arguments(
    path: str, sides: tuple[str, str], now: str, others: tuple[SideChanges, SideChanges]
) -> list[CheckProblem]:
    """Return a problem for each call or name in a file that differs by more than the other side has changed."""
    written = _readable_units(path, now)
    if written is None:
        known = [line for text in sides for line in text.splitlines()]
        what, wanted = "has other numbers or texts than before", "those that it had, besides new arguments"
        return [
            problem(f"the line {what}", path, number, expected=wanted, code="canon.arguments")
            for number in changed_lines(now, known)
        ]
    files = [(_readable_units(path, text), changes) for text, changes in zip(sides, others, strict=True)]
    found = rebase_problems([SideFile(file, changes) for file, changes in files if file], written)
    return [
        problem(f"{one.name} {one.what}".strip(), path, one.line, expected=one.expected, code=one.code) for one in found
    ]


def _readable_units(path: str, text: str) -> CodeFile | None:
    """None for a language without a parser here, and for a file that no parser can read, as before the rebase."""
    try:
        return read_units(path, text)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _logic(path: str, own: str, theirs: str, now: str) -> list[CheckProblem]:
    """Return a problem for each piece of logic in a file that neither side had; names do not count."""
    sides = [_shapes(path, text) for text in (own, theirs)]
    ours = _shapes(path, now)
    if isinstance(ours, SyntaxError):
        if not any(isinstance(side, SyntaxError) for side in sides):
            return [problem(f"cannot be parsed: {ours.msg}", path, ours.lineno or 1, code="code.unparsable")]
        sides, ours = [line_shapes(own), line_shapes(theirs)], line_shapes(now)  # it was unreadable before, too
    known = {shape.logic for side in sides if not isinstance(side, SyntaxError) for shape in side}
    return [
        problem(
            f"{shape.name} does something that it did not do before",
            path,
            shape.line,
            expected=_WANTED,
            code="canon.new_logic",
        )
        for shape in ours
        if shape.logic not in known
    ]


def _shapes(path: str, source: str) -> list[Shape] | SyntaxError:
    try:
        return logic_shapes(path, source)
    except SyntaxError as error:
        return error
    except (ValueError, RecursionError, MemoryError) as error:
        return SyntaxError(f"{type(error).__name__}: {error}")


# `both_kept`: a rebase keeps the lines that others have merged into the files in conflict.

_WORD: Final = re.compile(r"\w(?:[\w.-]*\w)?")
_NUMBER: Final = re.compile(r"(?<![\w-])\d[\d.,]*(?![\w-])")
_RULE: Final = re.compile(r"-{2,}")
_DOCUMENTS: Final = (".md", ".rst", ".adoc", ".txt", ".feature", ".yaml", ".yml", ".json")
_SHOWN: Final = 3


async def both_kept(s: Subject) -> CheckOutcome:
    """Refuse documents in conflict that lost lines which neither side changed or which others added.

    "Others" are instances merged since this work began. Lost lines of code are only noted: code may need another form,
    and the tests of both sides decide there.
    """
    origin = await s.origin()
    theirs = await s.git.parent_head(s.case.state, s.job.inst)
    mine = await s.git.head(s.case.state, s.job.inst, s.job.id)
    problems: list[CheckProblem] = []
    notes: list[CheckProblem] = []
    for path in s.paths():
        before, others, own, now = [await s.text(path, commit) or "" for commit in (origin, theirs, mine, "")]
        lost = lost_lines(before, others, own, now)
        if path.endswith(_DOCUMENTS):  # a line that became a comment is lost, too
            stated = [without_comments(text, path) for text in (before, others, own, now)]
            lost = list(dict.fromkeys([*lost, *lost_lines(*stated)]))
        if not path.endswith(_DOCUMENTS):
            notes += [note(f"is without {line!r}", path, code="rebase.lost_lines") for line in lost]
            continue
        problems += [
            problem(
                f"{line!r} is lost; it was there before, or others have merged it",
                path,
                expected="the lines of both sides",
                code="rebase.lost_lines",
            )
            for line in lost[:_SHOWN]
        ]
        if len(lost) > _SHOWN:
            problems.append(
                problem(
                    f"{len(lost) - _SHOWN} more lines are lost",
                    path,
                    expected="the lines of both sides",
                    code="rebase.lost_lines",
                )
            )
    return conclude(problems, notes)


def lost_lines(before: str, others: str, own: str, now: str) -> list[str]:
    """Return the lines missing from a reconciled text: those neither side touched, and those the others added.

    Spaces do not count, nor do numbers, which both sides may have updated. An added line may have changed, as long as
    half of the words that only it has are still there.
    """
    old, mine, kept = ({_shape(line) for line in text.splitlines()} for text in (before, own, now))
    known, there = _words(f"{before}\n{own}"), _words(now)
    lost = []
    for line in dict.fromkeys(line.strip() for line in others.splitlines() if line.strip()):
        shape = _shape(line)
        if shape in kept or (shape in old and shape not in mine):
            continue
        words = _words(line) - known
        if shape in old or 2 * len(words & there) < len(words):
            lost.append(line)
    return lost


def _shape(line: str) -> str:
    """A line without its spaces, as long as its words stay apart, and without its numbers."""
    return _RULE.sub("--", _NUMBER.sub("0", " ".join(line.split())))


def _words(text: str) -> set[str]:
    return {word for word in _WORD.findall(text) if not _NUMBER.fullmatch(word)}
