import asyncio
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.toolchains.projects import PYTEST, project, pytest_of, run, verdicts, write
from treadle.evidence.suite import reason_for_doubt
from treadle.toolchains.process import COUNT
from treadle.toolchains.pytest import KNOWN_PLUGINS
from treadle.toolchains.results import TestRun

EVERYTHING = """
import pytest, time, unittest, warnings
from calc import Basket, add

@pytest.fixture
def basket(): return Basket()

@pytest.fixture
def basket_in_vain():
    try: return Basket()
    except NotImplementedError as error: raise ValueError("no basket") from error

@pytest.fixture
def unwritten(): raise NotImplementedError

@pytest.fixture
def broken():
    raise ValueError("no database")

@pytest.fixture
def leaky():
    yield
    raise ValueError("cannot clean up")

def test_passed(): assert add(1, 2) == 3
def test_assertion(): assert add(1, 2) == 4
def test_fail(): pytest.fail("by hand")
def test_did_not_raise():
    with pytest.raises(ValueError): add(1, 2)
def test_not_implemented(): raise NotImplementedError("add")
def test_raises_over_a_skeleton():
    with pytest.raises(ValueError): skeleton()
def test_raises_something_else():
    with pytest.raises(ValueError, match="negative"): int("x")
class Wrong(AssertionError): pass
def test_own_assertion(): raise Wrong("no")
def skeleton(): raise NotImplementedError
def wrapped():
    try: skeleton()
    except NotImplementedError as error: raise RuntimeError("cannot") from error
def test_deep(): sorted([1], key=lambda one: skeleton())
def test_wrapped(): wrapped()
def test_group(): raise ExceptionGroup("tasks", [NotImplementedError(), ExceptionGroup("more", [Wrong("no")])])
def test_group_with_an_error(): raise ExceptionGroup("tasks", [NotImplementedError(), ValueError("x")])
def test_while_handling():
    try: skeleton()
    except NotImplementedError: add(1)
def test_error(): add(1)
def test_import(): import no_such_module
def test_exit(): raise SystemExit(0)
def test_setup(broken): pass
def test_setup_of_a_skeleton(basket): assert basket.total() == 0
def test_setup_around_a_skeleton(basket_in_vain): pass
def test_setup_that_is_missing_itself(unwritten): assert add(1, 2) == 3
def test_teardown(leaky): pass
def test_both(leaky): assert False, "first"
def test_slow(): time.sleep(60)
@pytest.mark.skip(reason="later")
def test_skipped(): pass
def test_skips_itself(): pytest.skip("not here")
@pytest.mark.xfail
def test_xfailed(): assert False
@pytest.mark.xfail
def test_xpassed(): pass
@pytest.mark.xfail(strict=True)
def test_xpassed_strictly(): pass
@pytest.mark.parametrize("text", ["a b", "x::y", "[", "\\x00", "ü", "a/b.py", ""])
def test_parameters(text): pass

class TestClass:
    def test_method(self): pass

class Case(unittest.TestCase):
    def test_unit(self): self.assertEqual(add(1, 2), 4)
    def test_todo(self): raise NotImplementedError
    def test_subs(self):
        for number in (1, 2):
            with self.subTest(number=number): self.assertEqual(number, 1)
"""
PACKAGE = {
    "calc": """def add(a, b):
    return a + b

class Basket:
    def __init__(self): raise NotImplementedError
""",
}

EXPECTED = {
    "test_passed": ("passed", "call", ""),
    "test_assertion": ("failed", "call", "assertion"),
    "test_fail": ("failed", "call", "assertion"),
    "test_did_not_raise": ("failed", "call", "assertion"),
    "test_not_implemented": ("failed", "call", "not_implemented"),
    "test_raises_over_a_skeleton": ("failed", "call", "not_implemented"),
    "test_raises_something_else": ("failed", "call", "assertion"),
    "test_own_assertion": ("failed", "call", "assertion"),
    "test_deep": ("failed", "call", "not_implemented"),
    "test_wrapped": ("failed", "call", "not_implemented"),
    "test_group": ("failed", "call", "not_implemented"),
    "test_group_with_an_error": ("failed", "call", "error"),
    "test_while_handling": ("failed", "call", "error"),
    "test_error": ("failed", "call", "error"),
    "test_import": ("failed", "call", "import"),
    "test_exit": ("failed", "call", "exit"),
    "test_setup": ("error", "setup", "fixture"),
    "test_setup_of_a_skeleton": ("error", "setup", "not_implemented"),
    "test_setup_around_a_skeleton": ("error", "setup", "not_implemented"),
    "test_setup_that_is_missing_itself": ("error", "setup", "fixture"),
    "test_teardown": ("error", "teardown", "fixture"),
    "test_both": ("failed", "call", "assertion"),
    "test_slow": ("failed", "call", "timeout"),
    "test_skipped": ("skipped", "setup", ""),
    "test_skips_itself": ("skipped", "call", ""),
    "test_xfailed": ("xfailed", "call", ""),
    "test_xpassed": ("xpassed", "call", ""),
    "test_method": ("passed", "call", ""),
    "test_unit": ("failed", "call", "assertion"),
    "test_todo": ("failed", "call", "not_implemented"),
    "test_subs": ("failed", "call", "assertion"),
    "test_syntax.py": ("error", "collect", "import"),
    "test_missing.py": ("error", "collect", "import"),
    "test_raises.py": ("error", "collect", "error"),
    "test_absent.py": ("skipped", "collect", ""),
}


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> TestRun:
    path = project(
        tmp_path_factory.mktemp("everything"),
        **PACKAGE,
        tests__test_all=EVERYTHING,
        tests__test_syntax="def test(:\n",
        tests__test_missing="from calc import divide\ndef test_it(): pass\n",
        tests__test_raises="raise ValueError('at import')\n",
        tests__test_absent="import pytest\npytest.importorskip('no_such_module')\ndef test_it(): pass\n",
    )
    return run(path, test_timeout=1.0)


@pytest.mark.parametrize(("name", "expected"), EXPECTED.items())
def test_verdict_phase_and_kind(everything: TestRun, name: str, expected: tuple[str, str, str]) -> None:
    found = [test for id, test in everything.tests.items() if id.endswith((f"::{name}", f"/{name}"))]
    assert [(test.verdict, test.phase, test.kind) for test in found] == [expected]


def test_all_witnesses_agree_on_everything(everything: TestRun) -> None:
    assert (everything.bent, everything.problems, everything.tampering) == ((), (), ())
    assert everything.exit == 1
    assert everything.is_believable
    assert not everything.is_green
    assert set(everything.chosen) == set(everything.collected) <= set(everything.tests)


def test_a_result_has_file_line_and_message(everything: TestRun) -> None:
    test = everything.tests["tests/test_all.py::test_assertion"]
    assert (test.file, EVERYTHING.splitlines()[test.line - 1]) == (
        "tests/test_all.py",
        "def test_assertion(): assert add(1, 2) == 4",
    )
    assert "assert 3 == 4" in test.message
    assert test.is_red
    assert not everything.tests["tests/test_all.py::test_setup"].is_red
    assert everything.tests["tests/test_all.py::test_xpassed_strictly"].verdict == "xpassed"
    assert "no database" in everything.tests["tests/test_all.py::test_setup"].message
    assert len([id for id in everything.passed if "test_parameters[" in id]) == 7


def test_canaries_are_not_seen(everything: TestRun) -> None:
    assert "canary" not in everything.output
    assert all("canary" not in test.message for test in everything.tests.values())


def test_only_chosen_tests_run_and_missing_ones_are_named(tmp_path: Path) -> None:
    path = project(
        tmp_path,
        tests__test_a="import pytest\n@pytest.mark.parametrize('n', [1, 2])\ndef test_n(n): pass\n",
        tests__test_b="def test_b(): assert False\n",
    )
    ran = run(path, "tests/test_a.py::test_n[2]")
    assert (verdicts(ran), ran.is_green) == ({"test_n[2]": "passed"}, True)
    assert len(ran.collected) == 2
    gone = run(path, "tests/test_a.py::test_n[3]")
    none_ran, not_there = gone.problems
    assert "no tests" in none_ran
    assert "tests/test_a.py::test_n[3]" in not_there
    assert not gone.is_green
    outside = run(path, "../elsewhere.py::test")
    [problem] = outside.problems
    assert "../elsewhere.py" in problem
    in_file = asyncio.run(pytest_of(path).test(path, files=("tests/test_b.py",)))
    assert verdicts(in_file) == {"test_b": "failed"}


def test_collecting_runs_no_test(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    body = f"def test_a(): open({str(mark)!r}, 'w')\nclass TestB:\n    def test_b(self): pass\n"
    path = project(tmp_path / "p", test_a=body, test_bad="import nothing_there\n")
    found = asyncio.run(pytest_of(path).collect(path))
    assert found.ids == ("test_a.py::test_a", "test_a.py::TestB::test_b")
    assert {id: test.kind for id, test in found.errors.items()} == {"test_bad.py": "import"}
    assert not found.is_complete
    assert not mark.exists()
    write(path, "test_bad.py", "def test_c(): pass\n")
    assert asyncio.run(pytest_of(path).collect(path)).is_complete


def test_files_and_variables_around_the_checkout_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "pytest.ini", "[pytest]\naddopts = --no-such-option\n")
    write(tmp_path, "conftest.py", "raise SystemExit('not me')\n")
    evil = project(tmp_path / "evil", sitecustomize="raise SystemExit(0)", usercustomize="raise SystemExit(0)")
    for name, value in {
        "PYTEST_ADDOPTS": "--no-such-option",
        "PYTEST_PLUGINS": "no_such_plugin",
        "PYTHONPATH": str(evil),
        "PYTHONSTARTUP": str(evil / "sitecustomize.py"),
        "PYTHONOPTIMIZE": "2",
        "COVERAGE_PROCESS_START": "x",
        "SECRET_TOKEN": "x",
    }.items():
        monkeypatch.setenv(name, value)
    body = """
    import os, sys
    def test_environment():
        assert not [name for name in os.environ if "SECRET" in name or name.startswith(("TREADLE", "COVERAGE"))]
        assert not any(name.startswith("treadle_witness") for name in sys.modules)
        assert "PYTHONPATH" not in os.environ
    def test_nothing_shadows():
        import json, pytest
        assert json.loads("1") == 1 and pytest.fail
    """
    path = project(
        tmp_path / "p",
        test_a="\n".join(line[4:] for line in body.splitlines()),
        sitecustomize="raise SystemExit(0)",
        pytest="raise SystemExit(0)",
        json="loads = None",
    )
    ran = run(path)
    assert verdicts(ran) == {"test_environment": "passed", "test_nothing_shadows": "passed"}, ran.output
    assert ran.is_green
    assert not [file for file in path.rglob("*") if file.name in ("__pycache__", ".pytest_cache")]


def test_the_projects_own_configuration_counts(tmp_path: Path) -> None:
    path = project(
        tmp_path,
        src__thing="VALUE = 3\n",
        checks__check_a="import thing, plug\ndef check_it(fix): assert thing.VALUE == fix == 3\n",
        plug="import pytest\n@pytest.fixture\ndef fix(): return 3\n",
    )
    settings = (
        "[tool.pytest.ini_options]\npythonpath = ['src']\npython_files = 'check_*.py'\npython_functions = 'check_*'\n"
        "filterwarnings = ['error']\n"
        "addopts = ['-p', 'plug', '-x', '--ff', '-n', '2', '--cov=src', '--cov-fail-under=100', '-q']\n"
    )
    write(path, "pyproject.toml", settings)
    ran = run(path, plugins=KNOWN_PLUGINS)
    assert (ran.problems, ran.bent, verdicts(ran)) == ((), (), {"check_it": "passed"}), ran.output
    assert ran.is_green
    write(path, "pyproject.toml", "[tool.pytest.ini_options]\naddopts = '--no-such-option'\n")
    wrong = run(path)
    assert (wrong.exit, len(wrong.problems)) == (4, 1)
    assert "no-such-option" in wrong.output


def environment(root: Path, *links: Path) -> Path:
    """An environment in a checkout, with our own packages and links to some folders; its site-packages."""
    venv.create(root / ".venv", with_pip=False, symlinks=True)
    site = next((root / ".venv" / "lib").glob("python*/site-packages"))
    ours = next(path for path in sys.path if path.endswith("site-packages"))
    write(site, "links.pth", "".join(f"{path}\n" for path in (ours, *links)))
    return site


def test_plugins_are_loaded_by_name_only(tmp_path: Path) -> None:
    path = project(tmp_path, test_it="def test_it(mine): assert mine == 3\n")
    site = environment(path)
    write(site, "mine.py", "import pytest\n@pytest.fixture\ndef mine(): return 3\n")
    write(site, "mine-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: mine\nVersion: 1\n")
    write(site, "mine-1.dist-info/entry_points.txt", "[pytest11]\nmy_plugin = mine\n")
    command = (str(path / ".venv" / "bin" / "python"), "-m", "pytest")
    assert verdicts(run(path, command=command)) == {"test_it": "error"}
    assert verdicts(run(path, command=command, plugins=("my_plugin", "no_such_plugin"))) == {"test_it": "passed"}


def test_an_environment_that_is_linked_to_the_users_checkout_tests_this_one(tmp_path: Path) -> None:
    root, checkout = tmp_path / "root", tmp_path / "root" / ".treadle" / "local" / "lane"
    body = (
        "import subprocess, sys, thing\n"
        "def test_here(): assert thing.VALUE == 'checkout'\n"
        "def test_below():\n"
        "    command = [sys.executable, '-c', 'import thing; print(thing.VALUE)']\n"
        "    assert subprocess.check_output(command, text=True).strip() == 'checkout'\n"
    )
    for folder, value in ((root, "root"), (checkout, "checkout")):
        project(folder, src__thing=f"VALUE = {value!r}\n", tests__test_thing=body)
    environment(root, root / "src")
    command = (str(root / ".venv" / "bin" / "python"), "-m", "pytest")
    ran = asyncio.run(pytest_of(root, command=command).test(checkout))
    assert verdicts(ran) == {"test_here": "passed", "test_below": "passed"}, ran.output
    assert ran.is_green
    write(checkout, "src/thing.py", "from root_thing import *\nVALUE = 'checkout'\n")
    write(root, "src/root_thing.py", "")
    write(checkout, "conftest.py", f"import sys\nsys.path.append({str(root / 'src')!r})\n")
    assert "root_thing" in str(asyncio.run(pytest_of(root, command=command).test(checkout)).problems)


FINDER = """\
import sys
from importlib.machinery import PathFinder

MAPPING = {mapping!r}


class Finder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        parent, _, _ = name.rpartition(".")
        folder = MAPPING.get(name, "").rpartition("/")[0] or MAPPING.get(parent, "")
        return PathFinder.find_spec(name, [folder]) if folder else None


sys.meta_path.append(Finder)
"""
"""As setuptools writes them for packages whose folders are no usual ones."""


def test_finders_of_editable_installs_import_from_the_checkout(tmp_path: Path) -> None:
    root, checkout = tmp_path / "root", tmp_path / "root" / ".treadle" / "local" / "lane"
    body = (
        "import importlib.util, subprocess, sys, thing\n"
        "def test_here(): assert thing.VALUE == 'checkout'\n"
        "def test_gone(): assert importlib.util.find_spec('thing.gone') is None\n"
        "def test_below():\n"
        "    command = [sys.executable, '-c', 'import thing; print(thing.VALUE)']\n"
        "    assert subprocess.check_output(command, text=True).strip() == 'checkout'\n"
    )
    for folder, value in ((root, "root"), (checkout, "checkout")):
        project(folder, tests__test_thing=body)
        write(folder, "lib/thing/__init__.py", f"VALUE = {value!r}\n")
    write(root, "lib/thing/gone.py", "")
    site = environment(root)
    write(site, "__editable___thing_finder.py", FINDER.format(mapping={"thing": str(root / "lib" / "thing")}))
    write(site, "__editable__.thing.pth", "import __editable___thing_finder\n")
    command = (str(root / ".venv" / "bin" / "python"), "-m", "pytest")
    ran = asyncio.run(pytest_of(root, command=command).test(checkout))
    assert verdicts(ran) == dict.fromkeys(("test_here", "test_gone", "test_below"), "passed"), ran.output
    assert ran.is_green


def test_a_module_that_only_the_users_checkout_has_by_that_name_is_no_proof(tmp_path: Path) -> None:
    """The finder gives the folder another name: nothing on a path can stand for that, so the run is not believed."""
    root, checkout = tmp_path / "root", tmp_path / "root" / ".treadle" / "local" / "lane"
    for folder in (root, checkout):
        project(folder, test_it="import thing\ndef test_it(): assert thing.VALUE == 3\n")
        write(folder, "lib/other/__init__.py", "VALUE = 3\n")
    site = environment(root)
    file = str(root / "lib" / "other" / "__init__.py")
    finder = (
        "import sys\nfrom importlib.util import spec_from_file_location\n"
        "class Finder:\n    @classmethod\n    def find_spec(cls, name, path=None, target=None):\n"
        f"        return spec_from_file_location(name, {file!r}) if name == 'thing' else None\n"
        "sys.meta_path.append(Finder)\n"
    )
    write(site, "finder.py", finder)
    write(site, "finder.pth", "import finder\n")
    command = (str(root / ".venv" / "bin" / "python"), "-m", "pytest")
    ran = asyncio.run(pytest_of(root, command=command).test(checkout))
    assert (ran.foreign, ran.is_believable) == (("thing",), False)
    assert [one.data["code"] for one in reason_for_doubt(ran)] == ["env.editable"]


def test_compiled_files_of_the_checkout_are_not_believed(tmp_path: Path) -> None:
    path = project(
        tmp_path,
        thing="def value():\n    return 'lie'\n",
        test_it="import thing\ndef test_it(): assert thing.value() == 'lie'\n",
    )
    compiling = "import py_compile as p; p.compile('thing.py', invalidation_mode=p.PycInvalidationMode.UNCHECKED_HASH)"
    subprocess.run([sys.executable, "-c", compiling], cwd=path, check=True)
    write(path, "thing.py", "def value():\n    return 'truth'\n")
    assert verdicts(run(path)) == {"test_it": "failed"}


def test_no_tests_and_no_program(tmp_path: Path) -> None:
    empty = run(project(tmp_path))
    [none_ran] = empty.problems
    assert "no tests" in none_ran
    assert (empty.exit, empty.is_green) == (5, False)
    missing = run(tmp_path, command=("no-such-python", "-m", "pytest"))
    assert (missing.ended, missing.exit, missing.is_believable) == ("missing", None, False)
    assert "no-such-python" in missing.problems[0]
    silent = run(tmp_path, command=(sys.executable, "-c", "pass"))
    [unloaded] = silent.problems
    assert [it for it in ("witness", "pytest 7", "Python 3.8") if it not in unloaded] == []
    assert not silent.is_green


def test_each_run_names_its_isolation(tmp_path: Path) -> None:
    body = (
        "import socket\ndef test_loopback():\n"
        "    with socket.create_server(('127.0.0.1', 0)) as server:\n"
        "        socket.create_connection(server.getsockname()).close()\n"
    )
    ran = run(project(tmp_path, test_it=body))
    assert verdicts(ran) == {"test_loopback": "passed"}, ran.output
    assert ran.isolation
    assert any("socket" in note and "test_it.py::test_loopback" in note for note in ran.noted)
    assert ran.tampering == ()
    assert ran.command[:3] == PYTEST
    assert os.fspath(tmp_path) in " ".join(ran.command)


def test_garbage_collection_is_on_while_project_code_runs(tmp_path: Path) -> None:
    text = """
import gc, weakref

LOADED = gc.isenabled()

class Ring:
    def __init__(self): self.me = self

def test_collected():
    ring = weakref.ref(Ring())
    gc.collect()
    assert (LOADED, gc.isenabled(), ring()) == (True, True, None)
"""
    ran = run(project(tmp_path, tests__test_garbage=text))
    assert ran.is_green, ran.output


def test_tests_are_counted_while_they_run(tmp_path: Path) -> None:
    heard: list[tuple[int, int]] = []
    path = project(tmp_path, tests__test_calc="def test_a(): pass\ndef test_b(): pass\n")
    token = COUNT.set(lambda done, tests: heard.append((done, tests)))
    try:
        run(path)
    finally:
        COUNT.reset(token)
    assert heard[-1] == (2, 2)
    assert heard == sorted(heard)
