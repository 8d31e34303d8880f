"""An agent's last words, case by case."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.results.desk import expected, golden, summed_up, ways_at
from treadle.protocol.answers.answer import Claim
from treadle.results.faulty import Faulty
from treadle.results.final_message import parse
from treadle.results.strict_json import MAX_ANSWER, MAX_DEPTH

RED = "dptr/cycle/red"


@pytest.mark.parametrize("case", golden("final_message.yaml"), ids=lambda case: case["name"])
def test_golden(case: dict[str, Any]) -> None:
    assert summed_up(parse(case["text"], ways_at(case["step"]))) == expected(case)


@given(st.lists(st.sampled_from(["{", "}", "```", "```json", '{"exit": {', "→[RC,x]", "→", "x", ' "exit": [', ""])))
def test_whatever_is_said_there_is_a_result(lines: list[str]) -> None:
    found = parse("\n".join(lines), ways_at(RED))
    assert found is None or isinstance(found, Claim | Faulty)


@pytest.mark.parametrize("line", ["{", "→[" + "[" * 99, "```", '{"exit": {', "→RC" * 40])
def test_much_of_it_takes_no_time(line: str) -> None:
    text = (line + "\n") * (400_000 // len(line))
    before = time.process_time()
    parse(text, ways_at(RED))
    assert time.process_time() - before < 5


def test_of_too_long_a_message_the_end_is_heard() -> None:
    flood = "x" * (MAX_ANSWER + 10)
    assert summed_up(parse(flood + '\n{"exit": {"type": "RC"}}', ways_at(RED)))["claim"] == "RC"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"exit": {"type": "RC", "message": "' + "x" * MAX_ANSWER + '"}}', f"bytes, the limit is {MAX_ANSWER}"),
        ("x" * MAX_ANSWER + '"}}', "the answer in the last message is too large: its beginning is more than"),
        ('"x",\n' * (MAX_ANSWER // 4) + "]}\n}\n```\n", "the answer in the last message is too large"),
        ('{"exit": ' + "[" * 100_000 + "]" * 100_000 + "}", f"nested more than {MAX_DEPTH} levels deep"),
        ('{"exit": {"type": "RC", "message": "\udcff"}}', "the answer in the last message is not UTF-8"),
        ("→[RC,\udcff]", "the code in the last message is not UTF-8"),
        ("→[\udcff]", "the code in the last message is not UTF-8"),
    ],
)
def test_what_is_wrong_with_the_last_message_is_told(text: str, said: str) -> None:
    found = parse(text, ways_at(RED))
    assert isinstance(found, Faulty)
    assert said in found.problems[0]


def test_much_output_without_an_answer_is_no_answer() -> None:
    assert parse("all is well\n" * (MAX_ANSWER // 10), ways_at(RED)) is None
    assert parse("if (x) { y(); }", ways_at(RED)) is None


def test_bytes_that_are_no_text_harm_no_answer_beside_them() -> None:
    assert summed_up(parse('\udcff\udc80\n{"exit": {"type": "RC"}}', ways_at(RED)))["claim"] == "RC"
