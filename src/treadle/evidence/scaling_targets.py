"""The functions that a limit on time or space is about: those of the target that the tests call. Python only.

Tests may say how inputs of a size are made: `sizes_<function>(n)`, or `sizes(n)` for all, returns the arguments as a
tuple, or a function without parameters that does the work.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

MOST: Final = 3
"""Functions that are measured for one limit."""
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A function to measure."""

    module: str
    """As the tests import it; empty if the tests' own `sizes` does the work."""
    name: str
    sizes: str = ""
    sizes_file: str = ""


def targets(code: Mapping[str, str], tests: Mapping[str, str], wanted: str = "", about: str = "") -> list[Target]:
    """What to measure: `wanted` by its name, else what criteria (`about`) name, else all that the tests call."""
    trees = {path: module for path, text in tests.items() if (module := _parsed(text)) is not None}
    made = {name: path for path, module in trees.items() for name in _sizes(module)}
    called = dict.fromkeys(one for module in trees.values() for one in _calls(module, code))
    chosen = [one for one in called if not wanted or one[1] == wanted]
    named = [one for one in chosen if re.search(rf"\b{re.escape(one[1])}\b", about)]
    found = [_target(module, name, made) for module, name in (named or chosen)[:MOST]]
    if not found and made and not (wanted and f"sizes_{wanted}" not in made and "sizes" not in made):
        name = f"sizes_{wanted}" if f"sizes_{wanted}" in made else next(iter(made))
        return [Target(module="", name=wanted or name, sizes=name, sizes_file=made[name])]
    return found


def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _sizes(module: ast.Module) -> list[str]:
    names = [one.name for one in module.body if isinstance(one, ast.FunctionDef)]
    return [name for name in names if name == "sizes" or name.startswith("sizes_")]


def _target(module: str, name: str, made: Mapping[str, str]) -> Target:
    sizes = next((one for one in (f"sizes_{name}", "sizes") if one in made), "")
    return Target(module=module, name=name, sizes=sizes, sizes_file=made.get(sizes, ""))


def _calls(module: ast.Module, code: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Public functions of the target that are called, each with the module that it is imported from."""
    imported = dict(_imported(module))
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            owner, _, name = ast.unparse(node.func).rpartition(".")
            place, function = (imported.get(owner, (owner, ""))[0], name) if owner else imported.get(name, ("", ""))
            if function and not function.startswith("_") and _defines(place, function, code):
                yield place, function


def _imported(module: ast.Module) -> Iterator[tuple[str, tuple[str, str]]]:
    """Names with the module and the name there; of modules, the name is empty."""
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for one in node.names:
                yield one.asname or one.name, (node.module, one.name)
        elif isinstance(node, ast.Import):
            for one in node.names:
                yield one.asname or one.name, (one.name, "")


def _defines(module: str, name: str, code: Mapping[str, str]) -> bool:
    """Whether a module of the target offers a function, itself or from a neighbour."""
    places = _files(module, code)
    return bool(places) and any(
        name in _functions(code[path]) for path in (*places, *(code if _is_package(places) else ()))
    )


def _files(module: str, code: Mapping[str, str]) -> list[str]:
    if not module:
        return []
    path = module.replace(".", "/")
    ends = (f"{path}.py", f"{path}/__init__.py")
    return [one for one in code if any(one == end or one.endswith(f"/{end}") for end in ends)]


def _is_package(places: list[str]) -> bool:
    return any(path.endswith("__init__.py") for path in places)


def _functions(text: str) -> set[str]:
    module = _parsed(text)
    return {one.name for one in module.body if isinstance(one, _Function)} if module else set()
