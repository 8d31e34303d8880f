"""Test files that somebody rewrites while tests run."""

import os
from pathlib import Path

import pytest

from tests.toolchains.projects import project, run
from treadle.toolchains.rewritten import rewritten, stamps

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
    before = stamps(tmp_path)
    assert rewritten(tmp_path, before) == []

    assert callable(change)
    change(tmp_path / "tests" / "test_a.py")

    assert rewritten(tmp_path, before) == ["tests/test_a.py was rewritten while the tests ran"]


def test_code_data_and_new_files_are_nobodys_business(tmp_path: Path) -> None:
    project(tmp_path, tests__test_a=TEST, src__thing="")
    (tmp_path / "tests" / "snapshot.txt").write_text("1")
    before = stamps(tmp_path)
    (tmp_path / "tests" / "snapshot.txt").write_text("2")
    project(tmp_path, tests__made="", src__thing="VALUE = 1\n")
    assert rewritten(tmp_path, before) == []


def test_a_run_in_which_a_test_was_rewritten_is_bent(tmp_path: Path) -> None:
    cheat = "from pathlib import Path\nPath(__file__).with_name('test_b.py').write_text('def test_b(): pass\\n')\n"
    project(tmp_path, thing=cheat, test_a="import thing\ndef test_a(): pass\n", test_b="def test_b(): assert False\n")
    ran = run(tmp_path)
    assert ran.bent == ("test_b.py was rewritten while the tests ran",)
    assert not ran.is_green
