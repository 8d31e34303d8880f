"""`treadle evidence`: lines, JSON, or a page in a file."""

import json
from pathlib import Path

import jsonschema
import pytest

from tests.cli.treadle import treadle
from tests.recorded import record
from tools.json_page import json_schema
from treadle.cli.evidence import wrap_row
from treadle.views.evidence_html import MADE
from treadle.views.evidence_text import TextRow


@pytest.fixture(autouse=True)
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record(tmp_path, of="v3", refuses=1)
    monkeypatch.chdir(tmp_path)


def test_lines_for_people() -> None:
    shown = treadle("evidence", "r")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.split(" · ")[:3] == ["r", "v3 1", "ended: Merged"]
    assert "✗ AC-1 · root · no evidence" in shown.out
    assert "\x1b" not in shown.out
    assert treadle("evidence").out == shown.out, "the latest run if none is named"


def test_json_for_programs_keeps_to_its_schema() -> None:
    shown = treadle("evidence", "r", "--json")
    schema = {**json.loads(json_schema()), "$ref": "#/$defs/Evidence"}
    jsonschema.Draft202012Validator(schema).validate(shown.json())
    assert (shown.json()["schema"], shown.json()["run"], shown.json()["so_far"]) == (1, "r", False)


def test_a_page_replaces_an_earlier_page_and_no_other_file(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert treadle("evidence", "r", "--html", str(page)).out.startswith(f"{page} is written")
    written = page.read_text()
    assert MADE in written
    assert treadle("evidence", "r", "--html", str(page)).code == 0
    page.write_text("<p>mine</p>")
    refused = treadle("evidence", "r", "--html", str(page))
    assert (refused.code, refused.out, page.read_text()) == (2, "", "<p>mine</p>")
    assert (refused.error, refused.lacks(str(page), "--force")) == ("file.exists", [])
    assert treadle("evidence", "r", "--html", str(page), "--force").code == 0
    assert MADE in page.read_text()
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".html" or "page" in path.name] == ["page.html"]


def test_a_page_can_be_piped() -> None:
    assert treadle("evidence", "r", "--html", "-").out.startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["nope"], "run.unknown"),
        (["r", "--json", "--html", "x.html"], "usage.conflict"),
        (["r", "--force"], "usage.conflict"),
        (["r", "--html", "no/such/x.html"], "file.unwritable"),
        (["r", "--html", "."], "file.exists"),
    ],
)
def test_bad_arguments_are_refused_with_a_code(arguments: list[str], code: str) -> None:
    refused = treadle("evidence", *arguments)
    said = refused.json()["error"]["code"] if "--json" in arguments else refused.error
    assert (refused.code, said) == (2, code)
    assert not Path("x.html").exists()


@pytest.mark.parametrize("width", [0, 20, 24, 40, 80])
def test_lines_fit_the_terminal_and_keep_words_whole(width: int) -> None:
    row = TextRow(4, 11, "test   tests/a/very/long/path/to/test_things.py::test_a_long_name[and-a-parameter] and words")
    lines = list(wrap_row(row, width))
    assert len(lines) == 1 if not width else all(len(line) <= width or len(line.split()) == 1 for line in lines)
    assert " ".join(lines).split() == row.text.split()


def test_a_line_cannot_act_on_the_terminal() -> None:
    assert list(wrap_row(TextRow(0, 0, "a\x1b[2J\nb"), 0)) == ["a␛[2J ⏎ b"]
