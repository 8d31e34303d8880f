"""Bodies that are not written yet, in Python: where they are, and a program in which they return something silly."""

import ast
from collections.abc import Callable, Collection, Iterator
from typing import Final

Function = ast.FunctionDef | ast.AsyncFunctionDef
_SHAPES: Final = ("Protocol", "ABC", "ABCMeta")
_WORDS: Final = ("not implemented", "todo", "unimplemented")


def stubs(source: str) -> list[tuple[str, int]]:
    """Name and line of each function without a body worth the name; a `SyntaxError` if it is no program."""
    module = ast.parse(source)
    missing = [*_stubs(module), *_dotted(module, in_shape=False)]
    return sorted({(function.name, function.lineno) for function in missing}, key=lambda one: one[1])


def stub_functions(source: str) -> list[Function]:
    """The functions that say they are not implemented; none if it is no program."""
    try:
        return list(_stubs(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError):
        return []


def with_stubs_returning(source: str, value: Callable[[Function], str]) -> str | None:
    """The program with `return <value>` in place of what is not implemented; None if nothing is missing."""
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return None
    found = list(_stubs(module))
    for function in found:
        function.body = ast.parse(f"return {value(function)}").body
    return ast.unparse(ast.fix_missing_locations(module)) if found else None


def hollowed(source: str, names: Collection[str] | None = None) -> str | None:
    """The program in which some functions, by name, or all of them are not implemented; None if it has none of them."""
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return None
    functions = [node for node in ast.walk(module) if isinstance(node, Function) and not is_abstract(node)]
    wanted = [one for one in functions if names is None or one.name in names]
    for function in wanted:
        function.body = ast.parse("raise NotImplementedError").body
    return ast.unparse(ast.fix_missing_locations(module)) if wanted else None


def _stubs(module: ast.Module) -> Iterator[Function]:
    for node in ast.walk(module):
        if isinstance(node, Function) and not is_abstract(node) and is_stub(node.body):
            yield node


def _dotted(node: ast.AST, *, in_shape: bool) -> Iterator[Function]:
    """Functions of nothing but `...`, except where that only describes a shape: for types, and for classes to come."""
    for one in ast.iter_child_nodes(node):
        if isinstance(one, Function) and not in_shape and not is_abstract(one) and _is_dots(one):
            yield one
        is_typed = isinstance(one, ast.If) and _last_name(one.test) == "TYPE_CHECKING"
        inner = ast.Module(one.orelse, []) if isinstance(one, ast.If) and is_typed else one
        yield from _dotted(inner, in_shape=is_shape(one) if isinstance(one, ast.ClassDef) else in_shape)


def is_shape(node: ast.ClassDef) -> bool:
    """Whether a class only describes a shape: for types, and for classes to come."""
    words = [*node.bases, *(word.value for word in node.keywords if word.arg == "metaclass")]
    return any(_last_name(word) in _SHAPES for word in words)


def _last_name(node: ast.expr) -> str:
    inner = node.value if isinstance(node, ast.Subscript) else node
    return ast.unparse(inner).rpartition(".")[2]


def _is_dots(function: Function) -> bool:
    """Where nothing is to be returned, doing nothing may be all there is to do."""
    said = [
        one.value.value for one in function.body if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)
    ]
    returns_nothing = isinstance(function.returns, ast.Constant) and function.returns.value is None
    return len(said) == len(function.body) and ... in said and not returns_nothing


def is_abstract(function: Function) -> bool:
    """Whether a function is one that others write."""
    names = {ast.unparse(one).rpartition(".")[2] for one in function.decorator_list}
    return bool(names & {"abstractmethod", "overload", "abstractproperty"})


def is_stub(body: list[ast.stmt]) -> bool:
    """A body that only raises `NotImplementedError`, whatever documentation precedes it."""
    rest = [one for one in body if not is_text(one)]
    return len(rest) == 1 and isinstance(rest[0], ast.Raise) and _is_not_implemented(rest[0].exc)


def is_text(node: ast.stmt) -> bool:
    """Whether a statement is nothing but a constant: documentation, or `...`."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_not_implemented(raised: ast.expr | None) -> bool:
    if raised is None:
        return False
    name = ast.unparse(raised.func if isinstance(raised, ast.Call) else raised)
    if name.rpartition(".")[2] in ("NotImplementedError", "NotImplemented"):
        return True
    said = [one.value for one in ast.walk(raised) if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    return any(text.lower().startswith(_WORDS) for text in said)
