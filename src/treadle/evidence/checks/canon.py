"""What a rebase may not touch: siblings' merged work (`canon`), and logic (`mechanical_only`)."""

import ast
import re
from collections.abc import Iterable
from typing import Final

from treadle.evidence.findings import Found, Problem, found, problem
from treadle.evidence.subject import Subject
from treadle.git.api import Api, api_of, is_source

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_IMPORT: Final = re.compile(r"\s*(import|from|use|using|#include|require|package|export \{)\b")
_NAME: Final = re.compile(r"[^\W\d]\w*")


async def canon(s: Subject) -> Found:
    """Every symbol a sibling merged has the sibling's signature and body."""
    old = await s.git.origin(s.case.state, s.job.inst)
    new = await s.git.parent_head(s.case.state, s.job.inst)
    paths = {path for change in await s.git.changes(old, new) for path in change.touched if is_source(path)}
    before, merged, ours = [await _api(s, commit, paths) for commit in (old, new, s.work.commit)]
    problems: list[Problem] = []
    for name, symbol in merged.items():
        if before.get(name) == symbol or ours.get(name) == symbol:
            continue
        mine = ours.get(name)
        what = (
            "is gone"
            if mine is None
            else "has another signature"
            if mine.signature != symbol.signature
            else "does something else"
        )
        problems.append(problem(f"{name}, which a sibling merged, {what}", expected=f"as merged: {symbol.signature}"))
    return found(problems)


async def _api(s: Subject, commit: str, paths: Iterable[str]) -> Api:
    found_: Api = {}
    for path in sorted(paths):
        data = await s.git.show(commit, path)
        found_ |= api_of(path, data) if data is not None else {}
    return found_


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
            problems.append(problem("was removed", path, expected="a rebase removes nothing of its own"))
    return found(problems)


def _logic(path: str, own: str, theirs: str, now: str) -> list[Problem]:
    """Code in a file that neither side had, whatever the names in it are."""
    shapes = shapes_of if path.endswith(".py") else line_shapes
    try:
        known = {shape for text in (own, theirs) for shape, _, _ in shapes(text)}
        added = [(name, line) for shape, name, line in shapes(now) if shape not in known]
    except SyntaxError as error:
        return [problem(f"cannot be parsed: {error.msg}", path, error.lineno or 1)]
    wanted = "the logic that was there; imports, names and arguments may follow the siblings"
    return [
        problem(f"{name} does something that it did not do before", path, line, expected=wanted) for name, line in added
    ]


def shapes_of(source: str) -> list[tuple[str, str, int]]:
    """What each function does, without imports, names, arguments and parameters; and the rest of the module."""
    module = ast.parse(source)
    functions = [node for node in ast.walk(module) if isinstance(node, _Function)]
    shapes = [(_erased(node.body), node.name, node.lineno) for node in functions]
    rest = [
        node for node in module.body if not isinstance(node, _Function | ast.ClassDef | ast.Import | ast.ImportFrom)
    ]
    return shapes + [(_erased([node]), "the module", node.lineno) for node in rest]


def _erased(body: list[ast.stmt]) -> str:
    return "\n".join(ast.dump(_Erase().visit(ast.parse(ast.unparse(node)))) for node in body)


class _Erase(ast.NodeTransformer):
    """Takes out what a rebase may change."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        return ast.Pass() if isinstance(node, ast.Import | ast.ImportFrom) else super().generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(id="_", ctx=node.ctx)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        # `module.name` for `name` is a renaming too.
        return ast.Name(id="_", ctx=node.ctx)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        return ast.Call(func=self.visit(node.func), args=[], keywords=[])

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def _function(self, node: _Function) -> ast.AST:
        self.generic_visit(node)
        node.name, node.returns = "_", None
        node.args = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        return node


def line_shapes(source: str) -> list[tuple[str, str, int]]:
    """The same for a language that is not understood: lines without names and without what stands in parentheses."""
    return [
        (shape, "the line", number)
        for number, line in enumerate(source.splitlines(), 1)
        if not _IMPORT.match(line) and (shape := _line_shape(line))
    ]


def _line_shape(line: str) -> str:
    while (shorter := re.sub(r"\([^()]*\)", "⟮⟯", line)) != line:
        line = shorter
    return re.sub(r"\s+", "", _NAME.sub("_", line))
