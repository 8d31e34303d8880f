"""Stubs: declared names without an implementation.

Finds stubs in Python code, replaces their bodies with return values, and finds the changes of a file other than stubs.
`script_code` reads JavaScript, TypeScript and Go, and is loaded when it is needed.
"""

import ast
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import PurePosixPath
from typing import Final

from treadle.evidence.code_shapes import Function, parse_python
from treadle.evidence.findings import CheckProblem, problem
from treadle.git.api.languages import LARGEST, is_understood

# Finds unimplemented bodies in Python, and makes programs in which they return a wrong value.

_SHAPES: Final = ("Protocol", "ABC", "ABCMeta")
_WORDS: Final = ("not implemented", "todo", "unimplemented")


def stubs(source: str) -> list[tuple[str, int]]:
    """Return name and line of each function without a real body; raise `SyntaxError` if the source is no program.

    The name includes the classes around the function. A method that a subclass in the file defines is no stub.
    """
    module = ast.parse(source)
    names = dict(_full_names(module, ""))
    filled = set(_filled_below(module))
    missing = {names[one]: one.lineno for one in (*_stubs(module), *_dotted(module, in_shape=False))}
    return sorted(((name, line) for name, line in missing.items() if name not in filled), key=lambda one: one[1])


def stubs_of(path: str, source: str) -> list[tuple[str, int]]:
    """Return the stubs of a file, as `stubs` does; none in a language that is not read here."""
    if PurePosixPath(path).suffix in (".py", ".pyi"):
        return stubs(source)
    if not is_understood(path) or len(source) > LARGEST:
        return []
    from treadle.evidence.script_code import script_stubs  # noqa: PLC0415 (its library is loaded when needed)

    return script_stubs(path, source)


def _full_names(node: ast.AST, prefix: str) -> Iterator[tuple[Function, str]]:
    for one in ast.iter_child_nodes(node):
        name = f"{prefix}{one.name}" if isinstance(one, Function | ast.ClassDef) else ""
        if isinstance(one, Function):
            yield one, name
        yield from _full_names(one, f"{name}." if name else prefix)


def _filled_below(module: ast.Module) -> Iterator[str]:
    """The methods of classes of a module that a class below them in the same file writes, by their full names."""
    bases = {one.name: set(map(_last_name, one.bases)) for one in module.body if isinstance(one, ast.ClassDef)}
    for below in ast.walk(module):
        above = set(map(_last_name, below.bases)) if isinstance(below, ast.ClassDef) else set[str]()
        while further := {name for one in above & bases.keys() for name in bases[one]} - above:
            above |= further
        for one in below.body if isinstance(below, ast.ClassDef) else ():
            if isinstance(one, Function) and not is_stub(one.body) and not _is_dots(one):
                yield from (f"{name}.{one.name}" for name in above)


def stub_functions(source: str) -> list[Function]:
    """Return the functions that raise "not implemented"; none if the source does not parse."""
    module = parse_python(source)
    return list(_stubs(module)) if module else []


def with_stubs_returning(source: str, value: Callable[[Function], str]) -> str | None:
    """Return the program with `return <value>` as the body of each stub; None if it has no stubs."""
    module = parse_python(source)
    if module is None:
        return None
    found = list(_stubs(module))
    for function in found:
        function.body = ast.parse(f"return {value(function)}").body
    return ast.unparse(ast.fix_missing_locations(module)) if found else None


def hollowed(source: str, names: Collection[str] | None = None) -> str | None:
    """The program in which some functions, by name, or all of them are not implemented; None if it has none of them."""
    module = parse_python(source)
    if module is None:
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
    """Whether a body is only `...`, unless the function returns None: then doing nothing may be right."""
    said = [
        one.value.value for one in function.body if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)
    ]
    returns_nothing = isinstance(function.returns, ast.Constant) and function.returns.value is None
    return len(said) == len(function.body) and ... in said and not returns_nothing


def is_abstract(function: Function) -> bool:
    """Whether a function is abstract or an overload, so that its body is written in another place."""
    names = {ast.unparse(one).rpartition(".")[2] for one in function.decorator_list}
    return bool(names & {"abstractmethod", "overload", "abstractproperty"})


def is_stub(body: list[ast.stmt]) -> bool:
    """Whether a body only raises `NotImplementedError` or the like, after an optional docstring."""
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


# Decides whether a Python function has only gained optional parameters.

_Given = dict[str, ast.expr | None]


def is_widened(old: Function, new: ast.stmt) -> bool:
    """Whether a function is as it was, but for further parameters with a constant as their default, and annotations."""
    if not isinstance(new, Function) or type(new) is not type(old) or _rest(old) != _rest(new):
        return False
    (was, was_named), (now, now_named) = _parameters(old), _parameters(new)
    is_kept = _dumped(now)[: len(was)] == _dumped(was) and set(_dumped(was_named)) <= set(_dumped(now_named))
    fresh = [*list(now.values())[len(was) :], *(one for name, one in now_named.items() if name not in was_named)]
    return is_kept and all(isinstance(one, ast.Constant) for one in fresh)


def _rest(one: Function) -> list[str]:
    """Return the parts that must stay: name, body, decorators, and variadic parameters."""
    any_number = [part.arg for part in (one.args.vararg, one.args.kwarg) if part]
    return [one.name, *map(ast.dump, (*one.body, *one.decorator_list)), *any_number]


def _parameters(one: Function) -> tuple[_Given, _Given]:
    """By name, the default of each parameter that has a place, and of each that has none."""
    placed = [*one.args.posonlyargs, *one.args.args]
    missing: list[ast.expr | None] = [None] * (len(placed) - len(one.args.defaults))
    pairs = zip(placed, [*missing, *one.args.defaults], strict=True)
    named = zip(one.args.kwonlyargs, one.args.kw_defaults, strict=True)
    return {part.arg: given for part, given in pairs}, {part.arg: given for part, given in named}


def _dumped(parameters: _Given) -> list[tuple[str, str]]:
    return [(name, ast.dump(given) if given else "") for name, given in parameters.items()]


# Finds changes of a Python file other than stubs; signatures and types without behaviour count as stubs.

Beyond = tuple[int, str]
"""The line of a part that is no stub, and its description."""
_WORK: Final = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.NamedExpr, ast.Await)
_TYPE_MAKERS: Final = ("TypeVar", "ParamSpec", "NewType", "TypeVarTuple")
_ALIAS: Final = (ast.Name, ast.Attribute, ast.Subscript, ast.BinOp)
_ACCESSORS: Final = ("getter", "setter", "deleter")


def python_beyond(before: str, after: str) -> list[Beyond]:
    """Return the differences between two states of a file that are more than stubs.

    Raises `SyntaxError` if one of them does not parse.
    """
    old, new = ast.parse(before), ast.parse(after)
    lost = sorted(_imported(old) - _imported(new))
    return [*((1, f"{name} is no longer imported") for name in lost), *_compared(old.body, new.body, None)]


def _compared(old: list[ast.stmt], new: list[ast.stmt], owner: ast.ClassDef | None) -> Iterator[Beyond]:
    """The first part that is neither as it was nor a stub; a stub that was there may become another one."""
    kept = [one for one in old if not _is_free(one, owner)]
    known, at = {name for one in kept for name in _names(one)}, 0
    if gone := sorted(known.difference(*map(_names, new))):
        yield 1, f"{gone[0]} was there and is gone"
        return
    for one in new:
        inner = _inside(kept[at], one) if at < len(kept) else None
        if inner is not None:
            yield from inner
            at += 1
            continue
        is_known = bool(known.intersection(_names(one)))
        if is_known or not _is_free(one, owner):
            yield (
                one.lineno,
                f"{_called(one)} {'was there already, as it has to stay' if is_known else 'is more than a stub'}",
            )
            return
    if at < len(kept):
        yield 1, f"{_called(kept[at])} was there and is gone"


def _inside(old: ast.stmt, new: ast.stmt) -> list[Beyond] | None:
    """Return the problems inside of a part that is still the same; None if it is another one."""
    if ast.dump(old) == ast.dump(new) or (isinstance(old, Function) and is_widened(old, new)):
        return []
    if isinstance(old, ast.ClassDef) and isinstance(new, ast.ClassDef) and _head(old) == _head(new):
        return list(_compared(old.body, new.body, new))
    return None


def _head(one: ast.ClassDef) -> list[str]:
    return [one.name, *map(ast.dump, (*one.bases, *one.keywords, *one.decorator_list))]


def _is_free(one: ast.stmt, owner: ast.ClassDef | None) -> bool:
    """Whether a statement does nothing that an implementation is for."""
    match one:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return _is_signature(one, owner)
        case ast.ClassDef():
            heads = (*one.bases, *(word.value for word in one.keywords), *one.decorator_list)
            return _is_plain(heads) and all(_is_free(inner, one) for inner in one.body)
        case ast.AnnAssign():
            return _is_plain([one.value]) if owner else one.value is None or _is_type(one.value)
        case ast.Assign():
            return _is_plain([one.value]) if owner else _names(one) == ["__all__"] or _is_type(one.value)
        case ast.If():
            return ast.unparse(one.test).endswith("TYPE_CHECKING") and all(map(_is_import, one.body)) and not one.orelse
    return is_text(one) or _is_import(one) or type(one).__name__ in ("Pass", "TypeAlias")


def _is_signature(one: Function, owner: ast.ClassDef | None) -> bool:
    given = [*one.args.defaults, *one.args.kw_defaults]
    has_no_body = is_stub(one.body) or (
        all(map(is_text, one.body)) and (is_abstract(one) or (owner is not None and is_shape(owner)))
    )
    return has_no_body and _is_plain(one.decorator_list) and _is_plain(given, ast.Call)


def _is_plain(parts: Iterable[ast.expr | None], *others: type[ast.expr]) -> bool:
    """Whether nothing in some expressions computes anything."""
    return not any(isinstance(node, (*_WORK, *others)) for part in parts if part for node in ast.walk(part))


def _is_type(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return ast.unparse(value.func).rpartition(".")[2] in _TYPE_MAKERS
    return (
        isinstance(value, _ALIAS)
        and _is_plain([value], ast.Call)
        and not isinstance(getattr(value, "op", None), ast.Mult)
    )


def _is_import(one: ast.stmt) -> bool:
    return isinstance(one, ast.Import | ast.ImportFrom)


def _imported(module: ast.Module) -> set[str]:
    found = [one for one in module.body if isinstance(one, ast.Import | ast.ImportFrom)]
    return {alias.asname or alias.name for one in found for alias in one.names}


def _names(one: ast.stmt) -> list[str]:
    match one:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return [one.name + _accessor(one)]
        case ast.ClassDef():
            return [one.name]
        case ast.Assign():
            return [ast.unparse(target) for target in one.targets]
        case ast.AnnAssign():
            return [ast.unparse(one.target)]
    return []


def _accessor(one: Function) -> str:
    """`.setter` or the like for a function that completes another one of its name instead of replacing it."""
    found = [it for it in one.decorator_list if isinstance(it, ast.Attribute)]
    return next((f".{it.attr}" for it in found if it.attr in _ACCESSORS and ast.unparse(it.value) == one.name), "")


def _called(one: ast.stmt) -> str:
    return next(iter(_names(one)), "") or f"`{ast.unparse(one).splitlines()[0][:60]}`"


_WANTED = (
    "signatures and types are added, and a body only says that it is not implemented (`raise NotImplementedError`, "
    '`throw new Error("not implemented")`, `panic("not implemented")`); what was there stays as it was'
)


def beyond_stubs(path: str, before: str | None, after: str | None) -> list[CheckProblem]:
    """Return the reasons why a change of a file is more than stubs; an unreadable file counts as more.

    The file may be new or gone.
    """
    if after is None:
        is_lost = bool(before is None or beyond_stubs(path, None, before))
        return (
            [problem("held more than stubs and is gone", path, expected="the file as it was", code="stubs.removed")]
            if is_lost
            else []
        )
    if not is_understood(path):
        return [
            problem(
                "cannot be looked into: stubs are known in Python, JavaScript, TypeScript and Go",
                path,
                code="stubs.unreadable",
            )
        ]
    if max(len(before or ""), len(after)) > LARGEST:
        return [
            problem(f"is too large to be looked into: more than {LARGEST} characters", path, code="stubs.unreadable")
        ]
    try:
        found = _beyond(path, before or "", after)
    except (SyntaxError, ValueError, RecursionError) as error:
        return [
            problem(
                f"cannot be parsed: {error}",
                path,
                getattr(error, "lineno", 0) or 0,
                expected=_WANTED,
                code="code.unparsable",
            )
        ]
    return [problem(what, path, line, expected=_WANTED, code="stubs.beyond") for line, what in found]


def _beyond(path: str, before: str, after: str) -> list[tuple[int, str]]:
    if PurePosixPath(path).suffix in (".py", ".pyi"):
        return python_beyond(before, after)
    from treadle.evidence.script_code import script_beyond  # noqa: PLC0415 (its library is loaded when needed)

    return script_beyond(path, before, after)
