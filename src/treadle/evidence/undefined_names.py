"""Finds names in Python tests that exist nowhere.

At red, a test ends at the first call of missing code, so no run reaches the lines below: a wrong name there would fail
every implementation, and only the implementer would find out.
"""

import ast
import builtins
import re
import symtable
from collections.abc import Iterator, Mapping
from typing import Final

from treadle.evidence.code_shapes import Function, imported_path, last_name, module_files, modules_by_name, parse_python
from treadle.evidence.subject import Subject
from treadle.evidence.unittest_assertions import names_of_test_case

_ALWAYS: Final = frozenset(
    {*dir(builtins), *("__file__", "__path__", "__builtins__", "__annotations__", "__class__", "__module__")}
)
_DYNAMIC: Final = re.compile(
    r"import \*|\bexec\(|\bglobals\(|\bbuiltins\b|NameError|AttributeError|__getattr__|setattr\("
)
"""Ways by which a name comes to be that no reader sees, or by which its absence is expected."""
_CASES: Final = frozenset({"TestCase", "IsolatedAsyncioTestCase"})
Exports = Mapping[str, frozenset[str]]
"""Name in a file → the names that the module behind it has."""


async def undefined_names(s: Subject, file: str) -> list[tuple[int, str]]:
    """Return the lines and names of a file of tests that exist nowhere, and that this step has brought."""
    text, before = await s.text(file) or "", await s.text(file, s.work.base) or ""
    around = [path for path in await s.entries() if path.endswith("conftest.py")]
    if any(_DYNAMIC.search(one) for one in (text, *(await s.texts(around)).values())):
        return []
    exports = await _exports(s, file, text)
    old = {name for _, name in find_undefined(before, exports)}
    return [(line, name) for line, name in find_undefined(text, exports) if name not in old]


def find_undefined(source: str, exports: Exports) -> list[tuple[int, str]]:
    """Return the lines and names in the functions of a file that nothing defines."""
    module = parse_python(source)
    if module is None:
        return []
    missing = _missing_globals(symtable.symtable(source, "tests", "exec"))
    # The annotation of a local variable is never evaluated.
    idle = {id(node) for one in ast.walk(module) if isinstance(one, ast.AnnAssign) for node in ast.walk(one.annotation)}
    found: set[tuple[int, str]] = set()
    for function in (one for one in ast.walk(module) if isinstance(one, Function)):
        for node in (inner for statement in function.body for inner in ast.walk(statement)):
            match node:
                case ast.Name(id=name, ctx=ast.Load()) if name in missing and id(node) not in idle:
                    found.add((node.lineno, name))
                case ast.Attribute(value=ast.Name(id=name), attr=attr) if attr not in exports.get(name, {attr}):
                    if not attr.startswith("__"):
                        found.add((node.lineno, f"{name}.{attr}"))
    return sorted(found | set(_missing_assertions(module)))


def _missing_globals(table: symtable.SymbolTable) -> set[str]:
    """Return the names that functions look for in the module, and that neither it nor Python has."""
    own = {
        one.get_name() for one in table.get_symbols() if one.is_assigned() or one.is_imported() or one.is_namespace()
    }
    waiting, wanted = list(table.get_children()), set[str]()
    while waiting:
        inner = waiting.pop()
        waiting += inner.get_children()
        for one in inner.get_symbols():
            if one.is_global() and one.is_assigned():
                own.add(one.get_name())
            elif one.is_global() and one.is_referenced():
                wanted.add(one.get_name())
    return wanted - own - _ALWAYS


def _missing_assertions(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the assertions that `unittest` does not have, in classes that have them from nowhere else."""
    own = {one.name for one in ast.walk(module) if isinstance(one, Function)}
    for owner in (one for one in ast.walk(module) if isinstance(one, ast.ClassDef)):
        if not owner.bases or not {last_name(one) for one in owner.bases} <= _CASES:
            continue
        for node in ast.walk(owner):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)) if name.startswith("assert"):
                    if name not in own and name not in names_of_test_case():
                        yield node.lineno, f"self.{name}"


async def _exports(s: Subject, file: str, text: str) -> Exports:
    """Return the names of the project's modules that a file imports as a whole."""
    module = parse_python(text)
    entries = await s.entries()
    named = modules_by_name(entries)
    found: dict[str, frozenset[str]] = {}
    nodes = list(ast.walk(module)) if module else []
    stored = {one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    stored |= {one.arg for one in nodes if isinstance(one, ast.arg)}
    for name, path in _imported_modules(module, file) if module else ():
        listed = module_files(path, named)
        source = await s.text(listed[0]) or "" if len(listed) == 1 else ""
        behind = parse_python(source)
        if name not in stored and source and behind and not _DYNAMIC.search(source):
            folder = listed[0].removesuffix("__init__.py")
            inner = {
                one.removeprefix(folder).split("/")[0].removesuffix(".py") for one in entries if one.startswith(folder)
            }
            found[name] = frozenset({*_defined(behind), *(inner if folder != listed[0] else ())})
    return found


def _imported_modules(module: ast.Module, file: str) -> Iterator[tuple[str, str]]:
    for node in ast.walk(module):
        match node:
            case ast.Import(names=names):
                plain = [one for one in names if one.asname or "." not in one.name]
                yield from ((one.asname or one.name, imported_path(one.name, 0, file)) for one in plain)
            case ast.ImportFrom(module=origin, names=names, level=level):
                above = imported_path(origin, level, file)
                yield from ((one.asname or one.name, f"{above}/{one.name}".lstrip("/")) for one in names)


def _defined(module: ast.Module) -> set[str]:
    """Return every name that a module may have, on any path through its code."""
    table = symtable.symtable(ast.unparse(module), "module", "exec")
    found = {
        one.get_name() for one in table.get_symbols() if one.is_assigned() or one.is_imported() or one.is_namespace()
    }
    return found | {name for node in ast.walk(module) if isinstance(node, ast.Global) for name in node.names}
