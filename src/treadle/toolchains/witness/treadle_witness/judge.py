"""Whether a value that a test compares is what it says: asked of the same value, when the test compares it.

Only classes of the project can lie about equality. So their values meet others that they must not equal, before the
test compares them and as often as nobody can count; and where they are numbers or texts, these have to agree.
"""

from __future__ import annotations

import random
import sys
import unicodedata
from types import FunctionType
from typing import Any, Callable, Iterator  # noqa: UP035 - this runs on old versions too

from .audit import AUDIT
from .machinery import is_of_tests
from .near import far, near

_NUMBERS = (int, float, complex)
_BASES = (*_NUMBERS, str, bytes, bytearray, list, tuple, dict, set, frozenset)
_PLAIN = frozenset({*_BASES, bool, type(None)})
_ROWS = (list, tuple)
_METHODS = {"==": "__eq__", "!=": "__ne__", "<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}
_FEWEST, _MOST = 8, 14
_DEEPEST, _WIDEST = 3, 20
_OWN = type.__dict__["__dict__"].__get__
_MRO = type.__dict__["__mro__"].__get__


class Judge:
    """Judges the values of one run."""

    def __init__(self, send: Callable[..., None], seed: str) -> None:
        self._send, self._draw = send, random.Random(seed)
        self.is_silent = False
        """While copies of tests run, which expect what is wrong."""

    def others(self, expected: Any) -> list[Any]:
        """Some values that stand in the code of a test as the right one does."""
        return [*near(expected, self._draw), far(expected, self._draw)]

    def __call__(self, left: Any, right: Any, sign: str, line: int, text: str, *others: Any) -> None:
        """Hear of a comparison that is about to be made, and of values beside the right one."""
        if self.is_silent or not AUDIT.test or (type(left) in _PLAIN and type(right) in _PLAIN and _is_flat(left)):
            return
        for value, expected in _pairs(left, right, 0):
            self._of_one(value, expected, sign, line, text, others if type(expected) in _PLAIN else ())

    def _of_one(self, value: Any, expected: Any, sign: str, line: int, text: str, others: tuple[Any, ...]) -> None:
        test, owner = AUDIT.test, _owner(type(value), _METHODS[sign])
        if owner is None:
            return
        if sign == "==" and type(expected) in _PLAIN and self._takes_all(value, expected, others):
            self._send("mirror", id=test, line=line, text=text, verdict="passed")
        base = next((one for one in _MRO(type(value)) if one in _BASES), None)
        if base is not None:
            self._compare_as(base, value, expected, sign, f"{owner[1]}: {owner[0].__name__}")

    def _takes_all(self, value: Any, expected: Any, beside: tuple[Any, ...]) -> bool:
        """Whether it equals whatever nobody can expect, whatever is near to what is right, or whatever stands there."""
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


def _is_likely(base: type, value: Any, expected: Any) -> bool:
    """Whether two values may well be the same to somebody honest: by case, by spaces, by order, or nearly."""
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
    """The values of classes that are nobody's but the project's, each with what it is compared to."""
    if type(left) not in _PLAIN:
        yield left, right
    elif type(right) not in _PLAIN:
        yield right, left
    elif depth < _DEEPEST and type(left) in _ROWS and type(right) in _ROWS:
        for one, other in list(zip(left, right))[:_WIDEST]:  # noqa: B905
            yield from _pairs(one, other, depth + 1)
    elif depth < _DEEPEST and type(left) is dict and type(right) is dict:
        for key in [key for key in left if key in right][:_WIDEST]:
            yield from _pairs(left[key], right[key], depth + 1)


def _owner(kind: type, method: str) -> tuple[type, str] | None:
    """The class under test that says how values compare, and its file; none if another does."""
    for one in _MRO(kind):
        owned = _OWN(one)
        if method in owned:
            return _place(one, owned[method])
    return None


def _place(owner: type, method: Any) -> tuple[type, str] | None:
    code = method.__code__ if type(method) is FunctionType else None
    file = getattr(code, "co_filename", "<")
    if file.startswith("<"):  # generated, as for a data class
        file = getattr(sys.modules.get(_OWN(owner).get("__module__", "")), "__file__", None) or ""
    prefix = f"{AUDIT.root}/"
    place = file[len(prefix) :] if file.startswith(prefix) and "site-packages" not in file else ""
    return (owner, place) if place and not is_of_tests(place) else None
