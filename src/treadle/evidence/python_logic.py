"""What Python code does, whatever its names are."""

import ast
from collections.abc import Iterator

from treadle.evidence.logic import Shape

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def python_shapes(source: str) -> list[Shape]:
    """Every function, and what stands in classes and in the module besides; a `SyntaxError` if it is no program."""
    module = ast.parse(source)
    functions = [node for node in ast.walk(module) if isinstance(node, _Function)]
    found = [Shape(_erased(node.body), node.name, node.lineno) for node in functions]
    classes = [node for node in ast.walk(module) if isinstance(node, ast.ClassDef)]
    found += [Shape(_erased([one]), node.name, one.lineno) for node in classes for one in _rest(node.body)]
    return found + [Shape(_erased([one]), "the module", one.lineno) for one in _rest(module.body)]


def _rest(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        if not isinstance(node, _Function | ast.ClassDef | ast.Import | ast.ImportFrom) and not _is_text(node):
            yield node


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _erased(body: list[ast.stmt]) -> str:
    kept = [node for node in body if not _is_text(node)]
    return "\n".join(ast.dump(_Erase().visit(ast.parse(ast.unparse(node)))) for node in kept)


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
