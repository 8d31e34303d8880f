"""Mirrors patches of functions outside of the subject (`time.sleep`, `builtins.input`, `requests.get`).

The subject has a standard library of its own. So the judge watches the replacements of `monkeypatch` and `mock.patch`,
and the subject installs the same replacement: a twin that calls the test's function back.
"""

from __future__ import annotations

import random
import sys
import types
from typing import Any, Callable  # noqa: UP035 - this runs on old versions too
from unittest import mock

import pytest

from .twins import is_twin

_MISSING = object()
_OF_THE_JUDGE = frozenset("pytest _pytest pluggy treadle_witness treadle_seam".split())


class Patches:
    """The replaced names of the judge's process, with their original values."""

    def __init__(self, is_of_tests: Callable[[Any], bool]) -> None:
        self._is_of_tests = is_of_tests
        self.watched: dict[Any, tuple[Any, str, Any]] = {}
        self.seed: Any = None
        """The seed that a test has given to `random`, until the subject has it, too."""

    def watch(self, owner: Any, name: str, original: Any) -> None:
        """Watch a name of a module, or of a class in one, from now on."""
        if is_twin(owner) or not isinstance(name, str):
            return
        if isinstance(owner, types.ModuleType):
            key: tuple[str, ...] = (owner.__name__, name)
        elif isinstance(owner, type):
            key = (owner.__module__, *owner.__qualname__.split("."), name)
        else:
            return
        module = sys.modules.get(key[0])
        if (
            module is None
            or key[0].partition(".")[0] in _OF_THE_JUDGE
            or self._is_of_tests(module)
            or key in self.watched
        ):
            return
        self.watched[key] = (owner, name, original)

    def changes(self, known: dict[Any, Any]) -> list[tuple[Any, Any, bool]]:
        """Return the changes that a lane does not know yet: name, value, and whether the name is replaced now."""
        found: list[tuple[Any, Any, bool]] = []
        for key, (owner, name, original) in self.watched.items():
            now = vars(owner).get(name, _MISSING)
            if now is original or now is _MISSING:
                if key in known:
                    del known[key]
                    found.append((key, None, False))
            elif known.get(key, _MISSING) is not now:
                known[key] = now
                found.append((key, now, True))
        return found

    def listen(self) -> None:
        """Wrap `monkeypatch`, `mock.patch` and `random.seed`, so that every replacement and seed is seen."""
        patch: Any = mock._patch
        watch, set_attribute, enter, seed = self.watch, pytest.MonkeyPatch.setattr, patch.__enter__, random.seed

        def setattr_(self: Any, *args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            result = set_attribute(self, *args, **kwargs)
            owner, name, original = self._setattr[-1]
            watch(owner, name, original)
            return result

        def enter_(self: Any) -> Any:
            result = enter(self)
            watch(self.target, self.attribute, self.temp_original)
            return result

        def seed_(*args: Any, **kwargs: Any) -> Any:
            seed(*args, **kwargs)
            plain = (*args, *kwargs.values())
            if all(type(one) in (int, str, float, bytes) for one in plain):
                self.seed = plain

        pytest.MonkeyPatch.setattr = setattr_  # type: ignore[method-assign]
        patch.__enter__ = enter_
        random.seed = seed_
