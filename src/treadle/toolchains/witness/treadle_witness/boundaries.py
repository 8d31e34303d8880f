"""Verifies the machinery where code of the project gives back control, before pytest looks at an outcome.

The witness also reports each end of a phase at once. So code cannot undo a failure, and a test that was never called is
seen.
"""

from __future__ import annotations

import operator
import sys
import unittest
import unittest.case
from typing import Any, Callable  # noqa: UP035 - this runs on old versions too

import _pytest.fixtures
import pytest
from _pytest.assertion.rewrite import AssertionRewritingHook

from .audit import AUDIT
from .imports import FromSource
from .machinery import Verify

# Hooks that code of the project registered, or replaced, while it had control.

_DECIDING = (
    "pytest_runtest_protocol pytest_runtest_setup pytest_runtest_call pytest_runtest_teardown pytest_runtest_makereport"
    " pytest_runtest_logreport pytest_runtestloop pytest_pyfunc_call pytest_fixture_setup pytest_fixture_post_finalizer"
    " pytest_exception_interact pytest_report_teststatus pytest_make_collect_report pytest_pycollect_makemodule"
    " pytest_pycollect_makeitem pytest_collection_modifyitems pytest_collection_finish pytest_itemcollected"
    " pytest_sessionfinish pytest_unconfigure"
).split()


class Registered:
    """The hooks of one plugin manager."""

    def __init__(self, pluginmanager: Any, tell: Callable[[str], None]) -> None:
        self._manager, self._tell = pluginmanager, tell

    def now(self) -> Callable[[], None]:
        """Record the hooks; return a function that tells which hook has come, gone or changed since."""
        before, tell, now = self._flat(), self._tell, self._flat
        size, every, pairwise, same = len, all, map, operator.is_

        def compare() -> None:
            after = now()
            if size(after) != size(before) or not every(pairwise(same, after, before)):
                tell(_difference(before, after))

        return compare

    def _flat(self) -> list[Any]:
        """For each hook its name, its caller, and every implementation with its function."""
        callers = vars(self._manager.hook)
        found: list[Any] = [self._manager.__dict__.get("_inner_hookexec"), self._manager.__dict__.get("hook")]
        for name in _DECIDING:
            caller = callers.get(name)
            if caller is not None:
                found += (name, caller)
                for one in getattr(caller, "_hookimpls", ()):
                    found += (one, one.function)
        return found


def _difference(before: list[Any], after: list[Any]) -> str:
    """The hook that the first difference belongs to."""
    hook = "hooks"
    for one, other in zip(before, after):  # noqa: B905
        if one is not other:
            break
        hook = one if isinstance(one, str) else hook
    return f"pytest.hook.{hook}"


__unittest = True  # by which frames of this file are left out of tracebacks

_SKIPS = (pytest.skip.Exception, unittest.SkipTest, pytest.xfail.Exception)
Came = Callable[[Any, str, str, str], None]
"""A callback for the end of a phase: the item or test case, the phase, the function that saw the end, the outcome."""
_exc_info: Callable[[], Any] = sys.exc_info


class Boundaries:
    """Wraps every function that runs code of the project, before the machinery is recorded."""

    def __init__(self, registered: Registered, came: Came) -> None:
        self._registered, self._came = registered, came
        self._verify: list[Verify] = []

    def verify_by(self, verify: Verify) -> None:
        """Add a comparison with the recorded machinery."""
        self._verify.append(verify)

    def verify(self) -> None:
        """Compare now."""
        for one in self._verify:
            one()

    def draw(self, pluginmanager: Any) -> None:
        """Draw all of them."""
        self._hook(pluginmanager, "pytest_runtest_setup", self._told, "setup")
        self._hook(pluginmanager, "pytest_runtest_call", self._told, "call")
        self._hook(pluginmanager, "pytest_pyfunc_call", self._asked, "call")
        self._hook(pluginmanager, "pytest_runtest_teardown", self._told, "teardown")
        case = unittest.case.TestCase
        case._callTestMethod = self._around(case._callTestMethod, "_callTestMethod", "call")  # type: ignore[attr-defined]
        for name in ("call_fixture_func", "_teardown_yield_fixture"):
            if hasattr(_pytest.fixtures, name):
                setattr(_pytest.fixtures, name, self._after(getattr(_pytest.fixtures, name), _is_own_function))
        for loader in (AssertionRewritingHook, FromSource):
            loader.exec_module = self._after(loader.exec_module, _is_own_module)  # type: ignore[method-assign]
        for context in (type(pytest.raises(LookupError)), unittest.case._AssertRaisesContext):
            setattr(context, "__exit__", self._at_the_beginning(context.__exit__))  # noqa: B010

    def _hook(self, pluginmanager: Any, name: str, wrap: Callable[[Any, str, str], Any], when: str) -> None:
        for one in getattr(pluginmanager.hook, name).get_hookimpls():
            if not one.hookwrapper and not getattr(one, "wrapper", False):
                one.function = wrap(one.function, name, when)

    def _told(self, function: Any, name: str, when: str) -> Any:
        """Wrap a phase of a test. An exchange that its setup made is found before the call."""
        verifies, came = self._verify, self._came

        def bounded(item: Any, *args: Any) -> Any:
            __tracebackhide__ = True
            tell, raised, is_a, skips = came, _exc_info, issubclass, _SKIPS
            if when == "call":
                for one in verifies:
                    one()
            try:
                result = function(item, *args)
            except:
                tell(item, when, name, "skipped" if is_a(raised()[0], skips) else "failed")
                raise
            tell(item, when, name, "returned")
            return result

        return bounded

    def _asked(self, function: Any, name: str, when: str) -> Any:
        """Wrap a hook that may call a test, or return None, so that the next hook has to call it."""
        return self._around(function, name, when, may_pass=True)

    def _around(self, function: Any, name: str, when: str, *, may_pass: bool = False) -> Any:
        """Wrap a call of a test. It binds the functions for its end before any code of the project runs."""
        verifies, registered, came = self._verify, self._registered, self._came

        def bounded(test: Any, *args: Any) -> Any:
            __tracebackhide__ = True
            verify, compare, tell = tuple(verifies), registered.now(), came
            raised, is_a, skips = _exc_info, issubclass, _SKIPS
            try:
                result = function(test, *args)
            except:
                tell(test, when, name, "skipped" if is_a(raised()[0], skips) else "failed")
                for one in verify:
                    one()
                compare()
                raise
            if result is None and may_pass:
                return None
            for one in verify:
                one()
            compare()
            tell(test, when, name, "returned")
            return result

        return bounded

    def _after(self, function: Any, is_own: Callable[..., bool]) -> Any:
        """Wrap a function that runs code of the project among much other code."""
        verifies, registered = self._verify, self._registered

        def bounded(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            if not verifies or not is_own(*args):
                return function(*args, **kwargs)
            verify, compare = tuple(verifies), registered.now()
            try:
                return function(*args, **kwargs)
            finally:
                for one in verify:
                    one()
                compare()

        return bounded

    def _at_the_beginning(self, function: Any) -> Any:
        """Wrap the exit of `raises` and its kin: it runs within a test, right after code of the project."""
        verifies = self._verify

        def leave(self: Any, *args: Any) -> Any:
            __tracebackhide__ = True
            for one in verifies:
                one()
            return function(self, *args)

        return leave


def _is_own_function(function: Any, *_: Any) -> bool:
    return bool(AUDIT.place(getattr(function, "__code__", None)))


def _is_own_module(_: Any, module: Any) -> bool:
    origin = getattr(getattr(module, "__spec__", None), "origin", None)
    return isinstance(origin, str) and origin.startswith(AUDIT.root) and "site-packages" not in origin
