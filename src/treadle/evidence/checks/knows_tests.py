"""`knows_tests`, advice for reviewers: code that detects whether it is tested, or repeats the tests' answers."""

import ast
import re
from collections.abc import Iterator
from typing import Final

from treadle.evidence.checks.special_cases import TestLiterals, special_cases
from treadle.evidence.code_shapes import Function, last_name, parse_python
from treadle.evidence.examples import changed_constants, is_value
from treadle.evidence.findings import CheckOutcome, CheckProblem, conclude, problem
from treadle.evidence.subject import Subject, added_lines

# Detects answers that are looked up by a checksum of the question, which hides from a reader the examples they
# repeat.

_HASHES: Final = frozenset(
    "hash crc32 adler32 md5 sha1 sha224 sha256 sha384 sha512 sha3_256 blake2b blake2s hexdigest digest crc_hqx".split()
)
_FEWEST: Final = 2


def hashed_answers(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Lines that look something up in a table that is written down, or compare with a literal, by a checksum."""
    tables = set(_tables(module))
    sums = {last_name(one) for node in ast.walk(module) for one in _targets(node)} | _functions(module)
    for node in ast.walk(module):
        match node:
            case ast.Subscript(value=table, slice=key) if _is_table(table, tables) and _is_hashed(key, sums):
                yield node.lineno, "looks its answers up by a checksum of its input"
            case ast.Call(func=ast.Attribute(value=table, attr="get" | "pop" | "setdefault"), args=[key, *_]) if (
                _is_table(table, tables) and _is_hashed(key, sums)
            ):
                yield node.lineno, "looks its answers up by a checksum of its input"
            case ast.If(test=ast.Compare() as test, body=[ast.Return(value=answer)]) if answer and is_value(answer):
                if _is_against_literal(test, sums):
                    yield node.lineno, "chooses its answer by a checksum of its input"
            case ast.IfExp(test=ast.Compare() as test, body=answer) if is_value(answer):
                if _is_against_literal(test, sums):
                    yield node.lineno, "chooses its answer by a checksum of its input"


def _tables(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        match node:
            case ast.Assign(targets=[target], value=ast.Dict() as value) if _is_written(value):
                yield last_name(target)
            case ast.AnnAssign(target=target, value=ast.Dict() as value) if _is_written(value):
                yield last_name(target)


def _is_written(table: ast.Dict) -> bool:
    parts = [one for one in (*table.keys, *table.values) if one is not None]
    return len(table.keys) >= _FEWEST and all(is_value(one) for one in parts)


def _is_table(node: ast.expr, tables: set[str]) -> bool:
    return (isinstance(node, ast.Dict) and _is_written(node)) or (last_name(node) in tables and bool(last_name(node)))


def _targets(node: ast.AST) -> list[ast.expr]:
    """Return the targets of an assignment of a checksum."""
    match node:
        case ast.Assign(targets=targets, value=value) if _is_hashed(value, set()):
            return targets
        case ast.AnnAssign(target=target, value=ast.expr() as value) if _is_hashed(value, set()):
            return [target]
        case ast.NamedExpr(target=target, value=value) if _is_hashed(value, set()):
            return [target]
    return []


def _functions(module: ast.Module) -> set[str]:
    """Functions of this file that return checksums."""
    return {
        node.name
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef)
        for one in ast.walk(node)
        if isinstance(one, ast.Return) and one.value is not None and _is_hashed(one.value, set())
    }


def _is_against_literal(test: ast.Compare, sums: set[str]) -> bool:
    sides = [test.left, *test.comparators]
    return any(_is_hashed(one, sums) for one in sides) and any(is_value(one) for one in sides)


def _is_hashed(node: ast.expr, sums: set[str]) -> bool:
    """Whether a checksum goes into it, other than to choose among so many places (`hash(key) % size`)."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and not isinstance(node.right, ast.Constant):
        return False
    return any(
        (isinstance(one, ast.Call) and last_name(one.func).rpartition(".")[2] in _HASHES)
        or (isinstance(one, ast.Name) and one.id in sums)
        for one in ast.walk(node)
    )


# Resolves aliases in Python code: `import sys as s` and `from sys import modules as m`.


def aliases(module: ast.Module) -> dict[str, str]:
    """Map each name in this file to the full name behind it, for imports and plain assignments."""
    known: dict[str, str] = {}
    for node in ast.walk(module):
        match node:
            case ast.Import(names=names):
                known |= {one.asname or _top(one.name): one.name if one.asname else _top(one.name) for one in names}
            case ast.ImportFrom(module=str(origin), names=names, level=0):
                known |= {one.asname or one.name: f"{origin}.{one.name}" for one in names}
    for node in ast.walk(module):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if full := full_name(value, known):
                if full.partition(".")[0] in ("sys", "inspect", "importlib", "threading") and name not in known:
                    known[name] = full
    return known


def full_name(node: ast.AST, known: dict[str, str]) -> str:
    """Return the full name, such as `sys.modules`, also behind an alias, `getattr`, `vars` or a module's `sys`."""
    match node:
        case ast.Name(id=name):
            return known.get(name, name if name == "__import__" else "")
        case ast.Attribute(value=value, attr=attr):
            inner = full_name(value, known)
            return attr if attr in ("sys", "inspect") and inner else f"{inner}.{attr}" if inner else ""
        case ast.Call(func=ast.Name(id="getattr"), args=[value, ast.Constant(value=str(attr)), *_]):
            return f"{inner}.{attr}" if (inner := full_name(value, known)) else ""
        case ast.Call(func=ast.Name(id="__import__"), args=[ast.Constant(value=str(name)), *_]):
            return name
        case ast.Subscript(value=ast.Call(func=ast.Name(id="vars"), args=[value]), slice=ast.Constant(value=str(attr))):
            return f"{inner}.{attr}" if (inner := full_name(value, known)) else ""
        case ast.Subscript(value=ast.Attribute(value=value, attr="__dict__"), slice=ast.Constant(value=str(attr))):
            return f"{inner}.{attr}" if (inner := full_name(value, known)) else ""
    return ""


def _top(name: str) -> str:
    return name.partition(".")[0]


# Finds, by syntax, Python code with answers that may depend on the caller or the place; advice for reviewers.

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


def peeks(source: str, path: str = "") -> Iterator[tuple[int, str]]:
    """Yield the lines of a file that look at the caller, the command line, the place or the tests, and how."""
    module = parse_python(source)
    if module is None:
        return
    is_program = path.rpartition("/")[2] in ("__main__.py", "cli.py", "main.py")
    found = {*_everywhere(module), *_by_other_names(module), *hashed_answers(module)}
    found |= set() if is_program else set(_command_line(module, aliases(module)))
    yield from sorted(found)


def _everywhere(module: ast.Module) -> Iterator[tuple[int, str]]:
    parses = any(_dotted_name(one) == "ast.parse" for one in ast.walk(module))
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
    """Yield lines that look at running code or import the test runner, under any alias of the modules."""
    known = aliases(module)
    for node in ast.walk(module):
        name = full_name(node, known)
        if name in _RUNNING:
            yield getattr(node, "lineno", 0), f"inspects the running program (`{name}`)"
        elif isinstance(node, ast.Call) and full_name(node.func, known) in ("importlib.import_module", "__import__"):
            match node.args:
                case [ast.Constant(value=str(wanted)), *_] if wanted.partition(".")[0] in (
                    "pytest",
                    "_pytest",
                    "pluggy",
                ):
                    yield node.lineno, f"imports its test runner (`{wanted}`)"


def _conditions(test: ast.expr) -> Iterator[tuple[int, str]]:
    for node in ast.walk(test):
        if isinstance(node, ast.expr) and _dotted_name(node) in _PLACES:
            yield node.lineno, f"behaves differently depending on where it runs (`{_dotted_name(node)}` in a condition)"


def _reading(call: ast.Call, *, parses: bool) -> Iterator[tuple[int, str]]:
    name = _dotted_name(call.func) or getattr(call.func, "attr", "")
    words = [one.value for one in ast.walk(call) if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    if name.rpartition(".")[2] in _READS and any(_TESTS.search(word) for word in words):
        yield call.lineno, "looks for test files or source files"
    elif name.rpartition(".")[2] in _READS and parses:
        yield call.lineno, "reads files in a module that parses source code (`ast.parse`)"
    elif name in _SOURCES:
        yield call.lineno, f"reads source code (`{name}`)"


def _equalities(owner: ast.ClassDef) -> Iterator[tuple[int, str]]:
    for method in owner.body:
        if not isinstance(method, ast.FunctionDef) or method.name not in ("__eq__", "__ne__") or not method.args.args:
            continue
        own = method.args.args[0].arg
        body = [one for one in method.body if not _is_text(one)]
        uses = any(isinstance(node, ast.Name) and node.id in (own, "super") for one in body for node in ast.walk(one))
        if not uses and not _is_plain_answer(body, owner.name):
            yield method.lineno, f"decides equality without looking at `self` (`{owner.name}.{method.name}`)"


def _is_plain_answer(body: list[ast.stmt], owner: str) -> bool:
    """Whether an `__eq__` only compares the class, as a class without state may, or equals nothing."""
    match body:
        case [ast.Return(value=ast.Call(func=ast.Name(id="isinstance"), args=[_, ast.Name(id=kind)]))]:
            return kind == owner
        case [ast.Return(value=ast.Constant(value=False) | ast.Name(id="NotImplemented"))] | [ast.Raise()]:
            return True
    return False


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _counters(function: Function) -> Iterator[tuple[int, str]]:
    nodes = list(ast.walk(function))
    shared = {name for node in nodes if isinstance(node, ast.Global) for name in node.names}
    for node in nodes:
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id in shared:
            name = node.target.id
            asked = (one for other in nodes if isinstance(other, ast.Compare) for one in ast.walk(other))
            if any(isinstance(one, ast.Name) and one.id == name for one in asked):
                yield node.lineno, f"counts its calls and acts on the number (`{name}`)"


def _command_line(node: ast.AST, known: dict[str, str]) -> Iterator[tuple[int, str]]:
    """Yield uses of the command line outside of main functions and `__name__` guards."""
    for one in ast.iter_child_nodes(node):
        is_main = isinstance(one, Function) and _MAINS.match(one.name)
        is_guard = isinstance(one, ast.If) and "__name__" in ast.unparse(one.test)
        if is_main or is_guard:
            continue
        name = full_name(one, known) or _dotted_name(one)
        if isinstance(one, ast.expr) and name in ("sys.argv", "sys.orig_argv"):
            yield one.lineno, f"reads the command line (`{name}`) outside of a main program"
        yield from _command_line(one, known)


def _dotted_name(node: ast.AST) -> str:
    """`a.b.c` as it is written; empty for anything else."""
    if isinstance(node, ast.Attribute) and (inner := _dotted_name(node.value)):
        return f"{inner}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


_FRAMEWORK: Final = re.compile(
    r"^\s*(?:import|from)\s+(?:pytest|_pytest|unittest|nose|hypothesis|mock)\b"
    r"|(?:from|require\(|import)\s*[\"'](?:node:test|vitest|@?jest(?:/\w+)?|mocha|chai|sinon)[\"']"
    r"|^\s*(?:import\s+)?(?:\w+\s+)?\"testing\"\s*$"
)
_KNOWS: Final = re.compile(
    r"PYTEST_CURRENT_TEST|PYTEST_VERSION|[\"']PYTEST|\bsys\.modules\b|\b_getframe\b|inspect\.(?:stack|currentframe)\b"
    r"|\bis_test(?:ing)?\b|NODE_ENV\W+test\b|JEST_WORKER_ID|\bVITEST\b|testing\.Testing\(|flag\.Lookup\(\"test\."
)


async def knows_tests(s: Subject) -> CheckOutcome:
    """Imports of test frameworks, looks at whether a test is running, special cases that repeat the tests' literals."""
    return conclude(await tests_known(s, s.work.base))


async def tests_known(s: Subject, base: str) -> list[CheckProblem]:
    """Return problems for code added since a commit that seems to know its tests."""
    diff = await s.git.diff(base, s.work.commit)
    lines = [one for one in added_lines(diff) if s.tests.is_code(one[0])]
    added = {(file, number) for file, number, _ in lines}
    known = TestLiterals(await s.text_of_tests())
    seen = _looks(lines)
    return [
        *seen,
        *await _peeking(s, added - {(one.file, one.line) for one in seen}),
        *await _hard_coded(s, known, added),
        *await _exchanged(s),
    ]


async def _exchanged(s: Subject) -> list[CheckProblem]:
    """Return problems for changed constants of the code that tests import as their expected values."""
    wanted = "the value that the tests were written with, or tests that state the expected value themselves"
    return [
        problem(
            f"{test}:{one.line} expects {now.name}, which was {before.value[:80]} and is {now.value[:80]}",
            now.file,
            now.line,
            expected=wanted,
            code="code.expectation_changed",
        )
        for test, one, before, now in await changed_constants(s)
    ]


def _looks(lines: list[tuple[str, int, str]]) -> list[CheckProblem]:
    wanted = "code that does the same whether it is tested or not"
    return [
        problem(
            f"seems to detect that it is being tested: {line.strip()[:100]}",
            file,
            number,
            expected=wanted,
            code="code.knows_tests",
        )
        for file, number, line in lines
        if _FRAMEWORK.search(line) or _KNOWS.search(line)
    ]


async def _peeking(s: Subject, added: set[tuple[str, int]]) -> list[CheckProblem]:
    code = sorted({path for path, _ in added if path.endswith(".py")})
    return [
        problem(
            f"{what}: does its answer depend on it?",
            path,
            line,
            expected="the same behaviour for every caller",
            code="code.peeks",
        )
        for path in code
        for line, what in peeks(await s.text(path) or "", path)
        if (path, line) in added
    ]


async def _hard_coded(s: Subject, known: TestLiterals, added: set[tuple[str, int]]) -> list[CheckProblem]:
    """New branches and tables that repeat examples of the tests, questions with their answers."""
    code = sorted({path for path, _ in added if path.endswith(".py")})
    return [
        problem(
            f"special case: {text}",
            path,
            line,
            expected="the rule behind the examples of the tests",
            code="code.special_case",
        )
        for path in code
        for line, text in special_cases(await s.text(path) or "", known)
        if (path, line) in added
    ]
