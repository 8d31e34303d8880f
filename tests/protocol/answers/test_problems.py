"""Problems quote foreign text safely."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.protocol.answers.problems import Path, Problem, kind, printable


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), "is bad"),
        (("exit",), "exit: is bad"),
        (("exit", "tests", 2, "line"), "exit.tests[2].line: is bad"),
        ((0, "a"), "[0].a: is bad"),
        (("a\x1b[2J",), r"a\x1b[2J: is bad"),
    ],
)
def test_a_path_is_written_as_people_do(path: Path, text: str) -> None:
    assert str(Problem(path, "is bad")) == text


@given(st.text(st.characters()))
def test_foreign_text_is_short_and_printable(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable()
    assert len(shown) <= 60 * len(r"\U0001f600")
    if text.isprintable() and len(text) <= 60:
        assert shown == text


def test_a_kind_never_shows_the_inside() -> None:
    cyclic: list[object] = []
    cyclic.append(cyclic)
    assert kind(cyclic) == "a list"
    assert kind({"a": cyclic}) == "an object"
    assert kind(10**5000) == "a number"
    assert kind(kind) == "a value of type function"
