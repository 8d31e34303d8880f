"""What a change of a Python file brings besides stubs: signatures and types whose behaviour is still to be written."""

import ast
from collections.abc import Iterable, Iterator
from typing import Final

from treadle.evidence.python_parameters import is_widened
from treadle.evidence.python_stubs import Function, is_abstract, is_shape, is_stub, is_text

Beyond = tuple[int, str]
"""The line of a part that is no stub, and what is to be said of it."""
_WORK: Final = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.NamedExpr, ast.Await)
_TYPE_MAKERS: Final = ("TypeVar", "ParamSpec", "NewType", "TypeVarTuple")
_ALIAS: Final = (ast.Name, ast.Attribute, ast.Subscript, ast.BinOp)
_Named = Function | ast.ClassDef


def python_beyond(before: str, after: str) -> list[Beyond]:
    """What differs between two states of a file and is more than a stub; a `SyntaxError` if it is no program."""
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
    """What is wrong inside of a part that is still the same; None if it is another one."""
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
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return [one.name]
        case ast.Assign():
            return [ast.unparse(target) for target in one.targets]
        case ast.AnnAssign():
            return [ast.unparse(one.target)]
    return []


def _called(one: ast.stmt) -> str:
    return next(iter(_names(one)), "") or f"`{ast.unparse(one).splitlines()[0][:60]}`"
