"""Assertions that say nothing of what the code does: how it is written, or that any result is near enough. Python."""

import ast
import builtins
from collections.abc import Collection, Iterator
from typing import Final

_WRITTEN: Final = frozenset({"getsource", "getsourcelines", "get_instructions", "Bytecode", "code_info", "__code__"})
"""Ways to look at how a function is written."""


def beside_the_point(test: ast.AST, asserts: list[ast.Assert]) -> str:
    """Why all of a test's assertions miss what the code does; empty if one of them is about it."""
    names = _WRITTEN | _named_after(test)
    reasons = [_about_writing(one, names) or _any_will_do(one) for one in asserts]
    return reasons[0] if reasons and all(reasons) else ""


def looks_at_files(asserts: list[ast.Assert]) -> str:
    """An assertion about the file that a module lies in, which may have its reasons."""
    for one in asserts:
        if any(isinstance(node, ast.Attribute) and node.attr == "__file__" for node in ast.walk(one.test)):
            return f"looks at a module's file: {ast.unparse(one.test)[:120]}"
    return ""


def _named_after(test: ast.AST) -> set[str]:
    """Variables that hold how something is written."""
    return {
        target.id
        for one in ast.walk(test)
        if isinstance(one, ast.Assign) and any(_last_word(node) in _WRITTEN for node in ast.walk(one.value))
        for target in one.targets
        if isinstance(target, ast.Name)
    }


def _about_writing(one: ast.Assert, names: Collection[str]) -> str:
    if any(_last_word(node) in names for node in _judged(one.test)):
        return f"looks at how the code is written, not at what it does: {ast.unparse(one.test)[:120]}"
    return ""


def _judged(node: ast.AST) -> Iterator[ast.AST]:
    """An expression without what it hands to the project's own functions: they may be about sources."""
    yield node
    foreign = isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and hasattr(builtins, node.func.id))
    for child in [node.func] if isinstance(node, ast.Call) and foreign else ast.iter_child_nodes(node):
        yield from _judged(child)


def _any_will_do(one: ast.Assert) -> str:
    """A tolerance as large as the value itself: nothing is near enough to be wrong."""
    for call in ast.walk(one.test):
        if isinstance(call, ast.Call) and _last_word(call.func) in ("approx", "isclose") and any(_too_much(call)):
            return f"takes anything for near enough: {ast.unparse(one.test)[:120]}"
    return ""


def _too_much(call: ast.Call) -> Iterator[bool]:
    said = {word.arg: _number(word.value) for word in call.keywords}
    yield any((said.get(name) or 0) >= 1 for name in ("rel", "rel_tol"))
    expected = [abs(number) for one in call.args if (number := _number(one))]
    if expected and len(expected) == len([one for one in call.args if _number(one) is not None]):
        yield any((said.get(name) or 0) >= max(expected) for name in ("abs", "abs_tol"))


def _number(node: ast.expr) -> float | None:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _last_word(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
