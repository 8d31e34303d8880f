"""Tests as they are written, and the assertions that a run reached."""

import ast
from pathlib import Path

import pytest

from tests.toolchains.projects import project, run, verdicts
from treadle.toolchains.witness.treadle_witness.reached import Reached

STRIPPING = """
import ast
real = ast.parse

class Strip(ast.NodeTransformer):
    def visit_Assert(self, node): return ast.copy_location(ast.Pass(), node)

def parse(*words, **more):
    tree = ast.fix_missing_locations(Strip().visit(real(*words, **more)))
    ast.parse = real
    return tree

ast.parse = parse
def add(a, b): return 5
"""
SWAPPING = """
import builtins, re, sys

def add(a, b):
    sys.modules["test_a"].add = lambda a, b: a + b
    sys.modules["test_a"].check.__code__ = (lambda got, wanted: None).__code__
    return a + b

re.search = lambda *_, **__: True
builtins.KeyError = Exception
"""
HONEST = """
import pytest
from thing import add

check = count = None

@pytest.fixture(autouse=True)
def named(request, monkeypatch):
    global count
    count = len
    monkeypatch.setattr(request.module, "add", add)

class TestAll:
    @pytest.mark.parametrize("x", [1, 2])
    def test_more(self, x):
        assert (
            add(x, 1)
            == x + 1
        ), "several lines"
        if False:
            assert x == 3
        for y in [x]:
            assert y in (1, 2) and not y > 2
        try:
            assert 1 < x < 9 or x == 1
        finally:
            assert x

def test_inner():
    def inner(): assert add(1, 1) == 2
    inner()
    return None
    assert add(1, 1) == 3
"""


def test_removed_assertions_are_noticed_although_the_tool_was_restored(tmp_path: Path) -> None:
    tests = "from thing import add\n\n\ndef test_it():\n    assert add(2, 3) == 5\n"
    ran = run(project(tmp_path, thing=STRIPPING, test_a=tests, test_b=tests.replace("== 5", "== 6")), mirrors=0)
    assert verdicts(ran) == {"test_it": "passed"}
    lost = "test_b.py::test_it runs without the assertion in line 5 of its file"
    assert ran.tampering == ("ast.parse was exchanged (in test_a.py)", lost)


def test_a_replaced_name_is_reported(tmp_path: Path) -> None:
    check = "def check(got, wanted): assert got == wanted\n\n\n"
    tests = f"from thing import add\n\n\n{check}def test_it():\n    check(add(2, 3), 5)\n"
    told = run(project(tmp_path, thing=SWAPPING, test_a=tests), mirrors=0).tampering
    # The check `green` reads these lines: their words are a format.
    names = ("test_a.py: add ", "test_a.py: check ")
    assert {f"{name}is no longer what the tests were collected with" for name in names} <= {*told}
    assert {f"{name} is no longer what it was" for name in ("re.search", "builtins.KeyError")} <= {*told}


def test_honest_tests_are_not_reported(tmp_path: Path) -> None:
    ran = run(project(tmp_path, thing="def add(a, b): return a + b\n", test_it=HONEST))
    assert (ran.is_green, ran.tampering, ran.bent) == (True, (), ())


def test_code_that_reads_a_test_file_is_reported(tmp_path: Path) -> None:
    reading = "from pathlib import Path\ntext = Path(__file__).with_name('test_it.py').read_text()\n"
    tests = "import thing\n\n\ndef test_it():\n    assert thing.text\n    assert open(__file__).close() is None\n"
    told = run(project(tmp_path, thing=reading, test_it=tests)).tampering
    [reader] = told
    assert reader.startswith("test_it.py, ")
    assert "read by thing.py:2 (in test_it.py)" in reader


UNASKED = """
import unittest
from unittest import mock
import pytest
CASES = []

def test_loop():
    for one in CASES:
        assert one == 1
        assert one

@pytest.mark.parametrize("x", [1, 2])
@mock.patch("unittest.mock.ANY")
def test_branch(any, x):
    if x == 3:
        assert any

class TestOld(unittest.TestCase):
    def test_leaves(self):
        "Says nothing."
        if not CASES: return
        assert CASES

@pytest.mark.parametrize("rows", [[], [1]])
def test_one_has_none(rows):
    for row in rows:
        assert row

def test_fails():
    for one in CASES: assert one
    assert False

@pytest.mark.xfail
def test_marked():
    for one in CASES: assert one
"""


def test_only_tests_that_reached_no_assertion_are_reported(tmp_path: Path) -> None:
    ran = run(project(tmp_path, test_it=UNASKED), mirrors=0)
    assert verdicts(ran)["test_loop"] == "passed"
    said = {one.partition(" passed without reaching any of its assertions ")[::2] for one in ran.tampering}
    ids = {"test_loop": "(lines 9, 10)", "test_branch": "(lines 16)", "TestOld::test_leaves": "(lines 22)"}
    assert said == {(f"test_it.py::{name}", lines) for name, lines in ids.items()}
    assert ran.bent == ()


@pytest.mark.parametrize(
    ("body", "is_marked"),
    [
        ("for x in f(): assert x == 1", True),
        ("while f(): assert g()", True),
        ("with f():\n        for x in g(): assert x in (1, 2)", True),
        ("try:\n        for x in g(): assert x\n    finally: f()", True),
        ("assert f()\n    for x in g(): assert x", False),
        ("with f(): assert g()", False),
        ("for x in f(): assert x != 1", False),
        ("for x in f(): assert 'secret' not in x", False),
        ("for x in f(): assert not x", False),
        ("for x in caplog.records: assert x.levelno < 30", False),
        ("if sys.platform == 'win32': assert f()", False),
        ("try: f()\n    except KeyError as e: assert e.args == ('a',)", False),
        ("def inner(): assert f()\n    inner()\n    for x in g(): assert x", False),
        ("shared(f())\n    for x in g(): assert x", False),
        ("with pytest.raises(KeyError): f()\n    if g(): assert f()", False),
        ("spy.assert_called_once()\n    for x in g(): assert x", False),
        ("for x in f():\n        if x: raise AssertionError\n        assert x", False),
        ("f()", False),
    ],
)
def test_only_tests_with_nothing_but_skippable_assertions_are_marked(body: str, is_marked: bool) -> None:
    module = ast.parse(f"def shared(x): assert x\n\ndef test_it():\n    {body}\n")
    Reached().put_marks(module, "test_it.py")
    assert ("@reach" in ast.dump(module)) is is_marked
