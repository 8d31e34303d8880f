"""Python code whose answers may hang on who asks: what it looks at, read from its syntax, for whoever reviews."""

import ast
import re
from collections.abc import Iterator
from typing import Final

from treadle.evidence.aliases import aliases, full_name
from treadle.evidence.hashed_answers import hashed_answers

_MAINS: Final = re.compile(r"_?(?:main|cli|run|parse_args?|parse_argv)$")
_FRAMES: Final = frozenset(
    "tb_frame f_back f_locals f_globals f_code gi_frame cr_frame ag_frame co_consts co_filename".split()
)
_PLACES: Final = frozenset({"os.getcwd", "getcwd", "Path.cwd", "pathlib.Path.cwd", "__file__"})
_TESTS: Final = re.compile(r"(?:^|/)tests?(?:/|$)|(?:^|/)test_[\w*]*\.py$|_test\.py$|conftest|\*\.py$")
_READS: Final = frozenset({"open", "read_text", "read_bytes", "glob", "rglob", "iglob", "walk", "listdir", "Path"})
_RUNNING: Final = frozenset(
    "sys.modules sys._getframe sys._current_frames sys.meta_path sys.path_hooks sys.path_importer_cache"
    " sys.gettrace sys.settrace sys.getprofile sys.setprofile sys.monitoring threading.gettrace threading.settrace"
    " inspect.stack inspect.currentframe".split()
)
_SOURCES: Final = frozenset({"inspect.getsource", "inspect.getsourcelines", "linecache.getline", "linecache.getlines"})
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def peeks(source: str, path: str = "") -> Iterator[tuple[int, str]]:
    """Lines of a file that look at the caller, the command line, the place or the tests, and what they do."""
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return
    is_program = path.rpartition("/")[2] in ("__main__.py", "cli.py", "main.py")
    found = {*_everywhere(module), *_by_other_names(module), *hashed_answers(module)}
    found |= set() if is_program else set(_command_line(module, aliases(module)))
    yield from sorted(found)


def _everywhere(module: ast.Module) -> Iterator[tuple[int, str]]:
    parses = any(_name(one) == "ast.parse" for one in ast.walk(module))
    for node in ast.walk(module):
        match node:
            case ast.Attribute(attr=attr) if attr in _FRAMES:
                yield node.lineno, f"looks into the frames of its callers (`{attr}`)"
            case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
                yield from _conditions(test)
            case ast.Call():
                yield from _reading(node, parses=parses)
            case ast.ClassDef():
                yield from _equalities(node)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from _counters(node)


def _by_other_names(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Looks at what is running, whatever the modules are called by that it takes."""
    known = aliases(module)
    for node in ast.walk(module):
        name = full_name(node, known)
        if name in _RUNNING:
            yield getattr(node, "lineno", 0), f"looks at what is running (`{name}`)"
        elif isinstance(node, ast.Call) and full_name(node.func, known) in ("importlib.import_module", "__import__"):
            match node.args:
                case [ast.Constant(value=str(wanted)), *_] if wanted.partition(".")[0] in (
                    "pytest",
                    "_pytest",
                    "pluggy",
                ):
                    yield node.lineno, f"imports the runner of its tests (`{wanted}`)"


def _conditions(test: ast.expr) -> Iterator[tuple[int, str]]:
    for node in ast.walk(test):
        if isinstance(node, ast.expr) and _name(node) in _PLACES:
            yield node.lineno, f"does something else by the place it runs at (`{_name(node)}` in a condition)"


def _reading(call: ast.Call, *, parses: bool) -> Iterator[tuple[int, str]]:
    name = _name(call.func) or getattr(call.func, "attr", "")
    words = [one.value for one in ast.walk(call) if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    if name.rpartition(".")[2] in _READS and any(_TESTS.search(word) for word in words):
        yield call.lineno, "looks for files of tests or of programs"
    elif name.rpartition(".")[2] in _READS and parses:
        yield call.lineno, "reads files in a module that takes programs apart (`ast.parse`)"
    elif name in _SOURCES:
        yield call.lineno, f"reads the text of programs (`{name}`)"


def _equalities(owner: ast.ClassDef) -> Iterator[tuple[int, str]]:
    for method in owner.body:
        if not isinstance(method, ast.FunctionDef) or method.name not in ("__eq__", "__ne__") or not method.args.args:
            continue
        own = method.args.args[0].arg
        body = [one for one in method.body if not _is_text(one)]
        uses = any(isinstance(node, ast.Name) and node.id in (own, "super") for one in body for node in ast.walk(one))
        if not uses and not _is_plain_answer(body, owner.name):
            yield method.lineno, f"is equal to things without a look at itself (`{owner.name}.{method.name}`)"


def _is_plain_answer(body: list[ast.stmt], owner: str) -> bool:
    """What has no state may compare by its class; what equals nothing may say so."""
    match body:
        case [ast.Return(value=ast.Call(func=ast.Name(id="isinstance"), args=[_, ast.Name(id=kind)]))]:
            return kind == owner
        case [ast.Return(value=ast.Constant(value=False) | ast.Name(id="NotImplemented"))] | [ast.Raise()]:
            return True
    return False


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _counters(function: _Function) -> Iterator[tuple[int, str]]:
    nodes = list(ast.walk(function))
    shared = {name for node in nodes if isinstance(node, ast.Global) for name in node.names}
    for node in nodes:
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id in shared:
            name = node.target.id
            asked = (one for other in nodes if isinstance(other, ast.Compare) for one in ast.walk(other))
            if any(isinstance(one, ast.Name) and one.id == name for one in asked):
                yield node.lineno, f"counts its calls and asks how many they were (`{name}`)"


def _command_line(node: ast.AST, known: dict[str, str]) -> Iterator[tuple[int, str]]:
    """Uses of the command line outside of what is called to read it."""
    for one in ast.iter_child_nodes(node):
        is_main = isinstance(one, _Function) and _MAINS.match(one.name)
        is_guard = isinstance(one, ast.If) and "__name__" in ast.unparse(one.test)
        if is_main or is_guard:
            continue
        name = full_name(one, known) or _name(one)
        if isinstance(one, ast.expr) and name in ("sys.argv", "sys.orig_argv"):
            yield one.lineno, f"looks at the command line (`{name}`) where no program begins"
        yield from _command_line(one, known)


def _name(node: ast.AST) -> str:
    """`a.b.c` as it is written; empty for anything else."""
    if isinstance(node, ast.Attribute) and (inner := _name(node.value)):
        return f"{inner}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""
