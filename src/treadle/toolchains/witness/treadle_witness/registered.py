"""Whether code of the project has registered hooks, or put something in their place, while it had control."""

from __future__ import annotations

import operator
from typing import Any, Callable  # noqa: UP035 - this runs on old versions too

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
        """Take down what there is; what is given back tells what has come, gone or changed since."""
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
