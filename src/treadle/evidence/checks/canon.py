"""What a rebase may not touch: siblings' merged work (`canon`), and logic (`mechanical_only`)."""

from treadle.evidence.findings import Found, Problem, found, problem
from treadle.evidence.logic import Shape, line_shapes, shapes
from treadle.evidence.subject import Subject
from treadle.git.api.languages import is_source
from treadle.git.api.symbol import Symbol

_WANTED = "the logic that was there; imports, names and arguments may follow the siblings"


async def canon(s: Subject) -> Found:
    """Every symbol a sibling merged has the sibling's signature and body."""
    old = await s.git.origin(s.case.state, s.job.inst)
    new = await s.git.parent_head(s.case.state, s.job.inst)
    paths = {path for change in await s.git.changes(old, new) for path in change.touched if is_source(path)}
    before, merged, ours = [await s.git.api(commit, paths) for commit in (old, new, s.work.commit)]
    if unread := [path for path in ours.broken if path not in merged.broken]:
        return found(
            problem(ours.broken[path], path, expected="the file as it was merged", code="code.unparsable")
            for path in unread
        )
    return found(
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


async def mechanical_only(s: Subject) -> Found:
    """Only imports, names, arguments and parameter lists changed."""
    own = await s.git.head(s.case.state, s.job.inst, s.job.id)
    parent = await s.git.parent_head(s.case.state, s.job.inst)
    origin = await s.git.origin(s.case.state, s.job.inst)
    changed = [*await s.git.changes(parent, s.work.commit), *await s.git.changes(origin, own)]
    problems: list[Problem] = []
    for path in dict.fromkeys(path for change in changed for path in change.touched):
        mine, theirs, now = [await s.text(path, commit) for commit in (own, parent, s.work.commit)]
        if now is not None:
            problems += _logic(path, mine or "", theirs or "", now)
        elif mine is not None and (theirs is not None or await s.text(path, origin) is None):
            problems.append(
                problem("was removed", path, expected="a rebase removes nothing of its own", code="canon.removed")
            )
    return found(problems)


def _logic(path: str, own: str, theirs: str, now: str) -> list[Problem]:
    """Code in a file that neither side had, whatever the names in it are."""
    sides = [_shapes(path, text) for text in (own, theirs)]
    ours = _shapes(path, now)
    if isinstance(ours, SyntaxError):
        if not any(isinstance(side, SyntaxError) for side in sides):
            return [problem(f"cannot be parsed: {ours.msg}", path, ours.lineno or 1, code="code.unparsable")]
        sides, ours = [line_shapes(own), line_shapes(theirs)], line_shapes(now)  # nobody could read it before either
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
        return shapes(path, source)
    except SyntaxError as error:
        return error
    except (ValueError, RecursionError, MemoryError) as error:
        return SyntaxError(f"{type(error).__name__}: {error}")
