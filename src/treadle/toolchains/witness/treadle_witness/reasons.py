"""Derives the outcome of a phase of a test, and the reason of a failure, from the raised exception."""

from __future__ import annotations

import builtins
import os
import unittest
from typing import Any

import pytest

_SKIPS = (pytest.skip.Exception, unittest.SkipTest)


class TestTimeout(BaseException):
    """A test took too long."""

    __test__ = False


def raw(value: Any) -> str:
    """Return the outcome of a phase by its exception, before any hook has changed it."""
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
    if value is None and when == "call":
        return "hook"
    kinds = {_reason(one) for one in _leaves(value)}
    if when != "call":
        return "not_implemented" if when == "setup" and kinds == {"not_implemented"} else "fixture"
    return kinds.pop() if len(kinds) == 1 else "not_implemented" if kinds <= _MISSING else "error"


def places_of(value: Any, checkout: str) -> list[str]:
    """Return the files of a checkout that raised "not implemented"; an empty name for a place elsewhere."""
    found = [_missing(one) for one in _leaves(value)]
    return sorted({place_of(_TRACEBACK.__get__(one), checkout)[0] for one in found if one is not None})


def place_of(link: Any, checkout: str) -> tuple[str, int]:
    """Return the last file and line of a checkout in a traceback; frames from elsewhere may follow."""
    place = ("", 0)
    while link is not None:
        file = link.tb_frame.f_code.co_filename
        place = (file[len(checkout) + 1 :], link.tb_lineno) if file.startswith(checkout + os.sep) else place
        link = link.tb_next
    return place


_MISSING = {"assertion", "not_implemented"}
_GROUP = getattr(builtins, "BaseExceptionGroup", ())
_LONGEST_CHAIN = 20
_TRACEBACK = BaseException.__dict__["__traceback__"]
_CAUSE = BaseException.__dict__["__cause__"]  # the real cause, even if a class of the project overrides the name


def _leaves(value: Any) -> list[Any]:
    """The exceptions of a group, however deep; one that is no group is its own leaf."""
    found: list[Any] = []
    stack = [value]
    while stack and len(found) < 100:
        one = stack.pop()
        stack.extend(one.exceptions) if isinstance(one, _GROUP) else found.append(one)
    return found


def _reason(value: Any) -> str:
    """Return the reason of a failure; an exception raised *from* `NotImplementedError` is "not implemented", too."""
    if isinstance(value, (AssertionError, pytest.fail.Exception)):
        return "assertion"
    if _missing(value) is not None:
        return "not_implemented"
    return "import" if isinstance(value, (ImportError, SyntaxError)) else "error"


def _missing(value: Any) -> Any:
    """Return the `NotImplementedError` of an exception: itself, or one in its chain of causes; else None."""
    link = value
    for _ in range(_LONGEST_CHAIN):
        if isinstance(link, NotImplementedError):
            return link
        link = _CAUSE.__get__(link) if isinstance(link, BaseException) else None
    return None
