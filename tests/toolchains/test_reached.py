"""Tests that pass without having asked anything."""

import ast
from pathlib import Path

import pytest

from tests.toolchains.projects import project, run, verdicts
from treadle.toolchains.witness.treadle_witness.reached import Reached

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


def test_only_what_was_asked_of_nothing_is_told(tmp_path: Path) -> None:
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
def test_only_what_a_test_asks_of_nothing_else_is_marked(body: str, is_marked: bool) -> None:
    module = ast.parse(f"def shared(x): assert x\n\ndef test_it():\n    {body}\n")
    Reached().put_marks(module, "test_it.py")
    assert ("@reach" in ast.dump(module)) is is_marked
