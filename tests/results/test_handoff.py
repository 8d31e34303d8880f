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


@pytest.mark.parametrize(
    ("story", "inst", "is_own"),
    [
        ("US-1", "root/US-1", True),
        ("US-9", "root/US-1", False),
        ("US-1", "root/US-1~2", True),
        ("US-1", "root/US-1/core", True),
        ("US-2", "root/US-1/core", False),
        ("Story 1/2", "root/Story-1-2", True),
        ("7", "root/7", True),
        ("null", "root/US-1", True),
        ("US-9", "root", True),
    ],
)
def test_a_hand_over_of_another_story_is_not_this_ones(story: str, inst: str, is_own: bool) -> None:
    text = f"---\nstory: {story}\nstep: impl\nattempt: 2\nstatus: pass\nsummary: x\n---\n".encode()
    found = parse(text, ways_at("waterfall/story/impl"), "impl", 2, inst=inst)
    assert isinstance(found, Claim if is_own else Stale)
    assert is_own or summed_up(found)["stale"] == f".ai/HANDOFF.md is for story '{story}', not for story 'US-1'"


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
