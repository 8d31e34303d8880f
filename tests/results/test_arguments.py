"""Answers from a command line."""

from pathlib import Path

import pytest

from tests.results.desk import summed_up, ways_at
from treadle.results.arguments import from_arguments
from treadle.results.faulty import Faulty


@pytest.mark.parametrize(
    ("step", "type_", "fields", "claim", "values"),
    [
        ("dptr/cycle/red", "RC", ["message=a = b"], "RC", {"message": "a = b"}),
        ("dptr/plan/critic", "DA", ['questions=["who?"]'], "DA", {"questions": ["who?"]}),
        ("riper/rcycle/red", "TA", [], "RC", {}),
        ("waterfall/story/impl", "pass", ["summary=12"], "pass_green", {"summary": "12"}),
        (
            "waterfall/story/impl",
            "failing",
            ["reason=none", "summary=x"],
            "failing_measured.none",
            {"reason": "none", "summary": "x"},
        ),
    ],
)
def test_what_they_spell(step: str, type_: str, fields: list[str], claim: str, values: dict[str, object]) -> None:
    ways = ways_at(step)
    given = from_arguments(ways, type_, fields)
    assert not isinstance(given, Faulty)
    assert summed_up(ways.accept(given)) == {"claim": claim, "fields": values}


@pytest.mark.parametrize(
    ("type_", "fields", "said"),
    [
        ("RX", [], "--type 'RX' is not an exit of this step; this step ends with RC or BL"),
        ("RC", ["message"], "--field 'message' has no `=`; write --field name=value"),
        ("RC", ["message=a", "message=b"], "--field 'message' is given twice"),
    ],
)
def test_what_they_do_not(type_: str, fields: list[str], said: str) -> None:
    found = from_arguments(ways_at("dptr/cycle/red"), type_, fields)
    assert isinstance(found, Faulty)
    assert said in found.problems[0]


def test_a_list_that_is_none_stays_text() -> None:
    ways = ways_at("dptr/plan/critic")
    found = ways.accept(from_arguments(ways, "DA", ["questions=[who?"]))
    assert isinstance(found, Faulty)
    assert "must be a list" in found.problems[0]


def test_a_long_text_comes_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A = b\né\n")
    (tmp_path / "questions").write_text('["who?"]')
    (tmp_path / "odd").write_bytes(b"\xff")
    ways = ways_at("dptr/plan/critic")
    given = from_arguments(ways, "DA", [f"message=@{tmp_path}/a.md", f"questions=@{tmp_path}/questions"])
    assert summed_up(ways.accept(given)) == {
        "claim": "DA",
        "fields": {"message": "# A = b\né\n", "questions": ["who?"]},
    }
    own = from_arguments(ways, "DA", ["message=@@home", 'questions=["who?"]'])
    assert summed_up(ways.accept(own))["fields"] == {"message": "@home", "questions": ["who?"]}
    for name, why in (("nowhere", "cannot be read: no such file or directory"), ("odd", "is no text in UTF-8")):
        found = from_arguments(ways, "DA", [f"message=@{tmp_path}/{name}"])
        assert isinstance(found, Faulty)
        assert why in found.problems[0]
        assert "a value that begins with @ is written @@" in found.problems[0]
