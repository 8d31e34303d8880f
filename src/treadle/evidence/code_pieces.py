"""Reads files into the pieces that `call_arguments` compares: the tree of a Python file, and its definitions."""

import ast
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from treadle.evidence.call_arguments import CodeFile, CodePart, CodeUnit, DefinedName
from treadle.git.api.languages import is_understood, read_api

_PYTHON: Final = (".py", ".pyi")


def read_units(path: str, source: str) -> CodeFile | None:
    """A file, piece by piece; None if its language has no parser here, a `SyntaxError` if it cannot be parsed."""
    if PurePosixPath(path).suffix in _PYTHON:
        return python_file(source)
    if is_understood(path):
        from treadle.evidence.script_arguments import script_file  # noqa: PLC0415 (its library is slow to load)

        return script_file(path, source)
    return None


def definitions_of(path: str, source: str) -> list[DefinedName]:
    """Return the definitions of a file; for other languages than Python, its exports; empty if it does not parse."""
    if PurePosixPath(path).suffix not in _PYTHON:
        symbols = read_api(path, source.encode(errors="replace")).symbols
        return [DefinedName(name, one.signature, one.body) for name, one in symbols.items()]
    from treadle.git.api.python import definitions  # noqa: PLC0415 (its library is loaded when it is needed)

    try:
        return [DefinedName(one.name, one.marks + one.shape, one.body, one.is_value) for one in definitions(source)]
    except (SyntaxError, ValueError, RecursionError):
        return []


# Python.

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_SKIPPED: Final = frozenset({"ctx", "type_comment", "annotation", "returns", "type_params", "kind", "simple"})


def python_file(source: str) -> CodeFile:
    """A Python file, piece by piece; a `SyntaxError` if it is none."""
    module = ast.parse(source)
    imports: dict[str, str] = {}
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom):
            imports |= {it.asname or it.name: it.name for it in node.names}
        elif isinstance(node, ast.Import):
            imports |= {it.asname or it.name.partition(".")[0]: "" for it in node.names}
    units = list(_python_units("", module))
    top = {it.name for it in module.body if isinstance(it, _Function | ast.ClassDef)}
    top |= {it.id for one in module.body for it in _targets(one)}
    return CodeFile(tuple(units), imports, frozenset(top))


def _targets(node: ast.stmt) -> Iterator[ast.Name]:
    if isinstance(node, ast.Assign | ast.AnnAssign):
        yield from (it for it in ast.walk(node) if isinstance(it, ast.Name) and isinstance(it.ctx, ast.Store))


def _python_units(owner: str, scope: ast.Module | ast.ClassDef) -> Iterator[CodeUnit]:
    for node in scope.body:
        name = f"{owner}{node.name}" if isinstance(node, _Function | ast.ClassDef) else ""
        if isinstance(node, _Function):
            body = tuple(_python_part(one) for one in node.body if not _is_left_out(one))
            head = tuple(_python_part(one) for one in node.decorator_list)
            yield CodeUnit(name, node.lineno, head, _defaults(node), body, _bound(node))
        elif isinstance(node, ast.ClassDef):
            # Decorators and bases of a class stand for themselves: nothing else reads them.
            head = tuple(_python_part(one) for one in (*node.decorator_list, *node.bases, *node.keywords))
            yield CodeUnit(name, node.lineno, head, {}, (), frozenset())
            yield from _python_units(f"{name}.", node)
        elif not _is_left_out(node):
            yield CodeUnit("", node.lineno, (), {}, (_python_part(node),), _bound_inside(node))


def _is_left_out(node: ast.stmt) -> bool:
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    return is_text or isinstance(node, ast.Import | ast.ImportFrom)


def _defaults(node: _Function) -> dict[str, CodePart]:
    listed = [*node.args.posonlyargs, *node.args.args]
    pairs: list[tuple[ast.arg, ast.expr | None]] = [
        *zip(listed[len(listed) - len(node.args.defaults) :], node.args.defaults, strict=True),
        *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True),
    ]
    return {one.arg: _python_part(value) for one, value in pairs if value is not None}


def _bound(node: ast.AST) -> frozenset[str]:
    names = {it.arg for it in ast.walk(node) if isinstance(it, ast.arg)}
    names |= {it.id for it in ast.walk(node) if isinstance(it, ast.Name) and isinstance(it.ctx, ast.Store)}
    names |= {it.name for it in ast.walk(node) if isinstance(it, ast.ExceptHandler | ast.MatchAs) and it.name}
    names |= {it.name for it in ast.walk(node) if isinstance(it, _Function | ast.ClassDef) and it is not node}
    return frozenset(names)


def _bound_inside(node: ast.AST) -> frozenset[str]:
    """The names of loops and lambdas in a statement outside of functions: its own are names of the file."""
    scopes = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)
    return frozenset(name for it in ast.walk(node) if isinstance(it, scopes) for name in _bound(it))


def _python_part(node: ast.AST) -> CodePart:
    line = getattr(node, "lineno", 0)
    match node:
        case ast.Name(id=name):
            return CodePart("name", name, (), line)
        case ast.Attribute(value=value, attr=attr):
            inner = _python_part(value)
            if inner.kind == "name":
                return CodePart("name", f"{inner.text}.{attr}", (), line)
            return CodePart("member", attr, (inner,), line)
        case ast.Call(func=func, args=args, keywords=keywords):
            listed = [CodePart("argument", "", (_python_part(one),), line) for one in args]
            listed += [CodePart("argument", one.arg or "**", (_python_part(one.value),), line) for one in keywords]
            return CodePart("call", "", (_python_part(func), *listed), line)
        case ast.Import() | ast.ImportFrom():
            return CodePart("import")
        case ast.Constant(value=value):
            return CodePart("leaf", repr(value), (), line)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            inside = (*node.decorator_list, *node.body)
            return CodePart("function", "", (CodePart("name", node.name), *map(_python_part, inside)), line)
        case ast.Lambda(body=body):
            return CodePart("function", "", (_python_part(body),), line)
    parts = [one for name, value in ast.iter_fields(node) if name not in _SKIPPED for one in _field(name, value, line)]
    return CodePart(type(node).__name__, "", tuple(parts), line)


def _field(name: str, value: object, line: int) -> Iterator[CodePart]:
    if isinstance(value, ast.AST):
        yield CodePart(name, "", (_python_part(value),), line)
    elif isinstance(value, list):
        listed = [_python_part(one) if isinstance(one, ast.AST) else CodePart("leaf", repr(one)) for one in value]
        yield CodePart(name, "", tuple(listed), line)
    elif value is not None:
        yield CodePart("leaf", repr(value), (), line)
