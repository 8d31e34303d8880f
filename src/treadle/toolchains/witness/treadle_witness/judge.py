"""Judges whether a value that a test compares is honest about equality, right when the test compares it.

Only classes of the project can lie about equality. So before the test compares one of their values, the judge compares
the value with others that it must not equal, a random number of times, as a lie could count on a fixed one. If the
value is also a number or a text, the comparison by the builtin type has to agree.
"""

from __future__ import annotations

import os
import random
import re
import sys
import unicodedata
from types import FunctionType
from typing import Any, Callable, Iterator  # noqa: UP035 - this runs on old versions too

from .altered import altered, differ, far, near, shown, state
from .audit import AUDIT
from .machinery import is_of_tests

# Values of libraries that equal everything: a test may expect one, an implementation may not be one.

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


_NUMBERS = (int, float, complex)
_BASES = (*_NUMBERS, str, bytes, bytearray, list, tuple, dict, set, frozenset)
_PLAIN = frozenset({*_BASES, bool, type(None)})
_ROWS = (list, tuple)
_METHODS = {"==": "__eq__", "!=": "__ne__", "<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}
_FEWEST, _MOST = 8, 14
_DEEPEST, _WIDEST = 3, 20
_OWN = type.__dict__["__dict__"].__get__


class Judge:
    """Judges the values of one run."""

    def __init__(self, send: Callable[..., None], seed: str, *, has_mirrors: bool = True) -> None:
        """Judge the values of one run; without mirrors, do not report tests that pass with any expected value."""
        self._send, self._draw, self._named = send, random.Random(seed), Named()
        self._has_mirrors = has_mirrors
        self.is_silent = False
        """True while copies of tests run: they expect wrong values."""

    def others(self, expected: Any) -> list[Any]:
        """Return wrong values that the code of a test carries beside the right one."""
        return [*near(expected, self._draw), far(expected, self._draw)]

    def __call__(self, left: Any, right: Any, sign: str, line: int, text: str, *others: Any) -> None:
        """Judge a comparison that the test is about to make; `others` are wrong values beside the right one."""
        if sign == "in" and AUDIT.test and not self.is_silent:
            self._of_container(right)
        if (
            sign == "in"
            or self.is_silent
            or not AUDIT.test
            or (type(left) in _PLAIN and type(right) in _PLAIN and _is_flat(left))
        ):
            return
        for value, expected in _pairs(left, right, 0):
            if self._has_mirrors and self._says_nothing(value, expected, sign, others):
                self._send("mirror", id=AUDIT.test, line=line, text=text, verdict="passed")
            self._of_one(value, expected, sign)

    def judged(self, left: Any, right: Any, _gone: None, *more: Any) -> Any:
        """Judge a comparison, and return its second value; the test has dropped the first one by then."""
        self(left, right, *more)
        return right

    def _of_container(self, container: Any) -> None:
        """Report a container that claims more members than its length.

        Ask only a container without state, so the question cannot change it.
        """
        owner = _owner(type(container), "__contains__") if type(container) not in _PLAIN else None
        if owner is None or _owner(type(container), "__len__") is None or state(container):
            return
        things = [object(), *(far(one, self._draw) for one in ("", 0, "", 0)), *(object() for _ in range(_FEWEST))]
        if all(_has(container, one) for one in things) and _size(container) < len(things):
            text = f"takes a wrong value for the right one: it has everything in it, and is {_size(container)} long"
            self._send("tampering", text=f"{owner[1]}: {owner[0].__name__} {text} (in {AUDIT.test})")

    def _says_nothing(self, value: Any, expected: Any, sign: str, others: tuple[Any, ...]) -> bool:
        """Whether a value equals everything in the place of the expected value."""
        if sign != "==":
            return False
        if _owner(type(value), "__eq__") is None:
            return is_matcher(type(value)) and not self._named.in_test(AUDIT.test)
        return type(expected) in _PLAIN and self._takes_all(value, expected, others)

    def _of_one(self, value: Any, expected: Any, sign: str) -> None:
        owner = _owner(type(value), _METHODS[sign])
        if owner is None:
            return
        whose = f"{owner[1]}: {owner[0].__name__}"
        base = next((one for one in _MRO(type(value)) if one in _BASES), None)
        if base is not None:
            self._compare_as(base, value, expected, sign, whose)
        elif sign == "==" and self._takes_another(value, expected):
            text = f"takes a wrong value for the right one: {shown(value)} == {shown(expected)}"
            self._send("tampering", text=f"{whose} {text} (in {AUDIT.test})")

    def _takes_another(self, value: Any, expected: Any) -> bool:
        """Whether a value equals an expected value with another content, and also its copies with random contents."""
        if _work_of(type(expected)) is None or not differ(value, expected) or not _answer(value, "==", expected):
            return False
        copies = [altered(expected, self._draw, number) for number in range(self._draw.randrange(_FEWEST, _MOST))]
        return all(one is not None and _answer(value, "==", one) for one in copies)

    def _takes_all(self, value: Any, expected: Any, beside: tuple[Any, ...]) -> bool:
        """Whether a value equals all unlikely values, all values near the right one, or all that stand beside it."""
        unlikely = [far(expected, self._draw) for _ in range(self._draw.randrange(_FEWEST, _MOST))]
        rows = [row for row in (unlikely, near(expected, self._draw), beside) if row]
        self._draw.shuffle(rows)
        answers = [[_answer(value, "==", one) for one in row] for row in rows]
        return any(all(row) for row in answers)

    def _compare_as(self, base: Any, value: Any, expected: Any, sign: str, whose: str) -> None:
        plain = getattr(base, _METHODS[sign])(value, expected)
        if plain is NotImplemented or plain is _answer(value, sign, expected):
            return
        shown = f"{base.__repr__(value)[:60]} {sign} {_shown(expected)}"
        if sign == "==" and not _is_likely(base, value, expected):
            self._send("tampering", text=f"{whose} takes a wrong value for the right one: {shown} (in {AUDIT.test})")
        else:
            said = "does not hold" if plain is False else "holds"
            self._send(
                "tampering", text=f"{whose} compares in its own way: by itself, {shown} {said} (in {AUDIT.test})"
            )


def _answer(value: Any, sign: str, other: Any) -> bool:
    try:
        if sign == "==":
            return bool(value == other)
        if sign == "!=":
            return bool(value != other)
        return bool(getattr(type(value), _METHODS[sign])(value, other) is True)
    except Exception:  # noqa: BLE001, RUF100 - what a class of the project does with it
        return False


def _has(container: Any, one: Any) -> bool:
    try:
        return bool(one in container)
    except Exception:  # noqa: BLE001, RUF100
        return False


def _size(container: Any) -> float:
    try:
        return len(container)
    except Exception:  # noqa: BLE001, RUF100
        return float("inf")


def _is_likely(base: type, value: Any, expected: Any) -> bool:
    """Whether an honest class may take two values as equal: they differ only in case, spaces, order, or by little."""
    try:
        if base is str:
            return _plain_text(str.__str__(value)) == _plain_text(expected)
        if base in _NUMBERS:
            return abs(base(value) - base(expected)) <= 0.01 * max(abs(base(value)), abs(base(expected)))
        if base is dict:
            return {_plain_text(str(key)) for key in dict.keys(value)} == {_plain_text(str(key)) for key in expected}
        return sorted(map(repr, base.__iter__(value))) == sorted(map(repr, expected))  # type: ignore[attr-defined]
    except Exception:  # noqa: BLE001, RUF100
        return False


def _plain_text(text: str) -> str:
    return "".join(one for one in unicodedata.normalize("NFKD", text).casefold() if one.isalnum())


def _shown(value: Any) -> str:
    return repr(value)[:60] if type(value) in _PLAIN else type(value).__name__


def _is_flat(value: Any) -> bool:
    """Whether it holds nothing that could be of a class of the project."""
    if not isinstance(value, (list, tuple, dict, set, frozenset)):
        return True
    found = list(value.values() if isinstance(value, dict) else value)[:_WIDEST]
    return all(type(one) in _PLAIN and not isinstance(one, (list, tuple, dict, set, frozenset)) for one in found)


def _pairs(left: Any, right: Any, depth: int) -> Iterator[tuple[Any, Any]]:
    """Yield each value that is not of a plain type, with the value that it is compared to."""
    if type(left) not in _PLAIN:
        yield left, right
        if type(left) is type(right) and depth < _DEEPEST and _work_of(type(left)) is not None and differ(left, right):
            yield from _pairs(state(left), state(right), depth + 1)
    elif type(right) not in _PLAIN:
        yield right, left
    elif depth < _DEEPEST and type(left) in _ROWS and type(right) in _ROWS:
        for one, other in list(zip(left, right))[:_WIDEST]:  # noqa: B905
            yield from _pairs(one, other, depth + 1)
    elif depth < _DEEPEST and type(left) is dict and type(right) is dict:
        for key in [key for key in left if key in right][:_WIDEST]:
            yield from _pairs(left[key], right[key], depth + 1)


def _owner(kind: type, method: str) -> tuple[type, str] | None:
    """Return the class under test that defines a comparison, and its file; None if another class defines it."""
    for one in _MRO(kind):
        owned = _OWN(one)
        if method in owned:
            return _place(one, owned[method])
    return None


def _place(owner: type, method: Any) -> tuple[type, str] | None:
    code = method.__code__ if type(method) is FunctionType else None
    file = getattr(code, "co_filename", "<")
    place = _place_of(file) if not file.startswith("<") else _work_of(owner)  # generated, as for a data class
    return (owner, place) if place else None


def _work_of(kind: type) -> str | None:
    """Return the file under test that defines a class; None if another file does."""
    file = getattr(sys.modules.get(_OWN(kind).get("__module__", "")), "__file__", None) or ""
    return _place_of(file)


def _place_of(file: str) -> str | None:
    prefix = f"{AUDIT.root}/"
    place = file[len(prefix) :] if file.startswith(prefix) and "site-packages" not in file else ""
    return place if place and not is_of_tests(place) else None
