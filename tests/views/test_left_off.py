"""Where somebody else's work order says that a story stands."""

import json
from typing import Any

import pytest

from tests.views.storied import STATE, waterfall
from treadle.views.work_order import read_left_off

ORDER: dict[str, Any] = {"story": "US-5", "step": "impl", "attempt": 2, "max_attempts": 5, "status": "failing"}


@pytest.mark.parametrize(
    ("changes", "stands", "part"),
    [
        ({}, "US-5 stands at impl (attempt 2 of 5, failing)", "US-5:impl"),
        ({"step": "review", "status": "needs_human"}, "US-5 stands at review (attempt 2 of 5, needs_human)", ""),
        ({"step": "bdd", "status": "running"}, "US-5 stands at bdd (attempt 2 of 5, running)", ""),
        ({"attempt": "2", "status": None}, "US-5 stands at impl", "US-5:impl"),
        ({"max_attempts": None}, "US-5 stands at impl (attempt 2, failing)", "US-5:impl"),
    ],
)
def test_an_unfinished_story_is_read_with_its_step(changes: dict[str, Any], stands: str, part: str) -> None:
    found = read_left_off(STATE, json.dumps(ORDER | changes).encode(), waterfall())
    assert found is not None
    assert (found.stands, found.part) == (stands, part)
    assert found.begins.startswith("begins it at bdd ")


@pytest.mark.parametrize(
    "data",
    [
        "{",
        "[]",
        *(
            json.dumps(ORDER | changes)
            for changes in (
                {"story": None},
                {"step": "done", "status": "pass"},
                {"step": "bdd", "status": "pending"},
                {"step": "scafold"},
                {"step": 3},
            )
        ),
    ],
)
def test_an_order_without_an_unfinished_story_is_ignored(data: str) -> None:
    assert read_left_off(STATE, data.encode(), waterfall()) is None


def test_no_file_gives_commands_to_a_terminal() -> None:
    found = read_left_off(STATE, json.dumps(ORDER | {"story": "US-5\x1b[2J\n`rm`"}).encode(), waterfall())
    assert found is not None
    assert found.stands.isprintable()
