"""Whether a Python function has only got parameters that nobody has to give."""

import ast

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Given = dict[str, ast.expr | None]


def is_widened(old: _Function, new: ast.stmt) -> bool:
    """Whether a function is as it was, but for further parameters with a constant as their default, and annotations."""
    if not isinstance(new, _Function) or type(new) is not type(old) or _rest(old) != _rest(new):
        return False
    (was, was_named), (now, now_named) = _parameters(old), _parameters(new)
    is_kept = _dumped(now)[: len(was)] == _dumped(was) and set(_dumped(was_named)) <= set(_dumped(now_named))
    fresh = [*list(now.values())[len(was) :], *(one for name, one in now_named.items() if name not in was_named)]
    return is_kept and all(isinstance(one, ast.Constant) for one in fresh)


def _rest(one: _Function) -> list[str]:
    """What stays as it is: name, body, decorators, and what takes any number of arguments."""
    any_number = [part.arg for part in (one.args.vararg, one.args.kwarg) if part]
    return [one.name, *map(ast.dump, (*one.body, *one.decorator_list)), *any_number]


def _parameters(one: _Function) -> tuple[_Given, _Given]:
    """By name, the default of each parameter that has a place, and of each that has none."""
    placed = [*one.args.posonlyargs, *one.args.args]
    missing: list[ast.expr | None] = [None] * (len(placed) - len(one.args.defaults))
    pairs = zip(placed, [*missing, *one.args.defaults], strict=True)
    named = zip(one.args.kwonlyargs, one.args.kw_defaults, strict=True)
    return {part.arg: given for part, given in pairs}, {part.arg: given for part, given in named}


def _dumped(parameters: _Given) -> list[tuple[str, str]]:
    return [(name, ast.dump(given) if given else "") for name, given in parameters.items()]
