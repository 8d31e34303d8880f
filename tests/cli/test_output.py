"""Nothing that is printed acts on a terminal, whatever it was made from."""

import json

import pytest

from treadle.cli.output import print_json, print_json_line, print_markdown, print_table, say

HOSTILE = "\x1b[31mred\x07 \u202e\x9b2J \U000e0041"
HARMLESS = "␛[31mred␇ ⟨U+202E⟩⟨U+009B⟩2J ⟨U+E0041⟩"


def test_text_is_written_out(capsys: pytest.CaptureFixture[str]) -> None:
    say(f"{HOSTILE}\nnext")
    assert capsys.readouterr().out == f"{HARMLESS}\nnext\n"
    print_markdown(HOSTILE)
    assert capsys.readouterr().out == f"{HARMLESS}\n"


def test_cells_are_written_out(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("Name",), [(HOSTILE,)])
    assert "⟨U+202E⟩" in (out := capsys.readouterr().out)
    assert all(letter.isprintable() or letter == "\n" for letter in out)


@pytest.mark.parametrize("prints", [print_json, print_json_line])
def test_json_says_the_same_in_characters_that_do_nothing(prints: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert callable(prints)
    prints({"title": HOSTILE})
    out = capsys.readouterr().out
    assert all(letter.isprintable() or letter == "\n" for letter in out)
    assert json.loads(out) == {"title": HOSTILE}
