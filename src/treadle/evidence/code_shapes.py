"""Shapes of code: its logic, without the parts that a rebase may change, its signatures, and the files that it imports.

The parsing of Python that other readers share stands first.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Final, NamedTuple

import msgspec

from treadle.evidence.subject import Subject
from treadle.git.api.languages import is_understood

# Python sources, as all readers of them in this room parse them.

Function = ast.FunctionDef | ast.AsyncFunctionDef


def parse_python(source: str) -> ast.Module | None:
    """Parse a Python file; None if it is no program."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return None


def functions_by_name(module: ast.Module) -> Iterator[tuple[str, Function]]:
    """Yield the functions of a file and the methods of its classes, as a runner names them: `Class::method`.

    A class also has the methods that it inherits from another class of the file; those of a nested class are
    `Class::Inner::method`.
    """
    yield from _members(module.body, "", {})


def _members(body: Sequence[ast.stmt], prefix: str, known: dict[str, ast.ClassDef]) -> Iterator[tuple[str, Function]]:
    known = {**known, **{one.name: one for one in _defined_in(body) if isinstance(one, ast.ClassDef)}}
    for node in _defined_in(body):
        if isinstance(node, Function):
            yield f"{prefix}{node.name}", node
        elif isinstance(node, ast.ClassDef):
            owner = f"{prefix}{node.name}::"
            yield from _members(node.body, owner, known)
            own = {one.name for one in _defined_in(node.body)}
            for name, method in inherited_methods(node, known).items():
                if name not in own:
                    yield f"{owner}{name}", method


def inherited_methods(owner: ast.ClassDef, known: Mapping[str, ast.ClassDef], depth: int = 8) -> dict[str, Function]:
    """Return the methods that a class has from others of its file, by name."""
    found: dict[str, Function] = {}
    for base in reversed(owner.bases):
        above = known.get(last_name(base))
        if above is not None and above is not owner and depth:
            found |= inherited_methods(above, known, depth - 1)
            found |= {one.name: one for one in _defined_in(above.body) if isinstance(one, Function)}
    return found


def _defined_in(body: Sequence[ast.stmt]) -> Iterator[Function | ast.ClassDef]:
    """Yield the functions and classes that a body defines, also where it does so under a condition."""
    for node in body:
        if isinstance(node, Function | ast.ClassDef):
            yield node
        elif isinstance(node, ast.If | ast.Try | ast.With):
            parts = [node.body, getattr(node, "orelse", []), getattr(node, "finalbody", [])]
            parts += [one.body for one in getattr(node, "handlers", [])]
            for part in parts:
                yield from _defined_in(part)


def last_name(node: ast.AST) -> str:
    """`c` of `a.b.c`, `a` of `a`; empty for anything but names and attributes."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


# The logic of code in any language.

_IMPORT: Final = re.compile(r"\s*(import|from|use|using|#include|require|package|export \{)\b")
_NAME: Final = re.compile(r"[^\W\d]\w*")


class Shape(NamedTuple):
    """A part of a program."""

    logic: str
    """Equal for parts that do the same."""
    name: str
    line: int


def logic_shapes(path: str, source: str) -> list[Shape]:
    """The parts of a program; a `SyntaxError` if its language is understood and it is none."""
    if PurePosixPath(path).suffix in (".py", ".pyi"):
        return python_shapes(source)
    if is_understood(path):
        from treadle.evidence.script_code import script_shapes  # noqa: PLC0415

        return script_shapes(path, source)
    return line_shapes(source)


class CodePiece(NamedTuple):
    """A function or statement of a test file."""

    name: str
    """With the names of its classes; of two with one name, only the last is ever called."""
    logic: str
    whole: str
    """Its code with all names and the imports that they come from; its logic in other languages than Python."""
    line: int

    @property
    def key(self) -> tuple[str, str]:
        """Equal for pieces that test the same: tests by name and logic, the others by logic."""
        is_test = self.name.rpartition(".")[2].lower().startswith("test")
        return (self.name if is_test else "", self.logic)


def read_pieces(path: str, source: str) -> list[CodePiece]:
    """The functions and other statements of a test file that count; a `SyntaxError` if it cannot be read."""
    shapes = logic_shapes(path, source)
    if PurePosixPath(path).suffix not in (".py", ".pyi"):
        return [CodePiece(it.name, it.logic, it.logic, it.line) for it in shapes]
    module = ast.parse(source)
    # The same words test something else if a name in them comes from another module.
    imports = {
        name.asname or name.name.partition(".")[0]: ast.dump(node)
        for node in module.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in node.names
    }
    logic = {(it.name, it.line): it.logic for it in shapes}
    functions: dict[str, CodePiece] = {}
    others = [CodePiece(it.name, it.logic, it.logic, it.line) for it in shapes]
    waiting: list[tuple[str, ast.AST]] = [("", module)]
    while waiting:
        prefix, scope = waiting.pop()
        for node in ast.iter_child_nodes(scope):
            if isinstance(node, Function):
                used = sorted({it.id for it in ast.walk(node) if isinstance(it, ast.Name)} & imports.keys())
                whole = "\n".join([ast.dump(node), *(imports[each] for each in used)])
                name = f"{prefix}{node.name}"
                functions[name] = CodePiece(name, logic.get((node.name, node.lineno), ""), whole, node.lineno)
            else:
                waiting.append((f"{prefix}{node.name}." if isinstance(node, ast.ClassDef) else prefix, node))
    known = {(node.name, node.lineno) for node in ast.walk(module) if isinstance(node, Function)}
    return [*functions.values(), *(it for it in others if (it.name, it.line) not in known)]


def line_shapes(source: str) -> list[Shape]:
    """Return the shapes of a program in an unknown language: lines without names and text in parentheses."""
    found: list[Shape] = []
    for number, line in enumerate(source.splitlines(), 1):
        if _IMPORT.match(line):
            continue
        inner = line
        while (shorter := re.sub(r"\([^()]*\)", "⟮⟯", inner)) != inner:  # from the innermost parentheses outwards
            inner = shorter
        if shape := re.sub(r"\s+", "", _NAME.sub("_", inner)):
            found.append(Shape(shape, "the line", number))
    return found


# The logic of Python code, without its names.


def python_shapes(source: str) -> list[Shape]:
    """Return the shapes of all functions, and of the other statements in classes and in the module.

    Raises `SyntaxError` if the source does not parse.
    """
    module = ast.parse(source)
    functions = [node for node in ast.walk(module) if isinstance(node, Function)]
    found = [Shape(_erased(node.body), node.name, node.lineno) for node in functions]
    classes = [node for node in ast.walk(module) if isinstance(node, ast.ClassDef)]
    found += [Shape(_erased([one]), node.name, one.lineno) for node in classes for one in _rest(node.body)]
    return found + [Shape(_erased([one]), "the module", one.lineno) for one in _rest(module.body)]


def _rest(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        if not isinstance(node, Function | ast.ClassDef | ast.Import | ast.ImportFrom) and not _is_text(node):
            yield node


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _erased(body: list[ast.stmt]) -> str:
    kept = [node for node in body if not _is_text(node)]
    return "\n".join(ast.dump(_Erase().visit(ast.parse(ast.unparse(node)))) for node in kept)


class _Erase(ast.NodeTransformer):
    """A transformer that removes the parts that a rebase may change."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        return ast.Pass() if isinstance(node, ast.Import | ast.ImportFrom) else super().generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(id="_", ctx=node.ctx)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        # `module.name` for `name` is a renaming too.
        return ast.Name(id="_", ctx=node.ctx)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        return ast.Call(func=self.visit(node.func), args=[], keywords=[])

    def visitFunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def _function(self, node: Function) -> ast.AST:
        self.generic_visit(node)
        node.name, node.returns = "_", None
        node.args = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        return node


# Planned signatures, and their comparison with code.

_OWNER: Final = re.compile(r"((?:async\s+)?def\s+)((?:\w+\.)+)(\w+)")


class PlannedSignature(msgspec.Struct, frozen=True):
    """A signature that a plan demands."""

    text: str
    name: str
    """With the class before it; empty if the text is not Python."""
    shape: str
    """Parameters and result, in a form that can be compared."""


def parse_signatures(text: str) -> list[PlannedSignature]:
    """The signatures in a text: `def f(x: int) -> str`, `def Class.method(self)`, or a class with methods."""
    blocks = _blocks(text)
    return [one for block in blocks for one in _parsed(block)]


def _blocks(text: str) -> list[str]:
    """Split a text at its unindented lines, each with the indented lines below it."""
    blocks: list[list[str]] = []
    for line in text.strip("\n").splitlines():
        if blocks and (not line.strip() or line[:1].isspace() or blocks[-1][-1].startswith("@")):
            blocks[-1].append(line)
        elif line.strip():
            blocks.append([line])
    return ["\n".join(block).rstrip() for block in blocks]


def _parsed(block: str) -> list[PlannedSignature]:
    text = block.strip().strip("`").strip()
    owner = _OWNER.match(text)
    plain = _OWNER.sub(r"\1\3", text, count=1)
    for source in (plain, f"{plain.rstrip(':')}: ...", f"{plain}\n    ..."):
        try:
            written = signature_shapes(source)
        except (SyntaxError, ValueError):
            continue
        found = [PlannedSignature(text, (owner[2] if owner else "") + name, shape) for name, shape in written.items()]
        if found:
            return found
    return [PlannedSignature(text, "", _squeezed(text))] if text else []


def signature_shapes(source: str) -> dict[str, str]:
    """Every function, method and class of a program, with its parameters and result; of a class only that it is one."""
    from treadle.git.api.python import definitions  # noqa: PLC0415 (its library is loaded when it is needed)

    found = [one for one in definitions(source) if not one.is_value]
    return {one.name: "class" if one.shape.startswith("class ") else one.shape for one in found}


def is_written(one: PlannedSignature, path: str, source: str) -> bool:
    """Whether a file contains a signature, ignoring spaces; comments do not count in languages that can be parsed."""
    if is_understood(path) and not path.endswith((".py", ".pyi")):
        from treadle.evidence.script_code import code_only  # noqa: PLC0415 (its library is loaded when it is needed)

        with suppress(SyntaxError, ValueError, RecursionError):
            source = code_only(path, source)
    return one.shape in _squeezed(source)


def _squeezed(text: str) -> str:
    return re.sub(r",(?=[)\]}>])", "", re.sub(r"[\s;]+", "", text))


# Finds the files of a tree that a Python import may refer to, from any import root.

Named = Mapping[str, Sequence[str]]
"""By the last name of a module, the files that may be it."""


def modules_by_name(paths: Iterable[str]) -> Named:
    """Files of Python code, to be found by the names of their modules."""
    found: dict[str, list[str]] = {}
    for path in paths:
        if path.endswith(".py"):
            found.setdefault(_stem(path).rpartition("/")[2], []).append(path)
    return found


def imported_path(module: str | None, level: int, file: str) -> str:
    """Return the path, without an ending, that `from ..module import` refers to in a file."""
    above = file.split("/")[:-level] if level else []
    return "/".join([*above, *(module.split(".") if module else [])])


def module_files(path: str, named: Named) -> list[str]:
    """The files that such a path may mean."""
    listed = named.get(path.rpartition("/")[2], ()) if path else ()
    return [one for one in listed if f"/{_stem(one)}".endswith(f"/{path}")]


def _stem(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__")


# The names that a Python file imports and so re-exports, with the signatures behind them.

_DEEPEST: Final = 5
"""How often a name may be handed on before it is defined."""


async def imported_signatures(s: Subject, path: str, commit: str = "") -> dict[str, str]:
    """The signatures behind the names that a file imports from other files of the tree, methods with their class."""
    entries = await s.entries(commit)
    found: dict[str, str] = {}
    for name, (module, original) in _imports(await s.text(path, commit) or "", path).items():
        if place := _file_of(module, entries, path):
            defined = await _defined(s, place, original, commit, _DEEPEST)
            found |= {name + member: shape for member, shape in defined.items()}
    return found


async def _defined(s: Subject, path: str, name: str, commit: str, depth: int) -> dict[str, str]:
    """The signature of a name and, of a class, those of its methods (`.add`); nothing if it cannot be found."""
    text = await s.text(path, commit) or ""
    try:
        has = signature_shapes(text)
    except (SyntaxError, ValueError):
        return {}
    if name in has:
        methods = [one for one in has if one.startswith(f"{name}.") and not one.startswith(f"{name}._")]
        return {one.removeprefix(name): has[one] for one in (name, *methods)}
    module, original = _imports(text, path).get(name, ("", ""))
    place = _file_of(module, await s.entries(commit), path) if module else ""
    return await _defined(s, place, original, commit, depth - 1) if place and depth else {}


def _imports(source: str, path: str) -> dict[str, tuple[str, str]]:
    """Return the top-level `from module import name` imports: name → (module, its name there)."""
    module = parse_python(source)
    nodes = [node for node in module.body if isinstance(node, ast.ImportFrom)] if module else []
    found: dict[str, tuple[str, str]] = {}
    for node in nodes:
        # A relative import leads to one path, which begins with a slash here; any other may lead to several.
        origin = ("/" if node.level else "") + imported_path(node.module, node.level, path)
        found |= {one.asname or one.name: (origin, one.name) for one in node.names}
    return found


def _file_of(module: str, entries: Iterable[str], path: str) -> str:
    """Return the file of a module; of several with that name, the nearest to the importing file."""
    wanted = module.removeprefix("/")
    fitting = sorted(module_files(wanted, modules_by_name(entries)))
    if module != wanted:
        return next((one for one in fitting if _stem(one) == wanted), "")

    def shared_folders(one: str) -> int:
        pairs = list(zip(one.split("/"), path.split("/"), strict=False))
        return next((at for at, (left, right) in enumerate(pairs) if left != right), len(pairs))

    return max(fitting, key=shared_folders, default="")
