"""How a phase of a test ended, and why it failed, by what was raised."""

from __future__ import annotations

import builtins
import unittest
from typing import Any

import pytest

_SKIPS = (pytest.skip.Exception, unittest.SkipTest)


class TestTimeout(BaseException):
    """A test took too long."""

    __test__ = False


def raw(value: Any) -> str:
    """What a phase comes to by what was raised, before any hook has looked at it."""
    if value is None:
        return "passed"
    return "skipped" if isinstance(value, (*_SKIPS, pytest.xfail.Exception)) else "failed"


def kind_of(value: Any, when: str) -> str:
    """The kind of a failure."""
    if isinstance(value, TestTimeout):
        return "timeout"
    if isinstance(value, (SystemExit, KeyboardInterrupt, pytest.exit.Exception)):
        return "exit"
    if when == "collect":
        causes = (value, getattr(value, "__cause__", None))
        return "import" if any(isinstance(cause, (ImportError, SyntaxError)) for cause in causes) else "error"
    if when in ("setup", "teardown"):
        return "fixture"
    if value is None:
        return "hook"
    kinds = {_reason(one) for one in _leaves(value)}
    return kinds.pop() if len(kinds) == 1 else "not_implemented" if kinds <= _MISSING else "error"


_MISSING = {"assertion", "not_implemented"}
_GROUP = getattr(builtins, "BaseExceptionGroup", ())
_LONGEST_CHAIN = 20
_CAUSE = BaseException.__dict__["__cause__"]  # as it is, whatever a class of the project calls so


def _leaves(value: Any) -> list[Any]:
    """The exceptions of a group, however deep; one that is no group is its own leaf."""
    found: list[Any] = []
    stack = [value]
    while stack and len(found) < 100:
        one = stack.pop()
        stack.extend(one.exceptions) if isinstance(one, _GROUP) else found.append(one)
    return found


def _reason(value: Any) -> str:
    """Why a test failed; what was raised *from* something that is not implemented is not implemented."""
    if isinstance(value, (AssertionError, pytest.fail.Exception)):
        return "assertion"
    link = value
    for _ in range(_LONGEST_CHAIN):
        if isinstance(link, NotImplementedError):
            return "not_implemented"
        link = _CAUSE.__get__(link) if isinstance(link, BaseException) else None
    return "import" if isinstance(value, (ImportError, SyntaxError)) else "error"
