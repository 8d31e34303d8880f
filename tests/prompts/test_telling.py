"""What an exit has said, in words."""

import pytest

from treadle.prompts.telling import told, words
from treadle.protocol.items import Json
from treadle.protocol.load import load

EXITS = load("waterfall").exits


def test_fields_come_in_the_order_of_the_exit_and_those_that_say_nothing_are_left_out() -> None:
    said: dict[str, Json] = {"handoff": "", "reason": "none", "summary": "It fails.", "tests_fail": 0, "tests_pass": 3}
    text = told([EXITS["failing_measured"]], said)
    assert text == "summary: It fails.\ntests pass: 3\ntests fail: 0"


def test_a_payload_of_nobody_knows_which_exit_is_told_as_it_stands() -> None:
    assert told(EXITS.values(), {"odd_one": "a", "other": ["b", "c"]}) == "odd one: a\nother: b, c"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (" a ", "a"),
        (True, "true"),
        (["a", 1], "a, 1"),
        (
            [{"question": "How\nlong?", "suggestion": "20 s"}, {"question": "Why?"}],
            "- question: How long?; suggestion: 20 s\n- question: Why?",
        ),
        ({"file_name": "a.py", "line": 3, "fix": None}, "file name: a.py; line: 3"),
    ],
)
def test_values(value: Json, text: str) -> None:
    assert words(value) == text
