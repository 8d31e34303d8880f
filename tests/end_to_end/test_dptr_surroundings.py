"""Ω₃: what no cycle answers for: a batch's suite that looks further back."""

from pathlib import Path

import pytest

from tests.end_to_end.dptr import ONE, PARSE, product
from tests.end_to_end.world import World

pytestmark = pytest.mark.soak

AT, BATCH = ONE.place(PARSE), f"{ONE.at}/Batch1"
OLD = "tests/test_old.py"


def test_a_step_that_refactors_tests_may_not_remove_one_of_the_project(place: Path) -> None:
    """As many tests as before are not enough: each one of them still runs."""
    old = "def test_old():\n    assert 1 + 1 == 2\n"
    world = World(place, **{**product(ONE), "files": {OLD: old}})
    two = f"{PARSE.tests()}\n\ndef test_no_cents():\n    assert cents('0.00') == 0\n"
    done = {"type": "RTC", "message": "One test more here, and one less there."}
    world.agent("refactor_tests", AT, write={PARSE.test_file: two}, run=[["rm", OLD]], exit=done)
    end = world.run()

    refused = end.refusals(f"{AT}:refactor_tests#1.1")
    assert f"{OLD}::test_old" in refused
    assert "[green.lost]" in refused
    assert end.outcomes[AT] == "Converged", end.told
    assert end.steps(BATCH)[0] == "suite Passed", end.told
