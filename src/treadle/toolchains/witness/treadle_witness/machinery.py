"""Compares the machinery that decides verdicts with its state before any code of the project ran.

The witness compares whenever code of the project has given back control. So it sees an exchange before the exchange has
an effect, and to undo it later hides nothing. It compares only identities: no code of the project runs.
"""

from __future__ import annotations

import builtins
import operator
import os
import sys
from itertools import chain, compress, islice
from types import FunctionType, MethodType, ModuleType
from typing import Any, Callable, Iterator, Mapping  # noqa: UP035 - this runs on old versions too

import pytest

from .audit import AUDIT

# The functions that decide verdicts, compared with those from before any code of the project ran.

_MODULES = (
    "_pytest.runner _pytest.reports _pytest.main _pytest.python _pytest.outcomes _pytest.skipping _pytest.junitxml"
    " _pytest.python_api _pytest.raises _pytest.unittest _pytest.assertion _pytest.assertion.rewrite"
    " _pytest.assertion.util unittest.case"
).split()
_WHOLE = ("re", "operator", "math", "ast")
"""Modules outside of pytest that decide verdicts: `raises(match=…)`, comparisons, `approx`, the rewriting of tests."""
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
    """Return the names of the functions that are no longer the same."""
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


Verify = Callable[[], None]
_PACKAGES = ("_pytest", "pluggy", "pytest", "treadle_witness")
_AFTERWARDS = frozenset(
    "_py _io pytester pytester_assertions terminal terminalprogress helpconfig pastebin faulthandler setuponly"
    " setupplan doctest cacheprovider legacypath debugging hookspec stepwise deprecated freeze_support"
    " _argcomplete".split()
)
"""Modules of pytest that only show or keep verdicts."""
_BESIDE = ("unittest.case",)
_SHARED = ("builtins", "re", "operator", "math", "ast", "importlib._bootstrap_external")
"""Modules that decide verdicts too, but that an honest test may patch for a while."""
_CHANGING = frozenset("_reprcompare _assertion_pass _config".split())
_MOVING = _CHANGING | frozenset(
    "_ __warningregistry__ __annotations__ __annotations_cache__ __annotate_func__ __abstractmethods__ __doc__".split()
)
"""Names that pytest and Python assign themselves; `_` is the last result in a doctest, or a translation."""
_MISSING = object()
_every, _pairwise = all, map  # code of the project may replace the builtins later


class MachineryPart:
    """A module or a class, with the values of all its names at the beginning."""

    def __init__(self, name: str, names: Mapping[str, Any], is_shared: bool = False, is_kind: bool = False) -> None:
        self.name, self.names, self.is_shared = name, names, is_shared
        self.is_kind = is_kind  # of nodes: pytest marks them as it meets them
        self.before = dict(names)

    def changes(self) -> Iterator[tuple[str, Any]]:
        """Yield each name that now has another value, with the value; `_MISSING` if the name is gone."""
        now = dict(self.names)
        for name in _suspects(self.before, now):
            value = now.get(name, _MISSING)
            if value is not self.before.get(name, _MISSING) and name not in _MOVING and not _is_new(self, name, value):
                yield f"{self.name}.{name}", value


def _suspects(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Return the names whose values may differ; if the old names keep their order, only a few are left to compare."""
    if len(now) >= len(before) and _every(_pairwise(operator.is_, before, now)):
        return [
            *compress(before, _pairwise(operator.is_not, before.values(), now.values())),
            *islice(now, len(before), None),
        ]
    return [*before, *(one for one in now if one not in before)]


def watched(parts: list[MachineryPart], tell: Callable[[str], None]) -> Verify:
    """Return a function that tells which names of the recorded parts have changed, each name once."""
    known: set[str] = set()

    def deviates(part: MachineryPart) -> None:
        for name, value in part.changes():
            if name not in known and (not part.is_shared or is_of_the_work(value)):
                known.add(name)
                tell(name)

    # A method bound to a tuple: code of the project cannot exchange a part of it, and it looks up no global name.
    rows = tuple(_row(some) for some in _grouped(parts))
    return MethodType(_verify, (rows, deviates, all, map, operator.is_, len, tuple, chain.from_iterable))


def _verify(self: tuple[Any, ...]) -> None:
    rows, deviates, every, pairwise, same, size, listed, flat = self
    for views, sizes, values, parts in rows:
        # Sizes first: if they are the same, each value is compared with the one in its own place.
        if listed(pairwise(size, views)) != sizes or not every(pairwise(same, flat(views), values)):
            for view, held, part in parts:
                if size(view) != size(held) or not every(pairwise(same, view, held)):
                    deviates(part)


def _row(parts: list[MachineryPart]) -> tuple[Any, ...]:
    """Prepare some parts for one common comparison, by live views of their values."""
    views = tuple(part.names.values() for part in parts)
    values = tuple(chain.from_iterable(views))
    members = tuple((view, tuple(view), part) for view, part in zip(views, parts))  # noqa: B905
    return views, tuple(map(len, views)), values, members


def _grouped(parts: list[MachineryPart]) -> Iterator[list[MachineryPart]]:
    """Yield the parts that never change as one group, and each part that pytest or tests may change by itself."""
    apart = [part for part in parts if part.is_shared or not _CHANGING.isdisjoint(part.names) or part.is_kind]
    yield [part for part in parts if part not in apart]
    yield from ([part] for part in apart)


def functions(parts: list[MachineryPart]) -> Iterator[tuple[str, FunctionType]]:
    """Yield every watched function by name: an exchange of its code would leave its identity the same."""
    for part in parts:
        if not part.is_shared:
            for name, value in part.before.items():
                inner = getattr(value, "__func__", value)
                if isinstance(inner, FunctionType):
                    yield f"{part.name}.{name}", inner


def is_of_the_work(value: Any) -> bool:
    """Whether the code under test defines a value, or code without a file does; not if tests or libraries do."""
    code = _code(value)
    name = getattr(code, "co_filename", "")
    if name.startswith("<"):
        return True
    place = AUDIT.place(code)
    return bool(place) and not is_of_tests(place)


def is_of_tests(place: str) -> bool:
    """Whether a file of the checkout belongs to its tests."""
    *folders, name = place.replace("\\", "/").split("/")
    is_test = name.startswith("test_") or name.endswith("_test.py") or name == "conftest.py"
    return is_test or any(folder in ("tests", "test", "testing") for folder in folders)


def _code(value: Any) -> Any:
    """The code of something that can be called; of a class, of one of its functions."""
    for _ in range(5):
        kind = type(value)
        if kind is FunctionType:
            return value.__code__
        if kind is MethodType or kind in (classmethod, staticmethod):
            value = value.__func__
        elif isinstance(value, type):
            owned = type.__dict__["__dict__"].__get__(value)
            value = next((one for one in owned.values() if type(one) is FunctionType), None)
        else:
            value = kind
    return None


def _is_new(part: MachineryPart, name: str, value: Any) -> bool:
    """Whether a value is legitimate: an import's addition to a package, a mark of pytest, or a legacy path property."""
    if name not in part.before and isinstance(value, (ModuleType, bool, str)):
        return True
    asked = getattr(value.fget, "__module__", "") if type(value) is property else ""
    return asked == "_pytest.legacypath"  # by each run of pytest within this one


def taken_down() -> list[MachineryPart]:
    """Everything that is watched, as it is now."""
    return list(_parts())


def _parts() -> Iterator[MachineryPart]:
    for name, module in list(sys.modules.items()):
        top, *inner = name.split(".")
        if (top in _PACKAGES and not _AFTERWARDS.intersection(inner)) or name in _BESIDE:
            yield MachineryPart(name, vars(module))
            for kind in _classes(name, module):
                yield MachineryPart(f"{name}.{kind.__name__}", kind.__dict__, is_kind=pytest.Item in kind.__mro__)
    for name in _SHARED:
        shared: Any = builtins if name == "builtins" else sys.modules.get(name)
        if shared is not None:
            yield MachineryPart(name, vars(shared), is_shared=True)
    loaders: Any = sys.modules.get("importlib._bootstrap_external") or sys.modules.get("_frozen_importlib_external")
    for one in ("SourceFileLoader", "SourceLoader", "FileLoader", "PathFinder", "FileFinder"):
        yield MachineryPart(f"importlib.{one}", getattr(loaders, one).__dict__)


def _classes(name: str, module: Any) -> list[type]:
    return [one for one in list(vars(module).values()) if isinstance(one, type) and one.__module__ == name]
