"""Finds tests that show nothing, by reading them: no assertion, none that can fail, or only of mocks. Python only.

Certain findings are reasons to refuse. Tests that only look weak (a function compared with itself, any exception
accepted as the expected one, something left to chance) get advice.
"""

import ast
import builtins
from collections.abc import Collection, Iterator, Mapping
from typing import Final

import msgspec

from treadle.evidence.code_shapes import (
    Function,
    Named,
    functions_by_name,
    imported_path,
    last_name,
    module_files,
    modules_by_name,
    parse_python,
)
from treadle.evidence.examples import used_names
from treadle.evidence.subject import Subject

# The part of a Python function that can run and can make it fail: not dead, and not swallowed by a handler.

_CATCHES_ASSERTIONS: Final = frozenset({"AssertionError", "Exception", "BaseException"})
_LEAVES: Final = ast.Return | ast.Raise | ast.Continue | ast.Break
_SPEAKS: Final = ("fail", "assert", "exit")


def live(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Yield every node that can run, except where a failure would be caught and ignored."""
    for statement in body:
        yield from _live(statement)
        if isinstance(statement, _LEAVES):
            return


def dead_reason(body: list[ast.stmt]) -> str:
    """Why an assertion in a function has no effect; empty if none was found that has not."""
    for node in (inner for statement in body for inner in ast.walk(statement)):
        if isinstance(node, ast.Try) and _is_swallowed(node) and _has_assert(node.body):
            return f"swallows its assertion (line {node.lineno}: the handler lets it pass)"
        if isinstance(node, ast.With) and _suppresses(node) and _has_assert(node.body):
            return f"suppresses its assertion (line {node.lineno})"
        if isinstance(node, ast.If | ast.While) and _is_false(node.test) and _has_assert(node.body):
            return f"asserts only where nothing is ever run (line {node.lineno})"
    return "asserts only after it has ended" if _has_assert(body) else ""


def _live(node: ast.stmt) -> Iterator[ast.AST]:
    match node:
        case ast.If() | ast.While():
            yield from ast.walk(node.test)
            yield from () if _is_false(node.test) else live(node.body)
            yield from () if _is_true(node.test) else live(node.orelse)
        case ast.For() | ast.AsyncFor():
            yield from ast.walk(node.iter)
            yield from (*live(node.body), *live(node.orelse))
        case ast.Try():
            yield from () if _is_swallowed(node) else live(node.body)
            for handler in node.handlers:
                yield from live(handler.body)
            yield from (*live(node.orelse), *live(node.finalbody))
        case ast.With() | ast.AsyncWith():
            for item in node.items:
                yield from ast.walk(item.context_expr)
            yield from () if _suppresses(node) else live(node.body)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from live(node.body)  # it is written there to be called
        case _:
            yield from ast.walk(node)


def _is_swallowed(node: ast.Try) -> bool:
    return any(_catches(handler.type) and not _speaks(handler.body) for handler in node.handlers)


def _catches(kind: ast.expr | None) -> bool:
    if kind is None:
        return True
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(ast.unparse(one).rpartition(".")[2] in _CATCHES_ASSERTIONS for one in kinds)


def _speaks(body: list[ast.stmt]) -> bool:
    """Whether a handler makes the test fail after all."""
    nodes = [inner for statement in body for inner in ast.walk(statement)]
    calls = [ast.unparse(one.func).lower() for one in nodes if isinstance(one, ast.Call)]
    return any(isinstance(one, ast.Raise | ast.Assert) for one in nodes) or any(
        word in name for name in calls for word in _SPEAKS
    )


def _suppresses(node: ast.With | ast.AsyncWith) -> bool:
    calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
    return any(
        ast.unparse(one.func).rpartition(".")[2] == "suppress" and any(_catches(kind) for kind in one.args)
        for one in calls
    )


def _has_assert(body: list[ast.stmt]) -> bool:
    return any(isinstance(inner, ast.Assert) for statement in body for inner in ast.walk(statement))


def _is_false(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant) and not test.value


def _is_true(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant) and bool(test.value)


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
    match statement:
        case ast.Assert(test=ast.Constant(value=value)):
            return not value
        case ast.Raise(exc=ast.Name(id=name) | ast.Call(func=ast.Name(id=name))):
            return name in ("NotImplementedError", "AssertionError")
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="pytest"), attr="fail"))):
            return True
    return False


def _is_alone(test: Function, module: ast.Module) -> bool:
    """Whether a test uses only its own variables, builtins, and modules that lead to no other code."""
    arguments = (*test.args.posonlyargs, *test.args.args, *test.args.kwonlyargs)
    if arguments or test.decorator_list or any(isinstance(one, ast.Import | ast.ImportFrom) for one in ast.walk(test)):
        return False
    names = {one.id for one in ast.walk(test) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}
    known = {one.id for one in ast.walk(test) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    for node in module.body:
        if isinstance(node, ast.Import):
            known |= {one.asname or one.name for one in node.names if one.name in _INWARD}
        elif isinstance(node, ast.ImportFrom) and node.module in _INWARD and not node.level:
            known |= {one.asname or one.name for one in node.names}
    return names <= known | _BUILT_IN


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


def smells(source: str, beside: Collection[str] = ()) -> list[Smell]:
    """Return the tests in a file that cannot fail, or fail only by accident; none if it cannot be parsed.

    `beside` names functions of other files that are known to assert something.
    """
    module = parse_python(source)
    if module is None:
        return []
    functions = [one for one in ast.walk(module) if isinstance(one, Function)]
    raising = [one for one in functions if any(isinstance(inner, ast.Assert | ast.Raise) for inner in ast.walk(one))]
    asserting = {*beside, *(one.name for one in raising)}
    found: list[Smell] = []
    for name, test in functions_by_name(module):
        if not test.name.startswith("test"):
            continue
        if what := doomed_reason(test) or _smell(test, asserting) or idle_reason(test, module):
            found.append(Smell(name, test.lineno, what))
        elif what := _doubt(test, asserting):
            found.append(Smell(name, test.lineno, what, is_certain=False))
        elif call := chance(test, module):
            found.append(Smell(name, test.lineno, f"leaves something to chance: {call}", is_certain=False))
    return sorted(found, key=lambda one: one.line)


def _smell(test: Function, asserting: set[str]) -> str:
    nodes = list(live(test.body))
    asserts = [one for one in nodes if isinstance(one, ast.Assert)]
    can_fail = [one for one in asserts if not _always_holds(one.test)]
    if can_fail or _calls_an_assertion(test, nodes, asserting):
        within = {id(node) for one in asserts for node in ast.walk(one)}
        others = _calls_an_assertion(test, [node for node in nodes if id(node) not in within], asserting)
        return _of_mocks(test, asserts) or ("" if others else beside_the_point(test, can_fail))
    if asserts:
        return f"asserts only what always holds: {ast.unparse(asserts[0].test)}"
    return dead_reason(test.body) or "asserts nothing"


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
    others = set(loads) - mocks - _MOCKS - {"mock", "unittest", "pytest"}
    if mocks and asserts and not others and not test.args.args:
        return f"asserts only what it told a mock itself: {ast.unparse(asserts[0].test)}"
    return ""


def _doubt(test: Function, asserting: set[str]) -> str:
    """Why a test that can fail may still show little."""
    nodes = list(live(test.body))
    asserts = [one for one in nodes if isinstance(one, ast.Assert) and not _always_holds(one.test)]
    calls = [one for one in nodes if isinstance(one, ast.Call)]
    sounding = [one for one in calls if last_name(one.func) in asserting or _sounds_asserting(last_name(one.func))]
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


def _calls_an_assertion(test: Function, nodes: list[ast.AST], asserting: set[str]) -> bool:
    """A call of something that asserts, by its name or because its body is known."""
    names = [last_name(one.func) for one in nodes if isinstance(one, ast.Call)]
    arguments = [one.arg for one in (*test.args.args, *test.args.kwonlyargs)]
    return any(name in asserting or _sounds_asserting(name) for name in names) or any(
        _sounds_asserting(name) or name == "benchmark" for name in arguments
    )


def _sounds_asserting(name: str) -> bool:
    return any(word in name.lower() for word in _ASSERTING)


def _always_holds(test: ast.expr) -> bool:
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


# Finds the functions that assert something, by their bodies: in a test file, and in other files that it imports.
#
# Only test files count. A function's calls count as its own, as long as the called function is in one of these files.

_MOST: Final = 30
"""Files that are read for one file of tests."""
_LARGEST: Final = 500_000
_CALLED: Final = frozenset({"fail", "raises", "warns"})


async def smells_in(s: Subject, file: str) -> list[Smell]:
    """Return the tests of a file of the work that cannot fail, or fail only by accident; none if it cannot be read."""
    return smells(await s.text(file) or "", await asserting_beside(s, file)) if is_readable(file) else []


async def asserting_beside(s: Subject, file: str) -> set[str]:
    """The names by which a file of Python tests can call functions that assert something, in other files of tests."""
    named = modules_by_name(path for path in await s.entries() if s.tests.is_test(path))
    texts = {file: await s.text(file) or ""}
    around = [path for path in named.get("conftest", ()) if file.startswith(path.removesuffix("conftest.py"))]
    due = [*around, *_imported_files(file, texts[file], named)]
    while due and len(texts) < _MOST:
        path = due.pop(0)
        if path not in texts:
            texts[path] = await s.text(path) or ""
            due += _imported_files(path, texts[path], named)
    return asserting_functions(texts)


def asserting_functions(texts: Mapping[str, str]) -> set[str]:
    """Return the names of the functions in some files that assert something, directly or through a call."""
    modules = [module for text in texts.values() if (module := _parsed(text)) is not None]
    functions = [one for module in modules for one in ast.walk(module) if isinstance(one, Function)]
    found = {one.name for one in functions if _asserts(one)}
    calls = [(one.name, set(_called(one))) for one in functions]
    others = [
        (one.asname, {one.name})
        for module in modules
        for node in ast.walk(module)
        if isinstance(node, ast.ImportFrom)
        for one in node.names
        if one.asname
    ]
    size = -1
    while size != len(found):
        size = len(found)
        found |= {name for name, used in (*calls, *others) if used & found}
    return found


def _asserts(function: Function) -> bool:
    """Whether a body has something by which it makes a test fail."""
    nodes = list(live(function.body))
    return any(map(_is_failure, nodes)) or not _CALLED.isdisjoint(_called(function))


def _is_failure(node: ast.AST) -> bool:
    """Whether a node is an assertion, or raises an exception that may be one.

    Builtin exceptions other than `AssertionError` have other reasons, as in a fake.
    """
    if not isinstance(node, ast.Raise) or node.exc is None:
        return isinstance(node, ast.Assert | ast.Raise)
    raised = ast.unparse(node.exc.func if isinstance(node.exc, ast.Call) else node.exc)
    return raised == "AssertionError" or not hasattr(builtins, raised)


def _called(function: Function) -> Iterator[str]:
    for one in live(function.body):
        if isinstance(one, ast.Call):
            yield last_name(one.func)


def _imported_files(file: str, text: str, named: Named) -> list[str]:
    """The files that another one imports."""
    wanted: list[str] = []
    for node in ast.walk(_parsed(text) or ast.Module(body=[], type_ignores=[])):
        match node:
            case ast.Import(names=names):
                wanted += [imported_path(one.name, 0, file) for one in names]
            case ast.ImportFrom(module=module, names=names, level=level):
                above = imported_path(module, level, file)
                wanted += [above, *(f"{above}/{one.name}".lstrip("/") for one in names)]
    return [one for path in dict.fromkeys(wanted) for one in module_files(path, named)]


def _parsed(text: str) -> ast.Module | None:
    return parse_python(text) if len(text) <= _LARGEST else None
