"""Folders that are read once: whatever is done in one afterwards is seen, even if its times are set back."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from treadle.git.files import FolderListing, list_folder, scan
from treadle.git.globs import matches


def settled(folder: Path, monkeypatch: pytest.MonkeyPatch) -> FolderListing:
    """What it holds, once that is remembered."""
    monkeypatch.setattr("treadle.git.files._SETTLED", 50_000_000)
    while (found := list_folder(str(folder), "a/")) is not list_folder(str(folder), "a/"):
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
    after = list_folder(str(folder), "a/")
    assert (set(after.files), set(after.folders)) == (files, below)


def test_a_folder_that_was_changed_just_now_is_read_again(tmp_path: Path) -> None:
    folder = str(made(tmp_path / "folder"))
    assert list_folder(folder, "") is not list_folder(folder, "")


def test_remembered_folders_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = made(tmp_path / "one"), made(tmp_path / "other")
    found = settled(one, monkeypatch)
    settled(other, monkeypatch)
    assert list_folder(str(one), "a/") is found
    monkeypatch.setattr("treadle.git.files._REMEMBERED", 1)
    settled(made(tmp_path / "third"), monkeypatch)
    assert list_folder(str(one), "a/") is not found


# What lies in a lane: links that lead out, and what is odd under a name that was known.


@pytest.mark.parametrize(
    ("links", "out"),
    [
        ({"a": "b"}, []),
        ({"src/a": "../b"}, []),
        ({"src/a": ".."}, []),
        ({"a": "/etc/passwd"}, ["a"]),
        ({"a": "//etc"}, ["a"]),
        ({"a": ".."}, ["a"]),
        ({"src/a": "../../b"}, ["src/a"]),
        ({"a": "src/./..//../b"}, ["a"]),
        ({"a": ".git/config"}, ["a"]),
        ({"src/a": "../.GIT"}, ["src/a"]),
        ({"src/up": "..", "src/out": "up/.."}, ["src/out"]),
        ({"src/up": "..", "src/b": "up/src/a"}, []),
        ({"src/deep/up": "../..", "src/deep/out": "up/../x"}, ["src/deep/out"]),
        ({"a": "b", "b": "c", "c": "../x"}, ["a", "b", "c"]),
        ({"a": "b", "b": "a"}, ["a", "b"]),
    ],
)
def test_links_that_lead_out_alone_or_together_are_odd(tmp_path: Path, links: dict[str, str], out: list[str]) -> None:
    (tmp_path / "src" / "deep").mkdir(parents=True)
    for path, to in links.items():
        (tmp_path / path).symlink_to(to)

    found = scan(tmp_path)

    assert sorted(one.path for one in found.findings if one.kind == "link") == out
    assert set(found.files) == set(links)


def test_a_known_name_vouches_for_plain_files_only(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("four")
    (tmp_path / "new").write_text("four")
    (tmp_path / "link").symlink_to("/etc")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    known = {"file", "link", "folder", "pipe", "gone"}

    found = scan(tmp_path, known)

    assert found.files == {"file": 0, "new": 4, "link": 4}
    assert sorted((one.kind, one.path) for one in found.findings) == [("link", "link"), ("special", "pipe")]


# Globs as scopes use them.


@pytest.mark.parametrize(
    ("path", "globs", "expected"),
    [
        ("src/a.py", ["src/**"], True),
        ("src/deep/a.py", ["src/**"], True),
        ("src", ["src/**"], False),
        ("src", ["src"], True),
        ("src/a.py", ["src/*.py"], True),
        ("src/deep/a.py", ["src/*.py"], False),
        ("a/tests/b.py", ["**/tests/**"], True),
        ("tests/b.py", ["**/tests/**"], True),
        ("src/a.py", ["src/**", "!src/a.py"], False),
        ("src/a.py", ["!src/a.py"], False),
        ("a.py", ["?.py"], True),
        ("a[1].py", ["a[1].py"], True),
        ("a1.py", ["a[1].py"], False),
        ("x\ny", ["**"], True),
        ("src/a.py", ["./src/"], False),
        ("src/x_test.py", ["**/*_test.py"], True),
    ],
)
def test_globs_match_paths(path: str, globs: list[str], expected: bool) -> None:
    assert matches(path, globs) is expected
