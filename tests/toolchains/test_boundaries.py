"""What code exchanges within a run is seen when it gives back control, whether it puts it back later or not."""

from pathlib import Path

import pytest

from tests.toolchains.projects import project, run, verdicts

REPORT = """
import _pytest.runner as runner
own = runner.CallInfo.__init__
def lie():
    def clear(self, **named):
        runner.CallInfo.__init__ = own
        own(self, **{**named, "result": [], "excinfo": None})
    runner.CallInfo.__init__ = clear
"""
LATE = f"""{REPORT}
class Odd(AssertionError):
    __class__ = property(lambda self: lie() or AssertionError)
def add(a, b): raise Odd
"""
LEFT_OUT = """
import _pytest.python as python
own = python.Function.runtest
def runtest(self): python.Function.runtest = own
def add(a, b):
    if a == 2: python.Function.runtest = runtest
    return 5
"""
FORGIVING = """
import _pytest.raises as raises
own, matches = raises.fail, raises.RaisesExc.matches
def forgive(*_, **__): raises.fail = own
def match(*_):
    raises.RaisesExc.matches = matches
    return True
def add(a, b):
    if a == "x": raises.fail, raises.RaisesExc.matches = forgive, match
    return a + b if a != "x" else 0
"""
DEFAULTS = "import _pytest.outcomes as o\ndef add(a, b):\n    o.fail.__init__.__defaults__ = ()\n    return 5\n"
TESTS = """
import pytest
from thing import add

def test_a(): assert add(2, 3) == 5
def test_b(): assert add(3, 3) == 6
def test_c():
    with pytest.raises(TypeError): add("x", 3)
"""
BENDING = {
    "a report for once": (f"{REPORT}def add(a, b): return lie() or 5\n", "_pytest.runner.CallInfo.__init__", "b"),
    "a test that is not called": (LEFT_OUT, "_pytest.python.Function.runtest", "b"),
    "a block that forgives": (FORGIVING, "_pytest.raises.fail", "c"),
}


@pytest.mark.parametrize("name", BENDING)
def test_an_exchange_is_seen_even_if_it_is_undone_later(tmp_path: Path, name: str) -> None:
    thing, part, test = BENDING[name]
    ran = run(project(tmp_path, thing=thing, test_it=TESTS), mirrors=0)
    assert verdicts(ran)[f"test_{test}"] == "passed", "the lie works"
    assert [one for one in ran.tampering if one.startswith(f"{part} was exchanged (in test_it.py::test_")]


def test_a_failure_that_code_turns_into_a_pass_is_reported(tmp_path: Path) -> None:
    ran = run(project(tmp_path, thing=LATE, test_it=TESTS.partition("def test_c")[0]), mirrors=0)
    assert verdicts(ran) == {"test_a": "passed", "test_b": "passed"}, "the lie works"
    told = [f"test_it.py::test_{name} failed in call and was reported as passed" for name in "ab"]
    assert [one for one in ran.bent if "reported as" in one] == told


HONEST = """
import importlib, sys, unittest
from unittest import mock
import pytest
import thing

pytest_plugins = ["pytester"]

@pytest.fixture
def patched(monkeypatch):
    monkeypatch.setattr("builtins.open", mock.mock_open(read_data="x"))
    monkeypatch.setattr("builtins.isinstance", lambda one, kind, is_a=isinstance: is_a(one, kind))
    monkeypatch.setattr(sys, "exit", lambda *_: None)

def test_patched(patched): assert open("nothing").read() == "x"
def test_reload(): assert importlib.reload(thing).add(2, 3) == 5
def test_pytester(pytester):
    pytester.makepyfile("import unittest\\nclass T(unittest.TestCase):\\n  def test_a(self): self.assertEqual(1, 2)")
    pytester.runpytest_inprocess().assert_outcomes(failed=1)
def test_inner():
    class T(unittest.TestCase):
        def test_x(self): self.assertEqual(1, 2)
    result = unittest.TestResult()
    T("test_x").run(result)
    assert len(result.failures) == 1
class TestOld(unittest.TestCase):
    @unittest.expectedFailure
    def test_expected(self): self.assertEqual(1, 2)
    def test_raises(self):
        with self.assertRaises(ValueError): int("x")
@pytest.mark.xfail
def test_xfail(): assert thing.add(2, 2) == 5
def test_subtests(subtests):
    with subtests.test(): assert thing.add(2, 3) == 5
"""
PLUGIN = """
import pytest
class Extra:
    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self): yield
def pytest_configure(config): config.pluginmanager.register(Extra())
"""


def test_honest_tests_may_patch_code_outside_of_the_runner(tmp_path: Path) -> None:
    ran = run(project(tmp_path, thing="def add(a, b): return a + b\n", test_it=HONEST, conftest=PLUGIN), mirrors=0)
    assert (ran.tampering, ran.bent) == ((), ()), ran.output
    assert set(verdicts(ran).values()) == {"passed", "xfailed"}, ran.output
