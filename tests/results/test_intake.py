"""Files and JSON of untrusted writers."""

import json
import os
import socket
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.results.intake import (
    MAX_ANSWER,
    MAX_DEPTH,
    Faulty,
    decode,
    file_mark,
    read_file,
    remove_file,
    replace_file,
)

# Files that strangers put there.


def refused(root: Path, name: str) -> str:
    found = read_file(root, name)
    assert isinstance(found, Faulty)
    return found.problems[0]


def test_a_plain_file(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_bytes(b"x")
    assert read_file(tmp_path, "a/b") == b"x"


@pytest.mark.parametrize("name", ["none", "none/b", "file/b"])
def test_a_missing_file_reads_as_none(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_bytes(b"x")
    assert read_file(tmp_path, name) is None
    assert read_file(tmp_path / "none", name) is None
    assert file_mark(tmp_path, name) == ""


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    lane = tmp_path / "lane"
    lane.mkdir()
    (lane / "link").symlink_to(tmp_path / "secret")
    (lane / "self").symlink_to(lane / "self")
    (lane / "folder").symlink_to(tmp_path)
    assert refused(lane, "link").startswith("link is a symbolic link")
    assert refused(lane, "self").startswith("self is a symbolic link")
    assert read_file(lane, "folder/secret") is None or "link" in refused(lane, "folder/secret")
    assert "secret" not in file_mark(lane, "folder/secret")


def test_pipes_folders_devices_and_sockets_are_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    assert refused(tmp_path, "pipe").startswith("pipe is no plain ")
    assert refused(tmp_path, "folder").startswith("folder is a folder")
    assert "no plain file" in refused(Path("/dev"), "zero")
    with tempfile.TemporaryDirectory() as short, socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{short}/s")
        assert "no plain file" in refused(Path(short), "s")


def test_a_path_that_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    (tmp_path / "self").symlink_to(tmp_path / "self")
    assert refused(tmp_path, "x" * 300).endswith("file name too long")
    assert "symbolic link" in refused(tmp_path / "self", "a")
    assert file_mark(tmp_path, "x" * 300) != ""


def test_fifty_megabytes_are_not_read(tmp_path: Path) -> None:
    with (tmp_path / "big").open("wb") as file:
        file.truncate(50_000_000)
    big = read_file(tmp_path, "big", limit=1000)
    assert isinstance(big, Faulty)
    assert [it for it in ("big ", " 50000000 bytes", " 1000;") if it not in big.problems[0]] == []
    (tmp_path / "full").write_bytes(b"x" * 1000)
    assert read_file(tmp_path, "full", limit=1000) == b"x" * 1000
    full = read_file(tmp_path, "full", limit=999)
    assert isinstance(full, Faulty)
    assert [it for it in ("full ", " 1000 bytes", " 999;") if it not in full.problems[0]] == []


def test_a_mark_changes_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    seen = [file_mark(tmp_path, "a")]
    path.write_text("1")
    seen.append(file_mark(tmp_path, "a"))
    path.write_text("2")
    seen.append(file_mark(tmp_path, "a"))
    path.unlink()
    path.symlink_to("1")
    seen.append(file_mark(tmp_path, "a"))
    path.unlink()
    path.mkdir()
    seen.append(file_mark(tmp_path, "a"))
    assert len(set(seen)) == len(seen)
    assert file_mark(tmp_path, "a") == seen[-1]


def test_a_mark_is_of_the_contents(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("same")
    before = file_mark(tmp_path, "a")
    (tmp_path / "a").unlink()
    (tmp_path / "a").write_text("same")
    assert file_mark(tmp_path, "a") == before


def test_replacing_a_link_leaves_its_target(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "a").symlink_to("secret")
    replace_file(tmp_path, "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"
    assert not (tmp_path / "a").is_symlink()
    assert (tmp_path / "secret").read_text() == "secret"


def test_removing_a_link_leaves_its_target(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "b").write_text("kept")
    lane = tmp_path / "lane"
    lane.mkdir()
    (lane / "a").symlink_to(outside)
    remove_file(lane, "a/b")
    assert (outside / "b").read_text() == "kept"
    remove_file(lane, "a")
    assert not (lane / "a").is_symlink()
    remove_file(lane, "a")


# JSON from strangers.


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is not JSON: expecting value (line 1, column 1)"),
        (b"{'a': 1}", "is not JSON"),
        (b'{"a": \xff}', "is not UTF-8 (byte 6)"),
        (b'{"a": NaN}', "NaN is not a JSON number"),
        (b'{"a": -Infinity}', "-Infinity is not a JSON number"),
        (b'{"x": {"a": 1, "b": 2, "a": 3}}', "'a' appears twice"),
        (b"[" * 100_000, "nested more than 64"),
        (b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), "nested more than 64"),
        (b"9" * 5000, "is not acceptable JSON"),
        (b" " * (MAX_ANSWER + 1), f"the limit is {MAX_ANSWER}"),
    ],
)
def test_malformed_or_excessive_json_is_refused(data: bytes, said: str) -> None:
    found = decode(data, "it")
    assert isinstance(found, Faulty)
    assert said in found.problems[0]


def test_json_at_the_depth_limit_is_accepted() -> None:
    assert isinstance(decode(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH, "it"), list)


def test_a_byte_order_mark_is_no_fault() -> None:
    assert decode(b'\xef\xbb\xbf{"a": 1}', "it") == {"a": 1}


values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(values)
def test_valid_json_decodes_to_its_value(value: Any) -> None:
    assert decode(json.dumps(value).encode(), "it") == value


@given(st.binary())
def test_any_bytes_decode_without_an_error(data: bytes) -> None:
    decode(data, "it")
