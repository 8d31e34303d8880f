"""Examples in Python tests: calls with a result that is compared with a literal value.

Also the opposite: expected values that tests import from the code under test (`borrowed_names`), instead of writing
down the right value.
"""

import ast
from collections.abc import Iterator, Mapping
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
from treadle.evidence.subject import Subject, accepted_commits
from treadle.evidence.unittest_assertions import exact_comparison, is_own_assertion, plain_assertion

UNKNOWN = "?"
"""In place of an argument that is no plain value."""


class Example(msgspec.Struct, frozen=True):
    """A call in a test, with its expected result."""

    test: str
    """Name of the test, with that of its class."""
    callee: str
    argument: str
    """The first one, as it would be written; `UNKNOWN` if it is no value, or there is none."""
    expected: str
    is_imported: bool = False
    """The callee is a plain name that the file imports, and that the test has no other meaning for."""


def examples(source: str) -> list[Example]:
    """The examples of a file of tests that every way through their test comes by; none if it is no program."""
    module = parse_python(source)
    if module is None:
        return []
    # Names that the file has from elsewhere, as they are called there, and nothing else in it gives a meaning to.
    listed = [one for node in module.body if isinstance(node, ast.ImportFrom) for one in node.names if not one.asname]
    own = {node.name for node in module.body if isinstance(node, Function | ast.ClassDef)}
    stored = {one.id for one in ast.walk(module) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    imported = {one.name for one in listed} - own - stored
    # The meaning of `assertEqual` is unknown if the file changes it.
    methods = {node.name for node in ast.walk(module) if isinstance(node, Function)}
    changes = any(map(is_own_assertion, methods)) or "addTypeEqualityFunc" in source
    found: list[Example] = []
    for name, test in functions_by_name(module):
        parameters = {one.arg for one in ast.walk(test.args) if isinstance(one, ast.arg)}
        found += _of(name, test, imported - parameters, plain_only=changes)
    return found


def mentioned(source: str) -> dict[str, set[str]]:
    """Return the names that each test of a file uses, and under an empty name, those that anything in the file uses."""
    module = parse_python(source)
    if module is None:
        return {}
    return {"": used_names(module), **{name: used_names(test) for name, test in functions_by_name(module)}}


def used_names(node: ast.AST) -> set[str]:
    """The names and attributes that a piece of code uses."""
    found = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    return found | {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}


def _of(name: str, test: Function, imported: set[str], *, plain_only: bool) -> Iterator[Example]:
    results: dict[str, ast.Call | None] = {}
    for statement in test.body:
        match statement:
            case ast.Return():
                return
            case ast.Assign(targets=[ast.Name(id=target)], value=ast.Call() | ast.Await() as given):
                call = _awaited(given)
                results[target] = call if target not in results and isinstance(call, ast.Call) else None
            case ast.Assert() | ast.Expr() if not (plain_only and isinstance(statement, ast.Expr)):
                compared = exact_comparison(statement)
                if compared is None:
                    continue
                left, right = _awaited(compared.left), _awaited(compared.comparators[0])
                for result, value in ((left, right), (right, left)):
                    called = results.get(result.id) if isinstance(result, ast.Name) else result
                    if isinstance(called, ast.Call) and is_value(value):
                        is_imported = isinstance(called.func, ast.Name) and called.func.id in imported
                        first = called.args[0] if called.args else None
                        argument = ast.unparse(first) if first is not None and is_value(first) else UNKNOWN
                        yield Example(name, last_name(called.func), argument, ast.unparse(value), is_imported)


def _awaited(node: ast.expr) -> ast.expr:
    """Return the operand of an `await`, or the expression itself: an awaited stub returns the same value."""
    return node.value if isinstance(node, ast.Await) else node


def is_value(node: ast.expr) -> bool:
    """Whether an expression is a plain value."""
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


# Finds values that Python tests import from the code under test, instead of writing down the right value.
#
# The author of the code can change such a value together with the code, and no test notices.

_HOPS: Final = 4
"""Files that a name is followed through."""
_MOST: Final = 500
_NEARLY: Final = ("approx",)


class BorrowedName(msgspec.Struct, frozen=True):
    """A name in an assertion that its file has from elsewhere."""

    line: int
    name: str
    """As the file calls it."""
    origin: str
    """The path of the module that it comes from, without an ending."""
    attribute: str
    """Its name there."""
    is_expected: bool
    """The assertion compares with it; or else it is only handed on."""


class Constant(msgspec.Struct, frozen=True):
    """A plain value that has a name in a file of the code under test."""

    file: str
    line: int
    name: str
    value: str


async def borrowed_constants(s: Subject, test_file: str, commit: str = "") -> list[tuple[BorrowedName, Constant]]:
    """The constants of the code under test that the assertions of a file of tests rest on, as a commit has them."""
    listed = borrowed_names(await s.text(test_file) or "", test_file)
    named = modules_by_name(path for path in await s.entries(commit) if s.tests.is_code(path)) if listed else {}
    found = [(one, await _constant(s, one.origin, one.attribute, named, commit)) for one in listed]
    return [(one, constant) for one, constant in found if constant]


async def changed_constants(s: Subject) -> list[tuple[str, BorrowedName, Constant, Constant]]:
    """Return the borrowed constants that changed since the skeleton: test file, name, constant then and now."""
    past = accepted_commits(s.case, s.inst)
    base = past[0][1] if past else s.work.base
    code = [one.path for one in await s.git.changes(base, s.work.commit) if one.kind == "modified"]
    code = [path for path in code if path.endswith(".py") and s.tests.is_code(path)]
    changed = [pair for path in code for pair in _exchanged(path, await s.text(path, base), await s.text(path))]
    tests = [path for path in await s.entries() if path.endswith(".py") and s.tests.is_test(path)] if changed else []
    return [
        (test, one, before, now)
        for test, text in (await s.texts(tests[:_MOST])).items()
        if any(before.name in text for before, _ in changed)
        for one, constant in await borrowed_constants(s, test, base)
        for before, now in changed
        if constant == before
    ]


def _exchanged(file: str, before: str | None, now: str | None) -> Iterator[tuple[Constant, Constant]]:
    then, module = parse_python(before or ""), parse_python(now or "")
    known = constants(module) if module else {}
    for name, (line, value) in constants(then).items() if then else ():
        new_line, new = known.get(name, (0, "something else"))
        if new != value:
            yield Constant(file, line, name, value), Constant(file, new_line, name, new)


async def _constant(s: Subject, origin: str, name: str, named: Named, commit: str) -> Constant | None:
    for _ in range(_HOPS):
        file = next(iter(module_files(origin, named)), "")
        module = parse_python(await s.text(file, commit) or "") if file else None
        if module is None:
            return None
        if name in (known := constants(module)):
            return Constant(file, known[name][0], name, known[name][1])
        origin, name = _handed_on(module, file).get(name, ("", ""))
    return None


def borrowed_names(source: str, file: str = "") -> list[BorrowedName]:
    """Return the names in a file's assertions from other modules, except those that it compares with a literal."""
    module = parse_python(source)
    if module is None:
        return []
    names = _handed_on(module, file)
    modules = {
        one.asname or one.name: one.name.replace(".", "/")
        for node in ast.walk(module)
        if isinstance(node, ast.Import)
        for one in node.names
    }
    found: dict[BorrowedName, None] = {}
    said: set[str] = set()
    for node in ast.walk(module):
        expected = list(_expected(node))
        said |= {ast.unparse(one) for one in expected if any(is_value(other) for other in expected)}
        for one in ast.walk(node) if expected else ():
            origin, name = _origin(one, names, modules)
            if name and isinstance(one, ast.expr):
                found[
                    BorrowedName(one.lineno, ast.unparse(one), origin, name, any(one is side for side in expected))
                ] = None
    return [one for one in found if one.name not in said]


def constants(module: ast.Module) -> dict[str, tuple[int, str]]:
    """The names that a module gives to plain values, with line and value."""
    found: dict[str, tuple[int, str]] = {}
    for node in module.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if is_value(value):
                found[name] = node.lineno, ast.unparse(value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if is_value(value):
                found[name] = node.lineno, ast.unparse(value)
    return found


def _expected(node: ast.AST) -> Iterator[ast.expr]:
    """Yield both sides of an assertion of equality."""
    match plain_assertion(node):
        case ast.Assert(test=ast.Compare(left=left, ops=[ast.Eq() | ast.Is()], comparators=[right])):
            sides = [left, right]
        case _:
            return
    for side in sides:
        inner = side.args[0] if isinstance(side, ast.Call) and side.args and last_name(side.func) in _NEARLY else side
        yield inner


def _origin(node: ast.AST, names: Mapping[str, tuple[str, str]], modules: Mapping[str, str]) -> tuple[str, str]:
    match node:
        case ast.Name(id=name):
            return names.get(name, ("", ""))
        case ast.Attribute(value=value, attr=attr):
            owner = ast.unparse(value)
            if owner in modules:
                return modules[owner], attr
            above, name = names.get(owner, ("", ""))
            return (f"{above}/{name}", attr) if name else ("", "")
    return "", ""


def _handed_on(module: ast.Module, file: str) -> dict[str, tuple[str, str]]:
    """Map each imported name in this file to its module and its name there."""
    return {
        one.asname or one.name: (imported_path(node.module, node.level, file), one.name)
        for node in ast.walk(module)
        if isinstance(node, ast.ImportFrom)
        for one in node.names
    }
