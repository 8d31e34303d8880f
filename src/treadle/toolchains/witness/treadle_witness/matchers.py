"""Values of libraries that are made to equal everything: a test may expect one, an implementation may not be one."""

from __future__ import annotations

import os
import re
import sys
from typing import Any

from .audit import AUDIT
from .machinery import is_of_tests

_HOMES = ("unittest.mock", "mock.mock", "mock")
_WORD = re.compile(rb"\bANY\b")
_open = open  # tests exchange it for a while
_MRO = type.__dict__["__mro__"].__get__


def is_matcher(kind: type) -> bool:
    """Whether values of a class are `unittest.mock.ANY`."""
    return any(one.__name__ == "_ANY" and one.__module__ in _HOMES for one in _MRO(kind))


class Named:
    """Which tests speak of `ANY`, in their own file or in one that tests share."""

    def __init__(self) -> None:
        self._known: dict[str, bool] = {}

    def in_test(self, test: str) -> bool:
        """Whether a test may have put it where it is."""
        own = test.partition("::")[0]
        if own not in self._known:
            with AUDIT.unheard():
                self._known[own] = any(_speaks(file) for file in _files() if _is_shared(file) or file.endswith(own))
        return self._known[own]


def _files() -> list[str]:
    modules: dict[str, Any] = dict(sys.modules)
    files = {getattr(module, "__file__", None) for module in modules.values()}
    return [file for file in files if isinstance(file, str) and _is_of_tests(file)]


def _is_of_tests(file: str) -> bool:
    root = AUDIT.root + os.sep
    return file.startswith(root) and "site-packages" not in file and is_of_tests(file[len(root) :])


def _is_shared(file: str) -> bool:
    name = os.path.basename(file)  # noqa: PTH119
    return not (name.startswith("test_") or name.endswith("_test.py"))


def _speaks(file: str) -> bool:
    try:
        with _open(file, "rb") as opened:
            return _WORD.search(opened.read()) is not None
    except OSError:
        return False
