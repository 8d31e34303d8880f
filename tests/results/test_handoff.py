"""HANDOFF.md, case by case."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.results.desk import expected, golden, summed_up, ways_at
from treadle.protocol.answers.answer import Claim
from treadle.results import executor_result
from treadle.results.faulty import Faulty, Stale
from treadle.results.handoff import parse, parse_legacy


@pytest.mark.parametrize("case", golden("handoff.yaml"), ids=lambda case: case["name"])
def test_golden(case: dict[str, Any]) -> None:
    found = parse(case["text"].encode(), ways_at(case["step"]), case["step"].split("/")[2], 2)
    assert summed_up(found) == expected(case)


@pytest.mark.parametrize("case", golden("legacy.yaml"), ids=lambda case: case["name"])
def test_legacy(case: dict[str, Any]) -> None:
    assert summed_up(parse_legacy(case["text"].encode(), ways_at(case["step"]))) == expected(case)


def test_a_copy_of_a_gate_goes_by_its_base() -> None:
    text = b"---\nstep: impl\nattempt: 2\nstatus: pass\nsummary: x\n---\n"
    assert summed_up(parse(text, ways_at("waterfall/story/impl"), "impl@other", 2))["claim"] == "pass_green"


def test_front_matter_of_another_kind_is_no_answer() -> None:
    assert parse(b"---\ntype: note\nstatus:\n---\n", ways_at("waterfall/story/impl"), "impl", 2) is None


@given(st.binary(max_size=60), st.sampled_from([b"", b"---\n", b"---\nstep: impl\nattempt: 2\nstatus: "]))
def test_whatever_is_written_there_is_a_result(data: bytes, head: bytes) -> None:
    ways = ways_at("waterfall/story/impl")
    text = head + data + (b"\n---\n" if head else b"")
    assert isinstance(parse(text, ways, "impl", 2), Claim | Faulty | Stale | None)
    assert isinstance(executor_result.parse(head[4:] + data, ways), Claim | Faulty)


def test_bytes_that_are_no_text() -> None:
    ways = ways_at("waterfall/story/impl")
    assert "is not UTF-8" in summed_up(parse(b"---\n\xff", ways, "impl", 2))["problems"][0]
    assert parse_legacy(b"SCOPE WARNING\xff", ways) is None
