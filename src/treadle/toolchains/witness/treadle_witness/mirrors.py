"""Copies of tests that expect something else than the tests do.

A copy must fail. One that passes compares with something that equals everything, or runs where nothing can fail. Of
tests that failed, the copy does nothing but fail: if that is swallowed, they would pass with any implementation.
"""

from __future__ import annotations

import ast
import copy
import random
import time
from functools import lru_cache
from types import CodeType, FunctionType
from typing import (  # noqa: UP035 - this runs on old versions too
    Any,
    Callable,
    Iterator,
    Mapping,
)

import pytest
from _pytest.assertion.rewrite import rewrite_asserts
from _pytest.runner import runtestprotocol

from .altered import far, near
from .reasons import TestTimeout
from .written import codes

# The places of a test at which a mirror expects another value.

_HELPERS = ("assertEqual", "assertEquals", "assert_equal")
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_PLAIN = (int, bool, float, complex, str, bytes, list, tuple, set, dict, type(None))


class ExpectedPlace:
    """Where a test compares with a value that is written down."""

    def __init__(self, whole: ast.stmt, line: int, text: str, value: Any, expect: Callable[[ast.expr], None]) -> None:
        self.whole, self.line, self.text, self.value, self.expect = whole, line, text, value, expect


def find_places(source: str, name: str, line: int, given: Mapping[str, Any] | None = None) -> list[ExpectedPlace]:
    """The places in a test at which the expected value can be exchanged with certainty; `given`: its parameters."""
    found = [(node, owner) for node, owner in _parsed(source) if _is_at(node, name, line)]
    if len(found) != 1:
        return []
    function, owner = copy.deepcopy(found[0])  # the caller changes it, and the cache has to keep the original
    if _may_leave(function) or not all(_is_mark(one) for one in function.decorator_list):
        return []
    function.decorator_list = []
    # A class around it: names with two underscores mean something else there.
    whole: Any = function
    if owner:
        whole = ast.parse(f"class {owner}: pass").body[0]
        whole.body = [function]
    return [
        ExpectedPlace(whole, statement.lineno, _text(source, statement), value, expect)
        for statement in function.body
        for value, expect in _comparison(function, statement, given or {})
    ]


@lru_cache(maxsize=8)
def _parsed(source: str) -> list[tuple[ast.FunctionDef, str]]:
    """Every function of a file of tests; many places are looked for in the same one."""
    try:
        return list(_functions(ast.parse(source), ""))
    except (SyntaxError, ValueError, RecursionError):
        return []


def _assigned(function: ast.FunctionDef, name: str) -> Callable[[ast.expr], None]:
    """Exchange a parameter by an assignment at the start, so code that reads the caller's variables sees it, too."""
    first: list[ast.stmt] = []

    def expect(node: ast.expr) -> None:
        if not first:
            first.append(ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store())], value=node))
            function.body.insert(0, first[0])
        first[0].value = node  # type: ignore[attr-defined]

    return expect


def _way(function: ast.FunctionDef, node: ast.expr, inside: Callable[[ast.expr], None]) -> Callable[[ast.expr], None]:
    """How to exchange a value: where it stands, or as a parameter that is used for nothing else."""
    name = getattr(node, "id", None)
    uses = [one for one in ast.walk(function) if isinstance(one, ast.Name) and one.id == name]
    return _assigned(function, str(name)) if name is not None and len(uses) == 1 else inside


def _comparison(
    function: ast.FunctionDef, statement: ast.stmt, given: Mapping[str, Any]
) -> Iterator[tuple[Any, Callable[[ast.expr], None]]]:
    """The value that a statement compares with, and the way to exchange it; both sides must not be values."""
    if isinstance(statement, ast.Assert) and isinstance(statement.test, ast.Compare):
        test = statement.test
        right = test.comparators[0]
        if len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
            if _is_plain(right, given) and not _is_known(test.left, given):
                inside: Callable[[ast.expr], None] = lambda node: test.comparators.__setitem__(0, node)  # noqa: E731
                yield _known(right, given), _way(function, right, inside)
            elif _is_plain(test.left, given) and not _is_known(right, given):
                yield _known(test.left, given), _way(function, test.left, lambda node: setattr(test, "left", node))
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        if isinstance(call.func, ast.Attribute) and call.func.attr in _HELPERS and len(call.args) >= 2:
            sides = [number for number in (0, 1) if _is_known(call.args[number], given)]
            if len(sides) == 1 and _is_plain(call.args[sides[0]], given):
                yield _known(call.args[sides[0]], given), lambda node: call.args.__setitem__(sides[0], node)


def _known(node: ast.expr, given: Mapping[str, Any]) -> Any:
    return given[node.id] if isinstance(node, ast.Name) else ast.literal_eval(node)


def _is_plain(node: ast.expr, given: Mapping[str, Any]) -> bool:
    """Whether it is written down, or a parameter of the test that could as well be."""
    return _is_known(node, given) and type(_known(node, given)) in _PLAIN


def _is_known(node: ast.expr, given: Mapping[str, Any]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in given
    try:
        return ast.literal_eval(node) is not ...
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False


def _functions(node: Any, owner: str) -> Iterator[tuple[ast.FunctionDef, str]]:
    for one in node.body:
        if isinstance(one, ast.FunctionDef):
            yield one, owner
        elif isinstance(one, ast.ClassDef):
            yield from _functions(one, one.name)


def _is_at(node: ast.FunctionDef, name: str, line: int) -> bool:
    return node.name == name and min([node.lineno, *(one.lineno for one in node.decorator_list)]) == line


def _is_mark(node: ast.expr) -> bool:
    """`pytest.mark.…` says something about a test and leaves its function as it is."""
    names = []
    inner: Any = node.func if isinstance(node, ast.Call) else node
    while isinstance(inner, ast.Attribute):
        names.append(inner.attr)
        inner = inner.value
    return isinstance(inner, ast.Name) and [inner.id, *reversed(names)][:2] == ["pytest", "mark"]


def _may_leave(node: Any) -> bool:
    """Whether a function may end before its end without an exception."""
    for one in ast.iter_child_nodes(node):
        if isinstance(one, ast.Return) or (not isinstance(one, _SCOPES) and _may_leave(one)):
            return True
    return False


def _text(source: str, statement: ast.stmt) -> str:
    return " ".join((ast.get_source_segment(source, statement) or "").split())[:200]


_SECONDS = 10.0
"""For all copies together; a test that takes more than a tenth of it has none."""
_TRIES = 8
"""So many different values must be taken for the right one: numbers that are compared by a remainder take some."""
_GENERATES = 0x20 | 0x80 | 0x200  # a generator, a coroutine, or both
_LARGEST = 1_000_000


class Mirror:
    """A test with an exchangeable expected value: a literal that every path through the test compares."""

    def __init__(self, item: pytest.Item, function: FunctionType, place: ExpectedPlace) -> None:
        self.item, self.function, self.place = item, function, place

    def series(self, draw: random.Random) -> Iterator[Iterator[CodeType | None]]:
        """The code of the test with values that it does not expect: far from the right one, and then near it."""
        yield (self._code(_written(far(self.place.value, draw))) for _ in range(_TRIES))
        yield (self._code(_written(one)) for one in near(self.place.value, draw))

    def _code(self, value: ast.expr) -> CodeType | None:
        self.place.expect(value)
        try:
            # A copy: rewriting takes the assertion apart, and the next value would have no place.
            module = ast.Module(body=[copy.deepcopy(self.place.whole)], type_ignores=[])
            ast.fix_missing_locations(module)
            if "@pytest_ar" in self.function.__globals__:
                rewrite_asserts(module, b"")
            compiled = compile(module, self.function.__code__.co_filename, "exec", dont_inherit=True)
        except Exception:  # noqa: BLE001, RUF100 - what cannot be derived is left out
            return None
        return next((code for code in codes(compiled) if _fits(code, self.function.__code__)), None)


class Hollow:
    """A test that the witness replaces with a function that only fails."""

    def __init__(self, item: pytest.Item, function: FunctionType) -> None:
        self.item, self.function = item, function

    def series(self, draw: random.Random) -> Iterator[Iterator[CodeType | None]]:
        """Yield code with the name, place and parameters of the test that fails by an assertion."""
        yield (self._code(draw) for _ in range(_TRIES))

    def _code(self, draw: random.Random) -> CodeType:
        number, own = draw.randrange(10**12, 10**15), self.function.__code__
        text = f"def {own.co_name}(*_, **__):\n    assert len(_) + len(__) == {number}"
        module = ast.increment_lineno(ast.parse(text), own.co_firstlineno - 1)
        return next(codes(compile(module, own.co_filename, "exec", dont_inherit=True)))


class Mirrors:
    """The copies of one run; they come after all tests, which they so cannot disturb."""

    def __init__(self, most: int, seed: str) -> None:
        self.most, self.draw = most, random.Random(seed)
        self.is_running = False
        self._sources: dict[str, str] = {}
        self._functions: dict[str, Any] = {}
        self._passed: list[pytest.Item] = []
        self._failed: list[pytest.Item] = []
        self._seconds: dict[str, float] = {}
        self._verdict = ""

    def read(self, collector: Any) -> None:
        """Remember a file of tests as it is before it is imported."""
        if self.most and isinstance(collector, pytest.Module):
            try:
                text = collector.path.read_text(encoding="utf-8")
            except (OSError, ValueError):
                return
            if len(text) <= _LARGEST:
                self._sources[collector.nodeid] = text

    def collected(self, item: pytest.Item) -> None:
        """Remember the function of a test."""
        if self.most:
            self._functions[item.nodeid] = getattr(item, "function", None)

    def saw(self, item: pytest.Item, call: Any, report: Any) -> None:
        """Hear how a phase of a test, or of a copy, ended."""
        if self.is_running:
            self._verdict = report.outcome if call.when == "call" else self._verdict
            return
        self._seconds[item.nodeid] = self._seconds.get(item.nodeid, 0.0) + call.duration
        if call.when == "call" and not hasattr(report, "wasxfail"):
            {"passed": self._passed, "failed": self._failed}.get(report.outcome, []).append(item)

    def run(self, send: Callable[..., None], alarm: Callable[[float], None]) -> None:
        """Run some copies, and report the verdict of each."""
        chosen: list[Mirror | Hollow] = [*self._hollow(), *self._chosen()]
        until = time.monotonic() + _SECONDS
        self.is_running = True
        for number, mirror in enumerate(chosen):
            following = chosen[number + 1].item if number + 1 < len(chosen) else None
            verdict = self._outcome(mirror, following, alarm)
            if isinstance(mirror, Mirror):
                send("mirror", id=mirror.item.nodeid, line=mirror.place.line, text=mirror.place.text, verdict=verdict)
            elif verdict == "passed":
                send("swallowed", id=mirror.item.nodeid)
            if not verdict or time.monotonic() > until:
                break
        self.is_running = False

    def _hollow(self) -> list[Hollow]:
        found = [(item, self._function(item)) for item in self._quick(self._failed)]
        return [Hollow(item, function) for item, function in found if function is not None][: self.most]

    def _quick(self, items: list[pytest.Item]) -> list[pytest.Item]:
        quick = [item for item in items if self._seconds[item.nodeid] < _SECONDS / 10]
        self.draw.shuffle(quick)
        return quick

    def _chosen(self) -> Iterator[Mirror]:
        quick = self._quick(self._passed)
        left = self.most
        for item in quick[: self.most * 10]:
            mirror = self._derived(item) if left else None
            if mirror is not None:
                left -= 1
                yield mirror

    def _function(self, item: pytest.Item) -> FunctionType | None:
        """The function of a test, if its code can be exchanged for a while."""
        function = self._functions.get(item.nodeid)
        if not isinstance(function, FunctionType) or hasattr(function, "__wrapped__"):
            return None
        return None if function.__code__.co_freevars or function.__code__.co_flags & _GENERATES else function

    def _derived(self, item: pytest.Item) -> Mirror | None:
        function, source = self._function(item), self._sources.get(item.nodeid.partition("::")[0])
        if source is None or function is None:
            return None
        given = getattr(getattr(item, "callspec", None), "params", {})
        places = find_places(source, function.__name__, function.__code__.co_firstlineno, given)
        return Mirror(item, function, self.draw.choice(places)) if places else None

    def _outcome(self, mirror: Mirror | Hollow, following: Any, alarm: Callable[[float], None]) -> str:
        first = "underived"
        for row in mirror.series(self.draw):
            verdict = "underived"
            for code in row:
                verdict = "underived" if code is None else self._rerun(mirror, code, following, alarm)
                first = verdict if first == "underived" else first
                if verdict != "passed":
                    break
            if verdict in ("passed", ""):
                return verdict
        return first

    def _rerun(self, mirror: Mirror | Hollow, code: CodeType, following: Any, alarm: Callable[[float], None]) -> str:
        """How the test ends with other code; empty if that cannot be told, and nothing more should be tried."""
        own, self._verdict = mirror.function.__code__, "failed"
        options = mirror.item.config.option
        shown, options.tbstyle = getattr(options, "tbstyle", "auto"), "line"  # the failure of a copy is never shown
        mirror.function.__code__ = code
        alarm(_SECONDS / 2)
        try:
            runtestprotocol(mirror.item, log=False, nextitem=None if following is mirror.item else following)
        except (Exception, KeyboardInterrupt, TestTimeout, pytest.exit.Exception):  # noqa: BLE001, RUF100
            return ""
        finally:
            alarm(0)
            mirror.function.__code__, options.tbstyle = own, shown
        return self._verdict


def _written(value: Any) -> ast.expr:
    return ast.parse(repr(value), mode="eval").body


def _fits(code: CodeType, own: CodeType) -> bool:
    return code.co_name == own.co_name and not code.co_freevars and code.co_argcount == own.co_argcount
