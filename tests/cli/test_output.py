"""The output of commands: text that does nothing to a terminal, narrow tables, files, and quoted words."""

import json
import os
import shlex
from pathlib import Path

import pytest

from tests.refusals import refused
from treadle.cli.guard import quote_word
from treadle.cli.output import (
    narrow_tables,
    print_json,
    print_json_line,
    print_markdown,
    print_table,
    print_text,
    write_again,
    write_folder,
    write_new,
)

HOSTILE = "\x1b[31mred\x07 \u202e\x9b2J \U000e0041"
HARMLESS = "␛[31mred␇ ⟨U+202E⟩⟨U+009B⟩2J ⟨U+E0041⟩"


def test_text_is_written_out(capsys: pytest.CaptureFixture[str]) -> None:
    print_text(f"{HOSTILE}\nnext")
    assert capsys.readouterr().out == f"{HARMLESS}\nnext\n"
    print_markdown(HOSTILE)
    assert capsys.readouterr().out == f"{HARMLESS}\n"


def test_cells_are_written_out(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("Name",), [(HOSTILE,)])
    assert "⟨U+202E⟩" in (out := capsys.readouterr().out)
    assert all(letter.isprintable() or letter == "\n" for letter in out)


@pytest.mark.parametrize("prints", [print_json, print_json_line])
def test_json_escapes_control_characters_and_keeps_the_value(
    prints: object, capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(prints)
    prints({"title": HOSTILE})
    out = capsys.readouterr().out
    assert all(letter.isprintable() or letter == "\n" for letter in out)
    assert json.loads(out) == {"title": HOSTILE}


TABLE = "# Title\n\n| A | B | C |\n| --- | --- | --- |\n| x | 1 \\| 2 | |\n| | 3 | 4 |\n"


def test_a_table_that_fits_is_left_alone() -> None:
    assert narrow_tables(TABLE, 80) == TABLE


def test_a_table_that_does_not_fit_becomes_a_list_without_empty_cells() -> None:
    assert narrow_tables(TABLE, 20) == ("# Title\n\n- **x**\n    - B: 1 \\| 2\n- **x**\n    - B: 3\n    - C: 4\n")


LONG = "a" * 256


@pytest.mark.parametrize("name", [LONG, f"{LONG}/x"])
def test_a_name_that_is_too_long_is_refused(tmp_path: Path, name: str) -> None:
    with refused("file.unwritable"):
        write_new(tmp_path / name, "text")
    with refused("file.unwritable"):
        write_again(tmp_path / name, "text", lambda _: True)
    with refused("file.unwritable"):
        write_folder(tmp_path / name, {"file": "text"})
    assert list(tmp_path.iterdir()) == []


def test_the_longest_name_that_there_can_be(tmp_path: Path) -> None:
    write_new(tmp_path / LONG[:255], "text")
    write_again(tmp_path / LONG[:255], "more", lambda text: text == "text")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["more"]


def test_a_pipe_without_a_reader_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with refused("file.unwritable", "pipe", "No such device or address"):
        write_again(tmp_path / "pipe", "text", lambda _: True)
    reading = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_again(tmp_path / "pipe", "text", lambda _: True)
    assert os.read(reading, 100) == b"text"
    os.close(reading)


@pytest.mark.parametrize("text", ["v3", "my spec.yaml", "it's", "a;b", "$HOME", "-"])
def test_a_quoted_word_stays_one_word_in_a_shell(text: str) -> None:
    assert shlex.split(quote_word(text)) == [text]
    assert shlex.split(quote_word(Path(text))) == [text]


def test_a_quoted_file_name_never_looks_like_an_option() -> None:
    assert quote_word("-x.yaml") == "./-x.yaml"
