"""What a test does that only works in one process is said of the test, and what cannot run apart is a problem."""

import asyncio
from pathlib import Path

import pytest

from tests.toolchains.projects import PYTEST
from tests.toolchains.seam.apart import reasons, run_apart, run_somewhere
from treadle.config.model import ToolchainSettings
from treadle.toolchains.toolchain import ProjectToolchain

PACKAGE = """
import os
def add(a, b): return a + b
def take(value): return 1
def frame():
    import sys
    return sys._getframe()
def read(path): return open(path).read()
class Basket: pass
COUNT = [0]
def count():
    COUNT[0] += 1
    return COUNT[0]
"""
TESTS = """
import importlib.util, os, pickle, runpy, subprocess, sys
import shop
def test_program(): assert subprocess.run([sys.executable, "-c", "import shop"]).returncode == 0
def test_frame(): assert shop.take(sys._getframe()) == 1
def test_module(): assert shop.take(sys.modules[__name__]) == 1
def test_pickle(): assert pickle.dumps(shop.Basket())
def test_by_path():
    spec = importlib.util.spec_from_file_location("other", os.path.join(os.path.dirname(__file__), "..", "shop.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.add(1, 2) == 3
def test_runpy(): assert runpy.run_path(os.path.abspath("shop.py"))["add"](1, 2) == 3
def test_executed():
    names = {}
    exec(open("shop.py").read(), names)
    assert names["add"](1, 2) == 3
def test_frame_of_the_subject(): assert shop.frame() is not None
def test_nothing(): assert 1 + 1 == 2
def test_alone(): exec(compile("assert 1 == 2", "<made>", "exec"))
def test_fine(): assert shop.add(1, 2) == 3
def test_count_one(): assert shop.count() == 1
def test_count_two(): assert shop.count() == 1
def test_own_file(): assert "def test_own_file" in shop.read(__file__)
"""


def test_reasons_are_told_by_who_causes_them() -> None:
    ran = run_somewhere({"shop.py": PACKAGE, "tests/test_shop.py": TESTS})

    def ids(*names: str) -> set[str]:
        return {f"tests/test_shop.py::test_{name}" for name in names}

    assert set(ran.uncrossable) == ids("program", "frame", "module", "pickle", "by_path", "runpy", "executed")
    assert set(ran.failed_to_cross) == ids("frame_of_the_subject")
    passed = {id for id, test in ran.run.tests.items() if test.verdict == "passed"}
    assert passed == ids("nothing", "fine", "count_one", "count_two"), reasons(ran, "test_own_file")
    assert not ids("nothing", "alone") & set(ran.crossed), "to print a traceback, Python looks at every module"
    assert ids("fine", "own_file") <= set(ran.crossed)
    assert (ran.problem, ran.breaches) == ("", ())


def test_a_module_that_ends_the_process_fails_all_tests_and_says_so() -> None:
    ran = run_somewhere(
        {"shop.py": "import os\nos._exit(0)\n", "tests/test_shop.py": "import shop\ndef test_a(): pass\n"}
    )
    assert ran.run.passed == frozenset()
    assert ran.breaches


def test_without_a_mount_namespace_nothing_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    ran = run_apart(tmp_path, {"shop.py": PACKAGE, "tests/test_shop.py": TESTS})
    assert ran.problem
    assert (ran.run.tests, ran.crossed) == ({}, ())


def test_other_runners_have_no_seam(tmp_path: Path) -> None:
    settings = ToolchainSettings(kind="command", test=PYTEST)
    toolchain = ProjectToolchain(settings=settings, root=tmp_path, tests=None)
    ran = asyncio.run(toolchain.test_apart(tmp_path, (), subject=tmp_path, is_subject=lambda _: True))
    assert (bool(ran.problem), ran.run.exit) == (True, None)
