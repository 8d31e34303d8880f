"""Finds tests that show nothing, by reading them: no assertion, none that can fail, or only of mocks. Python only.

Certain findings are reasons to refuse. Tests that only look weak (a function compared with itself, any exception
accepted as the expected one, something left to chance) get advice.
"""

import ast
import builtins
import operator
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final

import msgspec

from treadle.evidence.assertions import (
    asserting_beside,
    asserting_functions,
    dead_reason,
    is_failure,
    live,
    names_called,
    names_handed_over,
    never_awaited,
    run_apart,
)
from treadle.evidence.code_shapes import (
    Function,
    functions_by_name,
    last_name,
    parse_python,
)
from treadle.evidence.examples import used_names
from treadle.evidence.subject import Subject
from treadle.evidence.unittest_assertions import (
    HOOKS,
    is_own_assertion,
    plain_assertion,
    silent_equalities,
)

# Assertions that miss the code's behaviour: about its source text, or with a tolerance that accepts any result.
# Python only.

_WRITTEN: Final = frozenset({"getsource", "getsourcelines", "get_instructions", "Bytecode", "code_info", "__code__"})
"""Ways to look at how a function is written."""


def beside_the_point(test: ast.AST, asserts: list[ast.Assert]) -> str:
    """Return why all of a test's assertions miss the code's behaviour; empty if one of them is about it."""
    names = _WRITTEN | _named_after(test)
    reasons = [_about_writing(one, names) or _any_will_do(one) for one in asserts]
    return reasons[0] if reasons and all(reasons) else ""


def looks_at_files(asserts: list[ast.Assert]) -> str:
    """An assertion about the file that a module lies in, which may have its reasons."""
    for one in asserts:
        if any(isinstance(node, ast.Attribute) and node.attr == "__file__" for node in ast.walk(one.test)):
            return f"looks at a module's file: {ast.unparse(one.test)[:120]}"
    return ""


def _named_after(test: ast.AST) -> set[str]:
    """Return the variables that contain source code or bytecode."""
    return {
        target.id
        for one in ast.walk(test)
        if isinstance(one, ast.Assign) and any(last_name(node) in _WRITTEN for node in ast.walk(one.value))
        for target in one.targets
        if isinstance(target, ast.Name)
    }


def _about_writing(one: ast.Assert, names: Collection[str]) -> str:
    if any(last_name(node) in names for node in _judged(one.test)):
        return f"looks at how the code is written, not at what it does: {ast.unparse(one.test)[:120]}"
    return ""


def _judged(node: ast.AST) -> Iterator[ast.AST]:
    """Walk an expression, except for arguments of functions other than builtins, which may be about sources."""
    yield node
    foreign = isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and hasattr(builtins, node.func.id))
    for child in [node.func] if isinstance(node, ast.Call) and foreign else ast.iter_child_nodes(node):
        yield from _judged(child)


def _any_will_do(one: ast.Assert) -> str:
    """A tolerance as large as the value itself: nothing is near enough to be wrong."""
    for call in ast.walk(one.test):
        if isinstance(call, ast.Call) and last_name(call.func) in ("approx", "isclose") and any(_too_much(call)):
            return f"takes anything for near enough: {ast.unparse(one.test)[:120]}"
    return ""


def _too_much(call: ast.Call) -> Iterator[bool]:
    said = {word.arg: _number(word.value) for word in call.keywords}
    yield any((said.get(name) or 0) >= 1 for name in ("rel", "rel_tol"))
    expected = [abs(number) for one in call.args if (number := _number(one))]
    if expected and len(expected) == len([one for one in call.args if _number(one) is not None]):
        yield any((said.get(name) or 0) >= max(expected) for name in ("abs", "abs_tol"))


def _number(node: ast.expr) -> float | None:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


# Finds Python tests that leave something to chance or to the clock, by reading them.

_DRAWN: Final = (
    "random.random random.randint random.randrange random.choice random.choices random.sample random.shuffle"
    " random.uniform random.gauss secrets.token_hex secrets.randbelow secrets.choice uuid.uuid4 os.urandom"
)
_CLOCKS: Final = (
    "time.time time.time_ns time.perf_counter time.monotonic datetime.now datetime.utcnow datetime.datetime.now"
)
_BY_CHANCE: Final = frozenset(f"{_DRAWN} {_CLOCKS}".split())
_SETTLED: Final = ("seed", "freeze_time", "freezer", "time_machine", "monkeypatch")


def chance(test: Function, module: ast.Module) -> str:
    """Return a call in a test with another result each time; empty if none, or if the file fixes seed or clock."""
    arguments = {one.arg for one in ast.walk(module) if isinstance(one, ast.arg)}
    if not arguments.union(used_names(module)).isdisjoint(_SETTLED):
        return ""
    own = {
        one.asname or one.name: f"{node.module}.{one.name}"
        for node in ast.walk(module)
        if isinstance(node, ast.ImportFrom)
        for one in node.names
    }
    for call in (one for one in ast.walk(test) if isinstance(one, ast.Call)):
        said = ast.unparse(call.func)
        if own.get(said, said) in _BY_CHANCE:
            return ast.unparse(call)[:80]
    return ""


# Finds tests that fail by themselves: they can never pass, or never call the code under test. Python only.

_REACHING: Final = frozenset({"open", "exec", "eval", "compile", "__import__", "globals", "locals", "vars", "input"})
_BUILT_IN: Final = frozenset(dir(builtins)) - _REACHING
_INWARD: Final = frozenset(
    "pytest math cmath re json random string itertools functools operator collections datetime decimal fractions"
    " statistics typing dataclasses enum copy textwrap time uuid hashlib base64".split()
)
"""Modules by which no test can reach other code of the project."""


def idle_reason(test: Function, module: ast.Module) -> str:
    """Return why a test fails regardless of the code under test; empty if it depends on that code."""
    return doomed_reason(test) or ("meets no code of the project" if _is_alone(test, module) else "")


def doomed_reason(test: Function) -> str:
    """Return why a test can never pass with any implementation; empty if it may."""
    may_leave = any(isinstance(one, ast.Return | ast.Yield) for one in ast.walk(test))
    doomed = next((one for one in test.body if _is_doomed(one)), None)
    return f"can never pass: {ast.unparse(doomed)[:120]}" if doomed is not None and not may_leave else ""


def _is_doomed(statement: ast.stmt) -> bool:
    """Something that every call of the test comes to, and that always fails."""
    asserted = plain_assertion(statement.value if isinstance(statement, ast.Expr) else statement)
    if asserted is not None and isinstance(asserted.test, ast.Constant):
        return not asserted.test.value
    match statement:
        case ast.Raise(exc=ast.Name(id=name) | ast.Call(func=ast.Name(id=name))):
            return name in ("NotImplementedError", "AssertionError")
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="pytest" | "self"), attr="fail"))):
            return True
    return False


def _is_alone(test: Function, module: ast.Module) -> bool:
    """Whether a test uses only its own variables, builtins, and modules that lead to no other code."""
    if (
        _arguments(test)
        or test.decorator_list
        or any(isinstance(one, ast.Import | ast.ImportFrom) for one in ast.walk(test))
    ):
        return False
    names = {one.id for one in ast.walk(test) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}
    names -= {one.arg for one in test.args.args}
    known = {one.id for one in ast.walk(test) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    for node in module.body:
        if isinstance(node, ast.Import):
            known |= {one.asname or one.name for one in node.names if one.name in _INWARD}
        elif isinstance(node, ast.ImportFrom) and node.module in _INWARD and not node.level:
            known |= {one.asname or one.name for one in node.names}
    return names <= known | _BUILT_IN


def _arguments(test: Function) -> list[ast.arg]:
    """Return the arguments of a test, without a `self` that it only asserts with."""
    every = [*test.args.posonlyargs, *test.args.args, *test.args.kwonlyargs]
    if not every or every[0].arg != "self":
        return every
    calls = [one.func for one in ast.walk(test) if isinstance(one, ast.Call)]
    asserting = [one.value for one in calls if isinstance(one, ast.Attribute) and is_own_assertion(one.attr)]
    uses = [one for one in ast.walk(test) if isinstance(one, ast.Name) and one.id == "self"]
    return every if len(uses) > len([one for one in uses if one in asserting]) else every[1:]


_ASSERTING: Final = ("assert", "raises", "warns", "check", "expect", "verify", "fail", "should", "must", "approx")
_MOCKS: Final = frozenset({"Mock", "MagicMock", "AsyncMock", "NonCallableMock"})


class Smell(msgspec.Struct, frozen=True):
    """A test that shows nothing, and why."""

    test: str
    """Its name, with that of its class."""
    line: int
    what: str
    is_certain: bool = True
    """Whether the test certainly shows nothing; if not, there may be a good reason, and reviewers get a note."""


def is_readable(path: str) -> bool:
    """Whether tests in this file can be read."""
    return path.endswith(".py")


class _Readable(msgspec.Struct, frozen=True):
    """The known facts about the functions that a file of tests may call."""

    asserting: set[str]
    """Functions that assert something."""
    silent: set[str]
    """Functions of the file with the name of an assertion of `unittest` that assert nothing."""
    coroutines: set[str] = set()
    """Asynchronous functions of the file."""

    def is_assertion(self, name: str) -> bool:
        """Whether a call by this name asserts something: its body is known, or its name says so."""
        return name in self.asserting or (name not in self.silent and _sounds_asserting(name))

    def plain(self, node: ast.AST) -> ast.Assert | None:
        """Return the plain assertion that a node stands for; None if it is none, or none that can fail."""
        found = plain_assertion(node)
        return None if isinstance(node, ast.Call) and last_name(node.func) in self.silent else found


def smells(source: str, beside: Collection[str] = ()) -> list[Smell]:
    """Return the tests in a file that cannot fail, or fail only by accident; none if it cannot be parsed.

    `beside` names functions of other files that are known to assert something.
    """
    module = parse_python(source)
    if module is None:
        return []
    functions = [one for one in ast.walk(module) if isinstance(one, Function)]
    raising = [one for one in functions if any(isinstance(inner, ast.Assert | ast.Raise) for inner in ast.walk(one))]
    known = {*beside, *asserting_functions({"": source})}
    own = {one.name for one in functions if is_own_assertion(one.name)}
    plain = {one.name for one in functions if isinstance(one, ast.FunctionDef)}
    file = _Readable(
        {*known, *(one.name for one in raising if one.name not in own)},
        own - known,
        {one.name for one in functions} - plain,
    )
    named = dict(functions_by_name(module))
    bent = [f"line {line}: {kind}" for line, kind in silent_equalities(functions, known)]
    found: list[Smell] = []
    for name, test in named.items():
        if not test.name.startswith("test"):
            continue
        what = doomed_reason(test) or _smell(test, file)
        if what in (_NOTHING, _ELSEWHERE) and (hooks := _asserting_hooks(name, named, file)):
            found.append(Smell(name, test.lineno, f"asserts only in {hooks}", is_certain=False))
        elif bent and not what and "::" in name:
            found.append(Smell(name, test.lineno, f"compares by an equality that never fails ({bent[0]})"))
        elif what := what or idle_reason(test, module):
            found.append(Smell(name, test.lineno, what, is_certain=what != _ELSEWHERE))
        elif what := _doubt(test, file):
            found.append(Smell(name, test.lineno, what, is_certain=False))
        elif call := chance(test, module):
            found.append(Smell(name, test.lineno, f"leaves something to chance: {call}", is_certain=False))
    return sorted(found, key=lambda one: one.line)


_NOTHING: Final = "asserts nothing"
_ELSEWHERE: Final = (
    "asserts only in a thread, in a future that it does not read or in a coroutine that nothing awaits: a failure there"
    " does not reach the test"
)


def _asserting_hooks(name: str, named: Mapping[str, Function], file: _Readable) -> str:
    """Name the functions around a test that assert something: those of its class, then those of its file."""
    owner = f"{name.rpartition('::')[0]}::" if "::" in name else ""
    around = [named.get(f"{place}{hook}") for hook in sorted(HOOKS) for place in dict.fromkeys((owner, ""))]
    own = [one for one in around if one is not None]
    # A class may have its hooks from a class of another file.
    elsewhere = HOOKS & file.asserting - {one.name for one in own} - {one.rpartition("::")[2] for one in named}
    found = {one.name for one in own if not _smell(one, file)} | (elsewhere if owner else set())
    return ", ".join(sorted(found))


def _smell(test: Function, file: _Readable) -> str:
    every = list(live(test.body))
    apart = run_apart(test) | never_awaited(every, file.coroutines)
    nodes = [one for one in every if id(one) not in apart]
    judged = [(one, plain) for one in nodes if (plain := file.plain(one))]
    asserts = [one for _, one in judged]
    can_fail = [one for one in asserts if not _always_holds(one.test)]
    calls = {id(node) for node, _ in judged if isinstance(node, ast.Call)}
    rest = [one for one in nodes if id(one) not in calls]
    if can_fail or _calls_an_assertion(test, rest, file, apart):
        within = {id(node) for one, _ in judged for node in ast.walk(one)}
        others = _calls_an_assertion(test, [node for node in nodes if id(node) not in within], file, apart)
        return _of_mocks(test, asserts) or ("" if others else beside_the_point(test, can_fail))
    if asserts:
        return f"asserts only what always holds: {ast.unparse(asserts[0].test)}"
    if len(nodes) < len(every) and not _smell_of_nodes(test, every, file):
        return _ELSEWHERE
    return dead_reason(test.body) or _NOTHING


def _smell_of_nodes(test: Function, nodes: list[ast.AST], file: _Readable) -> bool:
    """Whether none of some nodes asserts anything."""
    return not any(file.plain(one) for one in nodes) and not _calls_an_assertion(test, nodes, file)


def _of_mocks(test: Function, asserts: list[ast.Assert]) -> str:
    """Return why a test asserts only about mocks that it made and passed to no other code; empty if it does not."""
    mocks = {
        target.id
        for one in ast.walk(test)
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call) and last_name(one.value.func) in _MOCKS
        for target in one.targets
        if isinstance(target, ast.Name)
    }
    loads = [one.id for one in ast.walk(test) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)]
    arguments = _arguments(test)
    others = set(loads) - mocks - _MOCKS - {"mock", "unittest", "pytest", "" if arguments else "self"}
    if mocks and asserts and not others and not arguments:
        return f"asserts only what it told a mock itself: {ast.unparse(asserts[0].test)}"
    return ""


def _doubt(test: Function, file: _Readable) -> str:
    """Why a test that can fail may still show little."""
    nodes = list(live(test.body))
    asserts = [plain for one in nodes if (plain := file.plain(one)) and not _always_holds(plain.test)]
    calls = [one for one in nodes if isinstance(one, ast.Call) and not file.plain(one)]
    sounding = [one for one in calls if file.is_assertion(last_name(one.func))]
    if not sounding and asserts and all(_is_with_itself(one.test) for one in asserts):
        return f"compares a call with itself: {ast.unparse(asserts[0].test)}"
    if not asserts and sounding and all(_takes_any_exception(one) for one in sounding):
        return f"takes any exception for the right one: {ast.unparse(sounding[0])}"
    return looks_at_files(asserts)


def _is_with_itself(test: ast.expr) -> bool:
    return (
        isinstance(test, ast.Compare)
        and len(test.ops) == 1
        and isinstance(test.ops[0], ast.Eq | ast.Is)
        and ast.dump(test.left) == ast.dump(test.comparators[0])
    )


def _takes_any_exception(call: ast.Call) -> bool:
    if last_name(call.func) not in ("raises", "assertRaises") or any(one.arg == "match" for one in call.keywords):
        return False
    return bool(call.args) and ast.unparse(call.args[0]) in ("Exception", "BaseException")


def _calls_an_assertion(
    test: Function, nodes: list[ast.AST], file: _Readable, apart: Collection[int] = frozenset()
) -> bool:
    """Whether a test raises a failure, or calls or hands over something that asserts, by its name or its body."""
    arguments = [one.arg for one in (*test.args.args, *test.args.kwonlyargs)]
    return (
        any(isinstance(one, ast.Raise) and is_failure(one) for one in nodes)
        or any(map(file.is_assertion, names_called(nodes)))
        or not file.asserting.isdisjoint(names_handed_over(nodes, apart))
        or any(_sounds_asserting(name) or name == "benchmark" for name in arguments)
    )


def _sounds_asserting(name: str) -> bool:
    return any(word in name.lower() for word in _ASSERTING)


def _always_holds(test: ast.expr) -> bool:
    if (said := _value_of(test)) is not None:
        return said
    match test:
        case ast.Constant(value=value):
            return bool(value)
        case ast.Tuple(elts=elements):
            return bool(elements)  # `assert (x == 1, "message")`
        case ast.Compare(left=ast.Call(func=ast.Name(id="len")), ops=[ast.GtE()], comparators=[ast.Constant(value=0)]):
            return True
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is() | ast.LtE() | ast.GtE()], comparators=[right]):
            return ast.dump(left) == ast.dump(right) and not any(isinstance(one, ast.Call) for one in ast.walk(left))
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(_always_holds(value) for value in values)
        case ast.BoolOp(op=ast.And(), values=values):
            return all(_always_holds(value) for value in values)
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, ast.Name(id="object")]):
            return True
        case ast.UnaryOp(op=ast.Not(), operand=ast.Constant(value=value)):
            return not value
    return False


_ORDERS: Final[dict[type[ast.cmpop], Callable[[Any, Any], bool]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda one, other: one in other,
    ast.NotIn: lambda one, other: one not in other,
}


def _value_of(test: ast.expr) -> bool | None:
    """Whether a comparison of plain values holds; None for any other expression."""
    match test:
        case ast.Compare(left=ast.Constant(value=value), ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]):
            return value is not None
        case ast.Compare(left=left, ops=[by], comparators=[right]) if type(by) in _ORDERS:
            try:
                return bool(_ORDERS[type(by)](ast.literal_eval(left), ast.literal_eval(right)))
            except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                return None
    return None


async def smells_in(s: Subject, file: str) -> list[Smell]:
    """Return the tests of a file of the work that cannot fail, or fail only by accident; none if it cannot be read."""
    return smells(await s.text(file) or "", await asserting_beside(s, file)) if is_readable(file) else []
