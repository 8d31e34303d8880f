"""`.ai/executor-result`, case by case."""

from typing import Any

import pytest

from tests.results.desk import expected, golden, summed_up, ways_at
from treadle.results.executor_result import parse
from treadle.results.faulty import Faulty
from treadle.results.plain_yaml import MAX_YAML


@pytest.mark.parametrize("case", golden("executor_result.yaml"), ids=lambda case: case["name"])
def test_golden(case: dict[str, Any]) -> None:
    assert summed_up(parse(case["text"].encode(), ways_at(case["step"]))) == expected(case)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"status: \xff", "is not UTF-8"),
        (b"\x00", "U+0000"),
        (b"a: " + b"[" * 200, "nested more than 64"),
        (b"{" + b'"a":{' * 5000, "nested more than 64"),
        (b"a: " + b"x" * MAX_YAML, "the limit is"),
        (b'{"status": NaN}', "NaN"),
        (b"a: !!python/object:os.system x", "tags are not supported"),
    ],
)
def test_hostile_bytes_are_told_apart(data: bytes, said: str) -> None:
    found = parse(data, ways_at("waterfall/story/impl"))
    assert isinstance(found, Faulty)
    assert said in found.problems[0]
