"""Output that grows, is put aside, and is not what it seems."""

import os
from pathlib import Path

import pytest

from treadle.agents.tail import MAX_LINE, MAX_READ, Tail, end_of, last_line


def add(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_a_tail_follows_a_log_into_its_next_file(tmp_path: Path) -> None:
    path = tmp_path / "log"
    tail = Tail(path)
    assert tail.read() == b""
    add(path, b"one")
    assert tail.read() == b"one"
    assert tail.read() == b""
    add(path, b"two")
    path.replace(tmp_path / "log.old")
    add(path, b"three")
    assert tail.read() == b"twothree"
    tail.close()
    tail.close()


def test_a_tail_takes_a_bounded_amount_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "log"
    add(path, b"x" * (MAX_READ + 5))
    tail = Tail(path)
    assert [len(tail.read()) for _ in range(3)] == [MAX_READ, 5, 0]
    tail.close()


def test_what_only_looks_like_a_log_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "link", "folder", "nothing"):
        assert Tail(tmp_path / name).read() == b""
        assert end_of(tmp_path / name) == b""


def test_a_log_that_is_replaced_by_a_link_is_left(tmp_path: Path) -> None:
    path = tmp_path / "log"
    add(path, b"one")
    tail = Tail(path)
    assert tail.read() == b"one"
    path.unlink()
    assert tail.read() == b""
    path.symlink_to("/etc/passwd")
    assert tail.read() == b""


def test_the_end_of_a_log_reaches_back_into_the_file_before(tmp_path: Path) -> None:
    add(tmp_path / "log.old", b"abc")
    add(tmp_path / "log", b"def")
    assert [end_of(tmp_path / "log", limit) for limit in (2, 3, 5, 9)] == [b"ef", b"def", b"bcdef", b"abcdef"]


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"", ""),
        (b"\n \n", ""),
        (b"one\ntwo\n\n", "two"),
        (b"10%\r20%\r30%", "30%"),
        (b"\x1b[1;31mred\x1b[0m\x07", "red"),
        (b"\x1b]0;title\x07text", "text"),
        ("a\u202eb\u200bc".encode(), "abc"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"x" * 5000, "x" * MAX_LINE),
    ],
)
def test_the_last_line(data: bytes, line: str) -> None:
    assert last_line(data) == line
