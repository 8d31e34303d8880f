"""What the record of a conversation tells."""

import os
from pathlib import Path

import pytest

from treadle.hooks.session import names_folder, start_time


@pytest.fixture
def record(tmp_path: Path) -> Path:
    path = tmp_path / "record.jsonl"
    path.write_text('{"type":"mode"}\n{"timestamp":"2026-02-13T14:30:00.500Z","text":"work in /p/lane-1, then stop"}\n')
    return path


def test_the_start_is_read_from_the_first_timestamp(record: Path) -> None:
    assert start_time(str(record)) == 1770993000.5


@pytest.mark.parametrize("text", ["", "{}", '{"timestamp":"2026-99-99T00:00:00Z"}', '{"timestamp":"----------"}'])
def test_a_transcript_without_a_valid_time_has_no_start(tmp_path: Path, text: str) -> None:
    (tmp_path / "r").write_text(text)
    assert start_time(str(tmp_path / "r")) is None


@pytest.mark.parametrize(("folder", "is_named"), [("/p/lane-1", True), ("/p/lane", False), ("/p/lane-10", False)])
def test_a_folder_is_matched_by_its_full_name(record: Path, folder: str, is_named: bool) -> None:
    assert names_folder(str(record), Path(folder)) is is_named


def test_a_name_may_lie_across_two_pieces(tmp_path: Path) -> None:
    (tmp_path / "r").write_bytes(b"x" * (1024 * 1024 - 3) + b"/p/lane-1 " + b"x" * 10)
    assert names_folder(str(tmp_path / "r"), Path("/p/lane-1"))


def test_a_transcript_that_is_no_plain_file_has_no_start(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for odd in ("", "/nowhere", str(tmp_path), str(tmp_path / "pipe"), "a\0b"):
        assert start_time(odd) is None
        assert not names_folder(odd, tmp_path)
