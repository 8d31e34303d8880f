"""Projects that bend the verdict: none of them may come out green."""

import asyncio
from pathlib import Path

import pytest

from tests.toolchains.projects import project, pytest_of, run, verdicts
from treadle.toolchains.results import MAX_OUTPUT, TestRun
from treadle.toolchains.sandbox import NONE

FAILING = "import thing\ndef test_a(): assert thing.VALUE == 1\ndef test_b(): assert thing.VALUE == 2\n"
"""Both cannot be right."""

HOOKS = "import pytest\n@pytest.hookimpl({how})\ndef {hook}:\n{body}\n"


def hook(signature: str, *body: str, how: str = "tryfirst=True") -> str:
    return HOOKS.format(how=how, hook=signature, body="\n".join(f"    {line}" for line in body))


FAKE_REPORT = """
import os, sys
path = next(word for word in sys.argv if word.startswith("--junit-xml=")).partition("=")[2]
with open(path, "w") as file:
    file.write('<testsuites><testsuite name="pytest"><testcase classname="test_it" name="test_a"/>'
               '<testcase classname="test_it" name="test_b"/></testsuite></testsuites>')
"""
PATCHED_RUNNER = """
import _pytest.runner as runner
real = runner.TestReport.from_item_and_call.__func__
def lie(cls, item, call):
    call.excinfo = None
    return real(cls, item, call)
runner.TestReport.from_item_and_call = classmethod(lie)
VALUE = 1
"""
PATCHED_CODE = """
import _pytest.python as python
def lie(pyfuncitem): return True
python.pytest_pyfunc_call.__code__ = lie.__code__
VALUE = 1
"""
FORGED_LINE = """
import os
VALUE = 1
for file in map(int, os.listdir("/proc/self/fd")):
    try:
        if file > 2 and os.readlink(f"/proc/self/fd/{file}").startswith("pipe:"):
            os.write(file, b'0 {"what": "phase", "id": "test_it.py::test_b", "when": "call"}\\n')
    except OSError:
        pass
"""

# By name: the implementation, the file of hooks, and what the run must say.
LIES = {
    "exit at import": ("import os; os._exit(0)", "", "before the run did"),
    "exit in a test": (
        "import os\nclass V:\n    def __eq__(self, other): os._exit(0)\nVALUE = V()",
        "",
        "before the run did",
    ),
    "exit by a name": (
        "class V:\n    def __eq__(self, other): return False\n    def __repr__(self): raise SystemExit(0)\nVALUE = V()",
        "",
        "begun and ended without having been run",
    ),
    "exit by a replaced program": ("import os; os.execv('/bin/true', ['true'])", "", "before the run did"),
    "a fake report": (f"{FAKE_REPORT}\nos._exit(0)", "", "before the run did"),
    "a patched runner": (PATCHED_RUNNER, "", "a canary that must be failed was passed"),
    "exchanged code": (PATCHED_CODE, "", "a canary that must be failed was passed"),
    "a forged line": (FORGED_LINE, "", "something other than the witness"),
    "a hook that ends the call": (
        "VALUE = 1",
        hook("pytest_runtest_call(item)", "try:", "    yield", "except BaseException:", "    pass", how="wrapper=True"),
        "a canary that must be failed was passed",
    ),
    "a hook that calls nothing": ("VALUE = 1", hook("pytest_pyfunc_call(pyfuncitem)", "return True"), "a canary"),
    "a hook that mends reports": (
        "VALUE = 1",
        hook(
            "pytest_runtest_makereport(item, call)",
            "report = yield",
            "report.outcome = 'passed'",
            "return report",
            how="wrapper=True",
        ),
        "test_it.py::test_b failed in call and was reported as passed",
    ),
    "a hook that mends them later": (
        "VALUE = 1",
        hook("pytest_runtest_logreport(report)", "report.outcome = 'passed'"),
        "test_it.py::test_b was failed in call and was then made passed",
    ),
    "a hook that skips the protocol": (
        "VALUE = 1",
        hook("pytest_runtest_protocol(item, nextitem)", "return True"),
        "was begun and ended without having been run",
    ),
    "a hook that runs nothing": ("VALUE = 1", hook("pytest_runtestloop(session)", "return True"), "never ran"),
    "another exit code": (
        "VALUE = 1",
        hook("pytest_sessionfinish(session)", "session.exitstatus = 0", how="trylast=True"),
        "by the results of the tests the exit code would be 1, and it is 0",
    ),
    "another exit code at the very end": (
        "import atexit, os\natexit.register(os._exit, 0)\nVALUE = 1",
        "",
        "pytest announced exit code 1, and the process ended with 0",
    ),
    "a killed process": ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "", "killed"),
}


@pytest.mark.parametrize("name", LIES)
def test_a_manipulated_run_is_never_green(tmp_path: Path, name: str) -> None:
    implementation, hooks, reason = LIES[name]
    ran = run(project(tmp_path, thing=implementation, test_it=FAILING, conftest=hooks))
    assert any(reason in text for text in ran.bent), (ran.bent, ran.problems, ran.tests, ran.output)
    assert not ran.is_believable
    assert not ran.is_green


def test_a_test_that_a_hook_made_fail_is_not_red(tmp_path: Path) -> None:
    body = ("report = yield", "report.outcome = 'failed' if call.when == 'call' else report.outcome", "return report")
    hooks = hook("pytest_runtest_makereport(item, call)", *body, how="wrapper=True")
    ran = run(project(tmp_path, test_it="def test_a(): pass\n", conftest=hooks))
    test = ran.tests["test_it.py::test_a"]
    assert (test.verdict, test.kind, test.is_red) == ("failed", "hook", False)


def test_a_module_that_ends_the_process_at_import_is_named(tmp_path: Path) -> None:
    ran = run(project(tmp_path, thing="import sys\n\nsys.exit(0)\n", test_it=FAILING))
    test = ran.tests["test_it.py"]
    assert (test.verdict, test.kind) == ("error", "exit")
    assert test.message.startswith("thing.py:3 ")
    assert "SystemExit: 0" in test.message
    assert not ran.is_green


@pytest.fixture(scope="module")
def suspicious(tmp_path_factory: pytest.TempPathFactory) -> TestRun:
    """Tests that pass honestly, and do along the way what code under test has seldom a reason to do."""
    body = """
    import ctypes, gc, os, subprocess, sys, threading, builtins, pytest
    def test_frames(): assert sys._getframe(0)
    def test_objects(): assert gc.get_objects()
    def test_library(): assert ctypes.CDLL(None)
    def test_files(): assert os.listdir("/proc/self/fd")
    def test_program(): subprocess.run(["true"], check=True)
    def test_report():
        folder = next(word for word in sys.argv if word.startswith("--junit-xml=")).partition("=")[2]
        assert not os.path.exists(folder)
        threading.Thread(target=lambda: open(folder, "w").close()).start()
    def test_import():
        real = builtins.__import__
        builtins.__import__ = lambda *a, **k: real(*a, **k)
    def test_exit(monkeypatch):
        monkeypatch.setattr(sys, "exit", None)
        sys.exit = lambda *a: None
    def test_child():
        child = os.fork()
        if child == 0:
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    """
    path = project(tmp_path_factory.mktemp("suspicious"), test_it="\n".join(line[4:] for line in body.splitlines()))
    return run(path)


@pytest.mark.parametrize(
    "text",
    [
        "sys._getframe was called by test_it.py:3 (in test_it.py::test_frames)",
        "gc.get_objects was called by test_it.py:4 (in test_it.py::test_objects)",
        "ctypes opened a library by test_it.py:5 (in test_it.py::test_library)",
        "/proc/self/fd was opened (in test_it.py::test_files)",
        "the folder of the report was opened (in test_it.py::test_report)",
        "builtins.__import__ is no longer what it was",
    ],
)
def test_suspected_tampering_is_reported(suspicious: TestRun, text: str) -> None:
    assert text in suspicious.tampering


def test_suspected_tampering_leaves_the_verdicts_unchanged(suspicious: TestRun) -> None:
    assert set(verdicts(suspicious).values()) == {"passed"}, suspicious.output
    assert (suspicious.bent, suspicious.problems) == ((), ())
    assert any("program" in note and "test_it.py::test_program" in note for note in suspicious.noted)
    assert any("forked" in note and "test_it.py::test_child" in note for note in suspicious.noted)
    assert not [text for text in suspicious.tampering if "test_program" in text or "test_child" in text]
    assert not any(text.startswith("sys.exit ") for text in suspicious.tampering), "monkeypatch has undone it"


def test_deselected_tests_are_still_collected(tmp_path: Path) -> None:
    hooks = hook("pytest_collection_modifyitems(items)", "items[:] = items[:1]")
    ran = run(project(tmp_path, conftest=hooks, test_it="def test_a(): pass\ndef test_b(): assert False\n"))
    assert ran.collected == ("test_it.py::test_a", "test_it.py::test_b")
    assert ran.chosen == ("test_it.py::test_a",)


def test_an_exchanged_test_is_reported(tmp_path: Path) -> None:
    thing = "import sys\ndef act():\n    sys.modules['test_it'].test_b.__code__ = (lambda: None).__code__\n"
    body = "import thing\ndef test_a(): thing.act()\ndef test_b(): assert False\n"
    ran = run(project(tmp_path, thing=thing, test_it=body))
    assert "test_it.py::test_b was exchanged after it was collected" in ran.tampering  # `green` reads this line


def test_printed_text_and_odd_objects_do_not_change_a_verdict(tmp_path: Path) -> None:
    thing = """
class Yes:
    def __eq__(self, other): return True
    def __repr__(self): raise ValueError("no name")
class Odd(AssertionError):
    def __str__(self): raise ValueError("no text")
"""
    body = """
import thing, sys
def test_fails():
    print("===== 2 passed in 0.01s =====", file=sys.__stdout__, flush=True)
    assert thing.Yes() != thing.Yes()
def test_odd(): raise thing.Odd()
def test_surrogate(): assert "\\udc80" == "x"
"""
    ran = run(project(tmp_path, thing=thing, test_it=body))
    assert verdicts(ran) == {"test_fails": "failed", "test_odd": "failed", "test_surrogate": "failed"}
    assert ran.bent == ()
    assert {test.kind for test in ran.tests.values()} == {"assertion"}
    assert "2 passed" in ran.output


def test_endless_output_is_cut(tmp_path: Path) -> None:
    body = "import os\ndef test_a(capfd):\n    with capfd.disabled():\n        os.write(1, b'x' * 20_000_000)\n"
    ran = run(project(tmp_path, test_it=body))
    assert verdicts(ran) == {"test_a": "passed"}
    assert "left out" in ran.output
    assert len(ran.output) < MAX_OUTPUT + 200
    assert ran.is_green


def test_a_test_that_cannot_be_interrupted_is_ended_with_the_run_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treadle.toolchains.pytest._GRACE", 0.2)
    body = """
import time
def test_first(): pass
def test_hangs():
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass
def test_never(): pass
"""
    ran = run(project(tmp_path, test_it=body), test_timeout=0.5)
    assert verdicts(ran) == {"test_first": "passed", "test_hangs": "failed"}
    assert ran.tests["test_it.py::test_hangs"].kind == "timeout"
    assert (ran.ended, ran.exit, ran.is_believable) == ("timeout", None, False)
    assert "test_it.py::test_hangs" in ran.problems[0]


def test_a_run_that_hangs_before_its_tests_is_ended(tmp_path: Path) -> None:
    ran = run(project(tmp_path, conftest="import time\ntime.sleep(600)\n", test_it="def test_a(): pass\n"), timeout=3.0)
    assert (ran.ended, len(ran.problems), ran.tests) == ("timeout", 1, {})


@pytest.mark.parametrize("sandbox", [None, NONE], ids=["best sandbox", "no sandbox"])
def test_no_process_outlives_the_run(tmp_path: Path, sandbox: object) -> None:
    mark = tmp_path / "alive"
    body = f"""
import os, subprocess, sys
PROGRAM = '''
import os, signal, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT): signal.signal(number, signal.SIG_IGN)
with open({str(mark)!r}, "w") as file: file.write("yes")
time.sleep(600)
'''
def test_daemon():
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)
    while not os.path.exists({str(mark)!r}): pass
"""
    ran = run(project(tmp_path / "p", test_it=body), sandbox=sandbox)
    assert verdicts(ran) == {"test_daemon": "passed"}, ran.output
    assert mark.read_text() == "yes"
    left = [pid for pid in Path("/proc").iterdir() if pid.name.isdigit() and str(mark) in _command_line(pid)]
    assert left == []


def _command_line(process: Path) -> str:
    try:
        return (process / "cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def test_a_cancelled_run_leaves_no_process_behind(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    body = f"import time\ndef test_a():\n    open({str(mark)!r}, 'w').close()\n    time.sleep(600)\n"
    path = project(tmp_path / "p", test_it=body)

    async def give_up() -> None:
        task = asyncio.create_task(pytest_of(path, sandbox=NONE).test(path))
        while not mark.exists():
            await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(give_up())
    assert [pid for pid in Path("/proc").iterdir() if pid.name.isdigit() and str(path) in _command_line(pid)] == []
