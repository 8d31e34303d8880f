"""The reader for Python: griffe on the source text. It imports and runs nothing."""

import ast
import io
import logging
import tokenize
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Final

import griffe
import msgspec

from treadle.git.api.languages import FileExports, is_private, make_symbol, merge_apis, module_name

logging.getLogger("griffe").disabled = True  # its complaints about odd code are of no use to people

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Node = ast.AST | griffe.ObjectNode
_STARS: Final = {griffe.ParameterKind.var_positional: "*", griffe.ParameterKind.var_keyword: "**"}


class Definition(msgspec.Struct, frozen=True):
    """A name that a program defines, however private."""

    name: str
    """With the classes that it is inside of."""
    shape: str
    """How it is used, without its decorators."""
    marks: str
    """Its decorators."""
    body: str
    """Its code without comments, docstrings and layout."""
    is_value: bool
    """Neither a function nor a class."""


class _Import(msgspec.Struct, frozen=True):
    """A name that comes from elsewhere."""

    name: str
    target: str
    is_repeated: bool
    """`from a import b as b`, which is how a stub passes a name on."""
    is_relative: bool


def read(path: str, source: bytes) -> FileExports:
    """Return the exports of a Python file; raise `SyntaxError` or `ValueError` if it cannot be parsed."""
    module, is_package = module_name(path), PurePosixPath(path).stem == "__init__"
    is_inner = is_private(module)
    collected, exports = _collect(source, module, is_package=is_package)

    def is_offered(name: str) -> bool:
        first, _, rest = name.partition(".")
        outside = is_inner or (first in exports if exports is not None else not first.startswith("_"))
        return outside and all(_is_open(part) for part in rest.split(".") if rest)

    offered = [one for one in collected.definitions() if is_offered(one.name) and one.name != "__all__"]
    symbols = merge_apis({f"{module}.{one.name}": make_symbol(one.marks + one.shape, one.body)} for one in offered)
    links = {
        f"{module}.{one.name}": one.target
        for one in collected.imports
        if f"{module}.{one.name}" not in symbols and _is_reexported(one, module, exports, is_package or is_inner)
    }
    return FileExports(symbols=symbols, links=links, is_private=is_inner)


def definitions(source: str) -> list[Definition]:
    """Everything that a program defines at its top and in its classes; a `SyntaxError` if it is no program."""
    return list(_collect(source.encode(errors="replace"), "module", is_package=False)[0].definitions())


def _is_reexported(one: _Import, module: str, exports: frozenset[str] | None, is_package: bool) -> bool:
    """Whether an imported name is offered to others: by `__all__`, or by a package that gathers its own parts."""
    if exports is not None and one.name != "*":
        return one.name in exports
    is_own = one.is_relative or one.target.partition(".")[0] == module.partition(".")[0]
    return one.is_repeated or (is_package and is_own and not one.name.startswith("_"))


def _is_open(name: str) -> bool:
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))


class _Collector(griffe.Extension):
    """Everything that griffe comes across: of a name that is defined twice it would keep only one."""

    def __init__(self, module: str, *, is_package: bool) -> None:
        super().__init__()
        self._module, self._is_package, self._start = module, is_package, f"{module}."
        self._found: list[tuple[str, griffe.Object | None, ast.AST]] = []
        self._assigned: list[tuple[str, griffe.Object]] = []
        self.imports: list[_Import] = []

    def on_instance(
        self, *, node: _Node, obj: griffe.Object | griffe.Alias, agent: griffe.Visitor | griffe.Inspector, **_: Any
    ) -> None:
        if not isinstance(node, ast.AST) or not isinstance(obj, griffe.Object) or obj.is_module:
            return
        name = obj.path.removeprefix(self._start)
        if agent.current.is_function:
            self._assigned.append((name, obj))
        else:
            self._found.append((name, obj, node))

    def on_attribute_node(self, *, node: _Node, agent: griffe.Visitor | griffe.Inspector, **_: Any) -> None:
        """`a, b = …`, which griffe passes over."""
        current = agent.current
        if isinstance(node, ast.Assign) and not current.is_function:
            several = [one for one in node.targets if isinstance(one, ast.Tuple | ast.List)]
            names = [one.id for each in several for one in ast.walk(each) if isinstance(one, ast.Name)]
            inside = f"{current.path}.".removeprefix(self._start)
            self._found += [(inside + name, None, node) for name in names]

    def on_alias_instance(self, *, node: _Node, alias: griffe.Alias, **_: Any) -> None:
        if not isinstance(node, ast.ImportFrom | ast.Import) or not alias.parent or not alias.parent.is_module:
            return
        name = "*" if alias.wildcard else alias.name
        original = next((one.name for one in node.names if one.asname == name), name)
        repeated = any(one.asname == one.name == name for one in node.names)
        if isinstance(node, ast.ImportFrom) and node.level:
            target = ".".join([*self._above(node.level), *([node.module] if node.module else []), original])
            self.imports.append(_Import(name, target, repeated, is_relative=True))
        else:
            self.imports.append(
                _Import(name, alias.target_path + (".*" if alias.wildcard else ""), repeated, is_relative=False)
            )

    def _above(self, level: int) -> list[str]:
        """Return the package that leading dots of a name mean; griffe would have to know the whole tree."""
        parts = self._module.split(".")
        up = level - 1 if self._is_package else level
        return parts[: len(parts) - up] if up < len(parts) else parts[:1]

    def definitions(self) -> Iterator[Definition]:
        for name, obj, node in self._found:
            yield _definition(name, obj, node)
        declared = {name for name, _, _ in self._found}
        for name, value in self._assigned:
            if name not in declared:  # the body of `__init__` has what `self.x = …` does
                yield Definition(name, _value(name, value), "", "", is_value=True)


def _collect(source: bytes, module: str, *, is_package: bool) -> tuple[_Collector, frozenset[str] | None]:
    collected = _Collector(module, is_package=is_package)
    encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    text = source.decode(encoding, errors="replace")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        place = Path("__init__.py" if is_package else "module.py")
        top = griffe.visit(module, place, text, extensions=griffe.Extensions(collected))
    exports = top.exports
    return collected, None if exports is None else frozenset(str(one) for one in exports)


def _definition(name: str, obj: griffe.Object | None, node: ast.AST) -> Definition:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            shape = _function(node, obj)
            return Definition(name, shape, _decorators(node), _dump(_without_docstring(node.body)), is_value=False)
        case ast.ClassDef():
            inside = ", ".join(ast.unparse(one) for one in (*node.bases, *node.keywords))
            shape = f"class {node.name}({inside})" if inside else f"class {node.name}"
            return Definition(name, shape, _decorators(node), _dump(_fields(node)), is_value=False)
    return Definition(name, _value(name, obj), "", _dump([node]), is_value=True)


def _function(node: _Function, obj: griffe.Object | None) -> str:
    start = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    if isinstance(obj, griffe.Function):
        inside, result = ", ".join(_parameters(obj.parameters)), obj.returns
    else:  # a property is an attribute to griffe
        inside = ", ".join(one.arg for one in (*node.args.posonlyargs, *node.args.args))
        result = obj.annotation if isinstance(obj, griffe.Attribute) else None
    return f"{start} {node.name}({inside})" + (f" -> {result}" if result is not None else "")


def _parameters(parameters: griffe.Parameters) -> Iterator[str]:
    kinds = [one.kind for one in parameters]
    positional, keyword = griffe.ParameterKind.positional_only, griffe.ParameterKind.keyword_only
    for number, one in enumerate(parameters):
        if one.kind is keyword and keyword not in kinds[:number] and griffe.ParameterKind.var_positional not in kinds:
            yield "*"
        yield _parameter(one)
        if one.kind is positional and positional not in kinds[number + 1 :]:
            yield "/"


def _parameter(one: griffe.Parameter) -> str:
    typed = f": {one.annotation}" if one.annotation is not None else ""
    if one.kind in _STARS:
        return f"{_STARS[one.kind]}{one.name}{typed}"
    equals = " = " if typed else "="
    return f"{one.name}{typed}" + (f"{equals}{one.default}" if one.default is not None else "")


def _value(name: str, obj: griffe.Object | None) -> str:
    last = name.rpartition(".")[2]
    typed = obj.annotation if isinstance(obj, griffe.Attribute) else None
    return f"{last}: {typed}" if typed is not None else last


def _decorators(node: _Function | ast.ClassDef) -> str:
    return "".join(f"@{ast.unparse(one)} " for one in node.decorator_list)


def _fields(node: ast.ClassDef) -> list[ast.stmt]:
    """Return the statements of a class besides its methods, which are names of their own."""
    inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [one for one in _without_docstring(node.body) if not (isinstance(one, inner) and _is_open(one.name))]


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    match body:
        case [ast.Expr(value=ast.Constant(value=str())), *rest]:
            return rest
    return body


def _dump(nodes: Iterable[ast.AST]) -> str:
    """Dump nodes without their positions and without their documentation strings."""
    return "\n".join(ast.dump(_Undocumented().visit(node)) for node in nodes)


class _Undocumented(ast.NodeTransformer):
    """A transformer that removes docstrings."""

    def _strip(self, node: _Function | ast.ClassDef) -> ast.AST:
        node.body = _without_docstring(node.body)
        return self.generic_visit(node)

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _strip
