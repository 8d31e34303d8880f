"""What commands write, and what they say where nothing can be written."""

import os
from pathlib import Path

import pytest

from treadle.cli.files import write_again, write_folder, write_new
from treadle.errors import TreadleError

LONG = "a" * 256


@pytest.mark.parametrize("name", [LONG, f"{LONG}/x"])
def test_a_name_that_is_too_long_is_an_error_of_whoever_gave_it(tmp_path: Path, name: str) -> None:
    with pytest.raises(TreadleError, match="cannot be written: "):
        write_new(tmp_path / name, "text")
    with pytest.raises(TreadleError, match="cannot be written: "):
        write_again(tmp_path / name, "text", lambda _: True)
    with pytest.raises(TreadleError, match="cannot be written: "):
        write_folder(tmp_path / name, {"file": "text"})
    assert list(tmp_path.iterdir()) == []


def test_the_longest_name_that_there_can_be(tmp_path: Path) -> None:
    write_new(tmp_path / LONG[:255], "text")
    write_again(tmp_path / LONG[:255], "more", lambda text: text == "text")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["more"]


def test_nobody_is_waited_for_at_the_end_of_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(TreadleError, match="pipe cannot be written: No such device or address"):
        write_again(tmp_path / "pipe", "text", lambda _: True)
    reading = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_again(tmp_path / "pipe", "text", lambda _: True)
    assert os.read(reading, 100) == b"text"
    os.close(reading)
