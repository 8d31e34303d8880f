"""Values that Python tests take from the code under test, instead of saying themselves what is right.

Who writes the code can change them together with it, and no test notices.
"""

import ast
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from treadle.evidence.examples import is_value
from treadle.evidence.past import commits
from treadle.evidence.python_imports import Named, by_name, files_of, imported_path
from treadle.evidence.subject import Subject

_HOPS: Final = 4
"""Files that a name is followed through."""
_MOST: Final = 500
_NEARLY: Final = ("approx",)
_EQUAL: Final = ("assertEqual", "assertAlmostEqual", "assertEquals", "assertIs")


class Borrowed(msgspec.Struct, frozen=True):
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


async def borrowed_constants(s: Subject, test_file: str, commit: str = "") -> list[tuple[Borrowed, Constant]]:
    """The constants of the code under test that the assertions of a file of tests rest on, as a commit has them."""
    listed = borrowed(await s.text(test_file) or "", test_file)
    named = by_name(path for path in await s.entries(commit) if s.tests.is_code(path)) if listed else {}
    found = [(one, await _constant(s, one.origin, one.attribute, named, commit)) for one in listed]
    return [(one, constant) for one, constant in found if constant]


async def changed_constants(s: Subject) -> list[tuple[str, Borrowed, Constant, Constant]]:
    """Those that are others than in the skeleton: the file of tests, what it borrows, the constant then and now."""
    past = commits(s.case, s.inst)
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
    then, module = _parsed(before or ""), _parsed(now or "")
    known = constants(module) if module else {}
    for name, (line, value) in constants(then).items() if then else ():
        new_line, new = known.get(name, (0, "something else"))
        if new != value:
            yield Constant(file, line, name, value), Constant(file, new_line, name, new)


async def _constant(s: Subject, origin: str, name: str, named: Named, commit: str) -> Constant | None:
    for _ in range(_HOPS):
        file = next(iter(files_of(origin, named)), "")
        module = _parsed(await s.text(file, commit) or "") if file else None
        if module is None:
            return None
        if name in (known := constants(module)):
            return Constant(file, known[name][0], name, known[name][1])
        origin, name = _handed_on(module, file).get(name, ("", ""))
    return None


def borrowed(source: str, file: str = "") -> list[Borrowed]:
    """The names in the assertions of a file that come from other modules; those whose value it says are its own."""
    module = _parsed(source)
    if module is None:
        return []
    names = _handed_on(module, file)
    modules = {one.asname or one.name: one.name.replace(".", "/") for one in _plain_imports(module)}
    found: dict[Borrowed, None] = {}
    said: set[str] = set()
    for node in ast.walk(module):
        expected = list(_expected(node))
        said |= {ast.unparse(one) for one in expected if any(is_value(other) for other in expected)}
        for one in ast.walk(node) if expected else ():
            origin, name = _origin(one, names, modules)
            if name and isinstance(one, ast.expr):
                found[Borrowed(one.lineno, ast.unparse(one), origin, name, any(one is side for side in expected))] = (
                    None
                )
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
    """What an assertion compares with or for equality, whatever side it stands on."""
    match node:
        case ast.Assert(test=ast.Compare(left=left, ops=[ast.Eq() | ast.Is()], comparators=[right])):
            sides = [left, right]
        case ast.Call(func=ast.Attribute(attr=attr), args=[left, right, *_]) if attr in _EQUAL:
            sides = [left, right]
        case _:
            return
    for side in sides:
        inner = side.args[0] if isinstance(side, ast.Call) and side.args and _last(side.func) in _NEARLY else side
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
    """By the name in this file, where what it imports comes from, and its name there."""
    return {
        one.asname or one.name: (imported_path(node.module, node.level, file), one.name)
        for node in ast.walk(module)
        if isinstance(node, ast.ImportFrom)
        for one in node.names
    }


def _plain_imports(module: ast.Module) -> Iterator[ast.alias]:
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            yield from node.names


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _parsed(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return None
