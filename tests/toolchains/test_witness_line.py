"""The line to the witness, and test files that change while tests run."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.enclosures.engines import FakeEngine, fake_engine
from tests.toolchains.projects import project, run, verdicts
from treadle.toolchains.pytest import THROUGH_A_PIPE, find_rewritten, stamp_test_files, witness_line


@pytest.fixture(scope="module")
def engine() -> Iterator[FakeEngine]:
    with fake_engine() as found:
        yield found


@pytest.mark.parametrize("is_apart", [False, True])
def test_a_line_ends_when_its_last_writer_closes(tmp_path: Path, is_apart: bool) -> None:
    with witness_line(b"{}", tmp_path, is_apart=is_apart) as line:
        if is_apart:
            assert (line.fds, sorted(it.name for it in Path(line.address).iterdir())) == ((), ["order", "report"])
            assert Path(line.address).stat().st_mode & 0o077 == 0
            writing = os.open(Path(line.address, "report"), os.O_WRONLY | os.O_NONBLOCK)
        else:
            writing = os.dup(line.fds[1])
        line.hang_up()
        os.write(writing, b"said")
        os.close(writing)
        assert (os.read(line.reading, 100), os.read(line.reading, 100)) == (b"said", b"")
        os.close(line.reading)


def test_verdicts_come_out_of_a_container(tmp_path: Path, engine: FakeEngine) -> None:
    path = project(
        tmp_path,
        calc="def add(a, b):\n    return a + b\n",
        tests__test_calc="import os\nfrom calc import add\n"
        "def test_good(): assert add(1, 2) == 3\n"
        "def test_bad(): assert add(1, 2) == 4\n"
        "def test_line():\n"
        "    assert 'TREADLE_WITNESS' not in os.environ\n"
        "    assert not [it for it in os.listdir(os.environ['TMPDIR'] + '/../line')]\n"
        "def test_network(): assert len(open('/proc/self/net/dev').readlines()) == 3\n",
    )
    ran = run(path, sandbox=engine.container())
    assert verdicts(ran) == {
        "test_good": "passed",
        "test_bad": "failed",
        "test_line": "passed",
        "test_network": "passed",
    }
    assert (ran.exit, ran.problems, ran.bent, ran.tampering) == (1, (), (), ())
    assert THROUGH_A_PIPE in ran.limits
    assert ran.isolation.startswith("container of here (ab12ab12ab12, docker)")
    assert "--network none" in " ".join(engine.told("run")[-1])
    assert not engine.running()


def test_an_early_end_inside_is_not_green(tmp_path: Path, engine: FakeEngine) -> None:
    path = project(tmp_path, test_a="def test_a(): pass\ndef test_b():\n    import os\n    os._exit(0)\n")
    ran = run(path, sandbox=engine.container())
    assert ran.bent
    assert ran.tests["test_a.py::test_b"].verdict == "failed"


def test_without_a_line_out_there_is_no_witness_and_no_green_run(tmp_path: Path, engine: FakeEngine) -> None:
    """As where the engine runs in a virtual machine: what is at the end of the pipe is on another kernel."""
    path = project(tmp_path, test_a="def test_a(): pass\n")
    (tmp_path / "pytest-without-line").write_text(
        f'#!{os.path.realpath("/bin/sh")}\nrm $TREADLE_WITNESS/report; exec "$@"\n'
    )
    (tmp_path / "pytest-without-line").chmod(0o755)
    command = (str(tmp_path / "pytest-without-line"), sys.executable, "-m", "pytest")
    ran = run(path, sandbox=engine.container(), command=command)
    assert any("witness" in problem for problem in ran.problems)
    assert not ran.tests


def test_a_run_that_takes_too_long_leaves_no_container(tmp_path: Path, engine: FakeEngine) -> None:
    path = project(tmp_path, test_a="import time\ndef test_a(): time.sleep(60)\n")
    ran = run(path, sandbox=engine.container(), timeout=3.0, test_timeout=60.0)
    assert (ran.exit, ran.ended) == (None, "timeout")
    assert not engine.running()


TEST = "def test_a():\n    assert False\n"


def edited(path: Path) -> None:
    before = path.stat()
    path.write_text(TEST.replace("False", "1 > 0"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def exchanged(path: Path) -> None:
    other = path.with_name("other")
    other.write_text(TEST)
    other.replace(path)


@pytest.mark.parametrize("change", [edited, exchanged, Path.unlink])
def test_a_test_file_that_was_touched_is_named(tmp_path: Path, change: object) -> None:
    project(tmp_path, tests__test_a=TEST, src__thing="", conftest="")
    before = stamp_test_files(tmp_path)
    assert find_rewritten(tmp_path, before) == []

    assert callable(change)
    change(tmp_path / "tests" / "test_a.py")

    [rewritten] = find_rewritten(tmp_path, before)
    assert rewritten.startswith("tests/test_a.py ")


def test_changes_to_code_data_and_new_files_are_no_rewritten_tests(tmp_path: Path) -> None:
    project(tmp_path, tests__test_a=TEST, src__thing="")
    (tmp_path / "tests" / "snapshot.txt").write_text("1")
    before = stamp_test_files(tmp_path)
    (tmp_path / "tests" / "snapshot.txt").write_text("2")
    project(tmp_path, tests__made="", src__thing="VALUE = 1\n")
    assert find_rewritten(tmp_path, before) == []


def test_a_run_in_which_a_test_was_rewritten_is_bent(tmp_path: Path) -> None:
    cheat = "from pathlib import Path\nPath(__file__).with_name('test_b.py').write_text('def test_b(): pass\\n')\n"
    project(tmp_path, thing=cheat, test_a="import thing\ndef test_a(): pass\n", test_b="def test_b(): assert False\n")
    ran = run(tmp_path)
    [bent] = ran.bent
    assert bent.startswith("test_b.py was rewritten")
    assert not ran.is_green
