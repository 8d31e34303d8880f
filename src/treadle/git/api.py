"""What a tree offers to others: exported names with their signatures, read without running anything."""

import ast
import hashlib
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

import msgspec

_PYTHON: Final = (".py", ".pyi")
_SOURCES: Final = frozenset(
    """
    .c .cc .cpp .cs .dart .ex .exs .go .graphql .h .hpp .hs .java .js .jsx .kt .lua .ml .mli .mjs .php .proto .rb .rs
    .scala .swift .ts .tsx .vue .zig
    """.split()
)
_LARGEST: Final = 1_000_000
_LONGEST: Final = 500
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class Symbol(msgspec.Struct, frozen=True):
    """An exported name: how it is used, and a hash of what it does."""

    signature: str
    body: str


Api = dict[str, Symbol]


def api_of(path: str, source: bytes) -> Api:
    """What a file exports. A language that is not understood counts as one name: its file."""
    if not is_source(path):
        return {}
    suffix = PurePosixPath(path).suffix
    if suffix in _PYTHON and len(source) <= _LARGEST:
        try:
            return _python(path, ast.parse(source))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass
    return {path: Symbol("file", hashlib.sha256(source).hexdigest())}


def is_source(path: str) -> bool:
    """Whether a file may export anything."""
    return PurePosixPath(path).suffix in _SOURCES.union(_PYTHON) and not is_test(path)


def is_test(path: str) -> bool:
    """Whether a file is there for tests alone: what it defines is nobody's interface."""
    *folders, name = path.split("/")
    stem = name.partition(".")[0]
    return (
        any(folder in ("test", "tests", "__tests__", "testing") for folder in folders)
        or stem.startswith("test_")
        or stem.endswith(("_test", "Test"))
        or stem == "conftest"
        or name.partition(".")[2].startswith(("test.", "spec."))
    )


def module_name(path: str) -> str:
    """`src/shop/cart.py` → `shop.cart`, `shop/__init__.py` → `shop`."""
    parts = PurePosixPath(path).with_suffix("").parts
    parts = parts[1:] if parts[0] in ("src", "lib") and len(parts) > 1 else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def _python(path: str, tree: ast.Module) -> Api:
    module = module_name(path)
    if any(part.startswith("_") and not part.startswith("__") for part in module.split(".")):
        return {}
    named = _all(tree)
    found: Api = {}
    for name, symbol in _defined(tree.body, "", named or frozenset()):
        first = name.partition(".")[0]
        if first in named if named is not None else not first.startswith("_"):
            full = f"{module}.{name}"
            found[full] = _joined(found[full], symbol) if full in found else symbol
    return found


def _all(tree: ast.Module) -> frozenset[str] | None:
    """The names in `__all__`, if it is a plain list."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List() | ast.Tuple() as value):
                return frozenset(str(one.value) for one in value.elts if isinstance(one, ast.Constant))
    return None


def _defined(body: list[ast.stmt], prefix: str, named: frozenset[str]) -> Iterator[tuple[str, Symbol]]:
    def is_offered(name: str) -> bool:
        return _is_offered(name, prefix) or (not prefix and name in named)

    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                if is_offered(node.name):
                    yield prefix + node.name, Symbol(_signature(node), _hash(_without_docstring(node.body)))
            case ast.ClassDef():
                if is_offered(node.name):
                    yield prefix + node.name, Symbol(_class(node), _hash(_fields(node)))
                    yield from _defined(node.body, f"{prefix}{node.name}.", named)
            case ast.AnnAssign(target=ast.Name(id=name)) if is_offered(name):
                yield prefix + name, Symbol(_cut(f"{name}: {ast.unparse(node.annotation)}"), _hash([node]))
            case ast.Assign(targets=targets):
                for name in (one.id for one in targets if isinstance(one, ast.Name) and is_offered(one.id)):
                    yield prefix + name, Symbol(name, _hash([node.value]))
            case ast.ImportFrom(names=names):
                for alias in (one for one in names if one.asname == one.name):  # `import x as x` exports it
                    yield prefix + alias.name, Symbol(f"from {node.module or '.'} import {alias.name}", "")
            case ast.If() | ast.Try():
                yield from _defined(node.body + node.orelse, prefix, named)


def _is_offered(name: str, prefix: str) -> bool:
    return not name.startswith("_") or (bool(prefix) and name.startswith("__") and name.endswith("__"))


def _signature(node: _Function) -> str:
    start = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    marks = "".join(f"@{ast.unparse(one)} " for one in node.decorator_list)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return _cut(f"{marks}{start} {node.name}({ast.unparse(node.args)}){returns}")


def _class(node: ast.ClassDef) -> str:
    inside = ", ".join(ast.unparse(one) for one in [*node.bases, *node.keywords])
    marks = "".join(f"@{ast.unparse(one)} " for one in node.decorator_list)
    return _cut(f"{marks}class {node.name}({inside})" if inside else f"{marks}class {node.name}")


def _fields(node: ast.ClassDef) -> list[ast.stmt]:
    """What makes a class besides its methods, which are names of their own."""
    inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    offered = [one for one in node.body if isinstance(one, inner) and _is_offered(one.name, "x.")]
    return [one for one in _without_docstring(node.body) if one not in offered]


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    match body:
        case [ast.Expr(value=ast.Constant(value=str())), *rest]:
            return rest
    return body


def _hash(nodes: list[ast.stmt] | list[ast.expr] | list[ast.AnnAssign]) -> str:
    return hashlib.sha256("\n".join(ast.dump(node) for node in nodes).encode(errors="replace")).hexdigest()


def _joined(one: Symbol, other: Symbol) -> Symbol:
    """A name that is defined more than once: overloads, or one for each platform."""
    body = hashlib.sha256((one.body + other.body).encode()).hexdigest()
    return Symbol(_cut(f"{one.signature}; {other.signature}"), body)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
