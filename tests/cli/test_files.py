"""What commands write, and what they say where nothing can be written."""

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
