"""Files that strangers put there."""

import os
import socket
import tempfile
from pathlib import Path

import pytest

from treadle.results.faulty import Faulty, faulty
from treadle.results.files import look, mark, remove, replace


def refused(root: Path, name: str) -> str:
    found = look(root, name)
    assert isinstance(found, Faulty)
    return found.problems[0]


def test_a_plain_file(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_bytes(b"x")
    assert look(tmp_path, "a/b") == b"x"


@pytest.mark.parametrize("name", ["none", "none/b", "file/b"])
def test_nothing_there(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_bytes(b"x")
    assert look(tmp_path, name) is None
    assert look(tmp_path / "none", name) is None
    assert mark(tmp_path, name) == ""


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    lane = tmp_path / "lane"
    lane.mkdir()
    (lane / "link").symlink_to(tmp_path / "secret")
    (lane / "self").symlink_to(lane / "self")
    (lane / "folder").symlink_to(tmp_path)
    assert refused(lane, "link") == "link is a symbolic link; write a plain file there"
    assert refused(lane, "self") == "self is a symbolic link; write a plain file there"
    assert look(lane, "folder/secret") is None or "link" in refused(lane, "folder/secret")
    assert "secret" not in mark(lane, "folder/secret")


def test_what_waits_or_floods_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    assert refused(tmp_path, "pipe") == "pipe is no plain file (a pipe, socket or device); write a plain file there"
    assert refused(tmp_path, "folder") == "folder is a folder; write a plain file there"
    assert "no plain file" in refused(Path("/dev"), "zero")
    with tempfile.TemporaryDirectory() as short, socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{short}/s")
        assert "no plain file" in refused(Path(short), "s")


def test_what_cannot_be_opened_is_told(tmp_path: Path) -> None:
    (tmp_path / "self").symlink_to(tmp_path / "self")
    assert refused(tmp_path, "x" * 300).endswith("cannot be read: file name too long")
    assert "is reached through a symbolic link" in refused(tmp_path / "self", "a")
    assert mark(tmp_path, "x" * 300) != ""


def test_fifty_megabytes_are_not_read(tmp_path: Path) -> None:
    with (tmp_path / "big").open("wb") as file:
        file.truncate(50_000_000)
    assert look(tmp_path, "big", limit=1000) == faulty("big has 50000000 bytes, the limit is 1000; shorten it")
    (tmp_path / "full").write_bytes(b"x" * 1000)
    assert look(tmp_path, "full", limit=1000) == b"x" * 1000
    assert look(tmp_path, "full", limit=999) == faulty("full has 1000 bytes, the limit is 999; shorten it")


def test_a_mark_changes_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    seen = [mark(tmp_path, "a")]
    path.write_text("1")
    seen.append(mark(tmp_path, "a"))
    path.write_text("2")
    seen.append(mark(tmp_path, "a"))
    path.unlink()
    path.symlink_to("1")
    seen.append(mark(tmp_path, "a"))
    path.unlink()
    path.mkdir()
    seen.append(mark(tmp_path, "a"))
    assert len(set(seen)) == len(seen)
    assert mark(tmp_path, "a") == seen[-1]


def test_a_mark_is_of_the_contents(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("same")
    before = mark(tmp_path, "a")
    (tmp_path / "a").unlink()
    (tmp_path / "a").write_text("same")
    assert mark(tmp_path, "a") == before


def test_replacing_a_link_leaves_what_it_led_to(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "a").symlink_to("secret")
    replace(tmp_path, "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"
    assert not (tmp_path / "a").is_symlink()
    assert (tmp_path / "secret").read_text() == "secret"


def test_removing_a_link_leaves_what_it_led_to(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "b").write_text("kept")
    lane = tmp_path / "lane"
    lane.mkdir()
    (lane / "a").symlink_to(outside)
    remove(lane, "a/b")
    assert (outside / "b").read_text() == "kept"
    remove(lane, "a")
    assert not (lane / "a").is_symlink()
    remove(lane, "a")
