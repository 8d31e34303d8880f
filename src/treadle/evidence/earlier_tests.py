"""Runs the tests of an earlier commit, as they were there, on the code of this work.

Theory of operation. A test can demand less without a change of its own: a helper that it calls, a class that it
inherits, a fixture or a decorator may have been weakened. No reading of the test finds all of these, so the whole set
of test files of the earlier commit is laid over the work and run. Only the code is new then, and a test that passed and
fails now shows that the code has lost behaviour. This costs a run of the suite, so it happens only where this work has
changed something that old tests may rest on.
"""

import ast
from pathlib import PurePosixPath
from typing import Final

from treadle.evidence.baseline import flaky_among, handed_back, written_test
from treadle.evidence.checks.scope import measured_tree
from treadle.evidence.findings import CheckProblem, problem
from treadle.evidence.source_text import decode_source
from treadle.evidence.subject import Subject
from treadle.evidence.suite import bad_tests, describe_test, file_of
from treadle.toolchains.results import TestRun

_DATA: Final = (".json", ".jsonl", ".yaml", ".yml", ".toml", ".txt", ".md", ".csv", ".feature")
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
_PARTS: Final = (ast.Attribute, ast.Subscript)
_SPECIAL: Final = ("pytestmark", "pytest_plugins", "collect_ignore", "collect_ignore_glob", "load_tests")
_FAILS: Final = "passed before this work, and fails with it as soon as all tests are as they were then"


async def lost_behaviour(s: Subject, since: str) -> list[CheckProblem]:
    """Return the tests that passed on the commit `since` and, as they were there, fail on this work.

    Tests that were rewritten themselves, or were seen failing for the right reason since then, may do so: `red` has
    judged them. So may tests that cannot be collected in their old form, because nothing says what they would show.
    """
    then, now = await s.entries(since), await s.entries()
    tests = [path for path in {*then, *now} if s.tests.is_test(path) and then.get(path) != now.get(path)]
    if not tests or not any([await _may_weaken(s, path, since, is_old=path in then) for path in sorted(tests)]):
        return []
    before = await s.measure.known_suite(await s.git.tree(since))
    work = await measured_tree(s)
    tree = await s.git.with_files(work, {path: then.get(path) for path in tests})
    if not before.is_believable or tree == work:
        return []
    run = await s.measure.suite(tree, mirrors=False)
    if not run.is_believable:
        return []
    failing = [id_ for id_, test in bad_tests(run).items() if id_ in before.passed and test.phase != "collect"]
    failing = [id_ for id_ in failing if id_ not in s.proof.failed and await _is_unchanged(s, run, id_, since)]
    flaky = await flaky_among(s, tree, run, failing)
    return [_lost(s, run, id_) for id_ in failing if id_ not in flaky]


def _lost(s: Subject, run: TestRun, id_: str) -> CheckProblem:
    told = describe_test(run.tests[id_])
    wanted = "the behaviour that the old tests ask for, and their helpers as they were"
    return problem(
        f"{_FAILS}: it {told.what}", told.file, told.line, id_, wanted + handed_back(s), code="green.old_tests"
    )


async def _is_unchanged(s: Subject, run: TestRun, id_: str, since: str) -> bool:
    """Whether the test itself, apart from what it rests on, is as it was; an inherited test has no text of its own."""
    file = file_of(id_, run)
    old, new = [written_test(file, await s.git.show(commit, file), id_) for commit in (since, s.work.commit)]
    return old == new


async def _may_weaken(s: Subject, path: str, since: str, *, is_old: bool) -> bool:
    """Whether a change of a test file may change what old tests demand.

    Data files and modules of tests may be added, and so may tests to a module of tests.
    """
    name = PurePosixPath(path)
    is_module = name.stem.startswith(("test_", "test-")) or name.stem.endswith(("_test", ".test", ".spec"))
    if name.name == "test_manifest.json" or (not is_old and name.suffix in _DATA):
        return False
    if name.suffix != ".py" or (not is_old and not is_module):
        return is_old or not is_module
    old, new = await s.git.show(since, path), await s.git.show(s.work.commit, path)
    if new is None:
        return True
    try:
        before, after = [ast.parse(decode_source(path, data or b"")).body for data in (old, new)]
    except (SyntaxError, ValueError, RecursionError):
        return True
    return not _only_adds_tests(before, after) if is_old else any(map(_reaches_out, after))


def _reaches_out(one: ast.stmt) -> bool:
    """Whether a statement of a new module calls something at its import, or changes an object of another module."""
    if isinstance(one, ast.Expr) and not isinstance(one.value, ast.Constant):
        return True
    is_assignment = isinstance(one, ast.Assign | ast.AugAssign | ast.Delete)
    return is_assignment and any(
        isinstance(node, _PARTS) and not isinstance(node.ctx, ast.Load) for node in ast.walk(one)
    )


def _only_adds_tests(before: list[ast.stmt], after: list[ast.stmt]) -> bool:
    """Whether a module, or a class, has the same statements as before, and besides only tests, imports and values.

    A new name may not hide an old one, and nothing new may speak to the test runner.
    """
    used = {node.id for one in before for node in ast.walk(one) if isinstance(node, ast.Name)}
    used |= {name for one in before for name in _bound(one)}
    waiting = list(before)
    for one in after:
        if waiting and (ast.dump(one) == ast.dump(waiting[0]) or _grows(waiting[0], one)):
            waiting.pop(0)
        elif not _is_harmless(one) or used & _bound(one):
            return False
    return not waiting


def _grows(old: ast.stmt, new: ast.stmt) -> bool:
    """Whether a class only gets further tests."""
    if not isinstance(old, ast.ClassDef) or not isinstance(new, ast.ClassDef):
        return False
    heads = [[one.name, *map(ast.dump, (*one.bases, *one.keywords, *one.decorator_list))] for one in (old, new)]
    return heads[0] == heads[1] and _only_adds_tests(old.body, new.body)


def _is_harmless(one: ast.stmt) -> bool:
    match one:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return one.name.startswith("test")
        case ast.ClassDef():
            return all(isinstance(it, (*_FUNCTIONS, ast.Expr, ast.Assign, ast.AnnAssign)) for it in one.body)
        case ast.Import() | ast.ImportFrom():
            return "*" not in _bound(one)
        case ast.Assign() | ast.AnnAssign() if not _reaches_out(one):
            return (
                not any(isinstance(node, ast.Call) for node in ast.walk(one))
                and not _bound(one) & {*_SPECIAL}
                and not any(name.startswith("__") for name in _bound(one))
            )
    return isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)


def _bound(one: ast.stmt) -> set[str]:
    """Return the names that a statement binds."""
    match one:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return {one.name}
        case ast.Import() | ast.ImportFrom():
            return {name.asname or name.name.partition(".")[0] for name in one.names}
    return {node.id for node in ast.walk(one) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
