"""Whether the functions that decide about verdicts are still the same as before any code of the project ran."""

from __future__ import annotations

import builtins
import os
import sys
from types import FunctionType
from typing import Any, Iterator  # noqa: UP035 - this runs on old versions too

_MODULES = (
    "_pytest.runner _pytest.reports _pytest.main _pytest.python _pytest.outcomes _pytest.skipping _pytest.junitxml"
    " _pytest.python_api _pytest.raises _pytest.unittest _pytest.assertion _pytest.assertion.rewrite"
    " _pytest.assertion.util unittest.case"
).split()
_WHOLE = ("re", "operator", "math", "ast")
"""What verdicts rest on outside of pytest: `raises(match=…)`, comparisons, `approx`, and how tests are rewritten."""
_BORN = set(vars(builtins)) - {"_"}  # the last result of a prompt, or a translation


def identities() -> dict[tuple[str, str], tuple[Any, ...]]:
    """The functions by module and name, each with its code and defaults."""
    found: dict[tuple[str, str], tuple[Any, ...]] = {
        ("builtins", name): (getattr(builtins, name, None),) for name in _BORN
    }
    tool: Any = sys.modules.get("pytest")
    found.update({("pytest", name): (vars(tool).get(name),) for name in getattr(tool, "__all__", ())})
    found[("sys", "exit")] = (sys.exit,)
    found[("os", "_exit")] = (os._exit,)
    found[("sys", "settrace")] = (sys.gettrace(),)
    found[("sys", "setprofile")] = (sys.getprofile(),)
    for name, module in list(sys.modules.items()):
        if name in _MODULES or name.startswith("pluggy."):
            found.update(_functions(name, module))
        elif name in _WHOLE:
            found.update(_callables(name, module))
    return found


def differences(before: dict[tuple[str, str], tuple[Any, ...]]) -> list[str]:
    """The names of those that are no longer what they were."""
    after = identities()
    return [".".join(key) for key, value in before.items() if not _same(value, after.get(key, ()))]


def _same(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other))  # noqa: B905


def _functions(name: str, module: Any) -> Iterator[tuple[tuple[str, str], tuple[Any, ...]]]:
    for attribute, value in list(vars(module).items()):
        if getattr(value, "__module__", None) != name:
            continue
        if isinstance(value, type):
            for method, function in list(vars(value).items()):
                yield from _one(name, f"{attribute}.{method}", function)
        else:
            yield from _one(name, attribute, value)


def _callables(name: str, module: Any) -> Iterator[tuple[tuple[str, str], tuple[Any, ...]]]:
    for attribute, value in list(vars(module).items()):
        if callable(value):
            yield (name, attribute), (value, getattr(value, "__code__", None), getattr(value, "__defaults__", None))


def _one(module: str, name: str, value: Any) -> Iterator[tuple[tuple[str, str], tuple[Any, ...]]]:
    inner = getattr(value, "__func__", value)  # of class methods and static methods
    if isinstance(inner, FunctionType):
        yield (module, name), (inner, inner.__code__, inner.__defaults__)
