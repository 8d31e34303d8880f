"""Folders that are read once: whatever is done in one afterwards is seen, even if its times are set back."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from treadle.git.folders import Held, held


def settled(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Held:
    """What it holds, once that is remembered."""
    monkeypatch.setattr("treadle.git.folders._SETTLED", 50_000_000)
    while (found := held(str(folder), "a/")) is not held(str(folder), "a/"):
        pass
    return found


def made(folder: Path) -> Path:
    (folder / "below").mkdir(parents=True)
    (folder / "one.py").write_text("1\n")
    (folder / "link").symlink_to("below")
    return folder


@pytest.mark.parametrize(
    ("bend", "files", "below"),
    [
        (lambda folder: (folder / "new.py").touch(), {"a/one.py", "a/link", "a/new.py"}, {"below"}),
        (lambda folder: (folder / "one.py").unlink(), {"a/link"}, {"below"}),
        (lambda folder: (folder / "one.py").rename(folder / "two.py"), {"a/two.py", "a/link"}, {"below"}),
        (lambda folder: (folder / "below").rename(folder.parent / "out"), {"a/one.py", "a/link"}, set()),
        (lambda folder: ((folder / "link").unlink(), (folder / "link").mkdir()), {"a/one.py"}, {"below", "link"}),
        (lambda folder: (folder.rename(folder.parent / "old"), folder.mkdir()), set(), set()),
    ],
)
def test_a_change_is_seen_though_times_are_set_back(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    bend: Callable[[Path], object],
    files: set[str],
    below: set[str],
) -> None:
    folder = made(tmp_path / "folder")
    before = settled(folder, monkeypatch)
    assert (set(before.files), before.folders) == ({"a/one.py", "a/link"}, ("below",))
    times = folder.stat()
    bend(folder)
    os.utime(folder, ns=(times.st_atime_ns, times.st_mtime_ns))
    after = held(str(folder), "a/")
    assert (set(after.files), set(after.folders)) == (files, below)


def test_a_folder_that_was_changed_just_now_is_read_again(tmp_path: Path) -> None:
    folder = str(made(tmp_path / "folder"))
    assert held(folder, "") is not held(folder, "")


def test_no_more_is_remembered_than_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = made(tmp_path / "one"), made(tmp_path / "other")
    found = settled(one, monkeypatch)
    settled(other, monkeypatch)
    assert held(str(one), "a/") is found
    monkeypatch.setattr("treadle.git.folders._REMEMBERED", 1)
    settled(made(tmp_path / "third"), monkeypatch)
    assert held(str(one), "a/") is not found
