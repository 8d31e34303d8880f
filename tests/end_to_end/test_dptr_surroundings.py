"""Ω₃: what no cycle answers for: a batch's suite that looks further back."""

from pathlib import Path

import pytest

from tests.end_to_end.dptr import ONE, PARSE, product
from tests.end_to_end.world import World

pytestmark = pytest.mark.soak

AT, BATCH = ONE.place(PARSE), f"{ONE.at}/Batch1"
OLD = "tests/test_old.py"


def test_a_test_of_the_project_that_is_gone_breaks_the_suite_of_the_batch(place: Path) -> None:
    """In a cycle as many tests are enough; the batch is asked for each that was there before it."""
    old = "def test_old():\n    assert 1 + 1 == 2\n"
    world = World(place, **{**product(ONE), "files": {OLD: old}})
    two = f"{PARSE.tests()}\n\ndef test_no_cents():\n    assert cents('0.00') == 0\n"
    done = {"type": "RTC", "message": "One test more here, and one less there."}
    world.agent("refactor_tests", AT, write={PARSE.test_file: two}, run=[["rm", OLD]], exit=done)
    end = world.run({f"{BATCH}:broken": ["retry", "abort"], f"{ONE.at}:failed": "abort", "root:failed": "abort"})

    assert end.outcomes[AT] == "Converged", end.told
    assert end.steps(BATCH) == ["suite Failed", "broken retry", "suite Failed", "broken abort"], end.told
    assert f"{OLD}::test_old: is gone" in end.ask(f"{BATCH}:broken")
    assert end.outcome == "Aborted"
