"""Ω₃: what no cycle answers for: a batch's suite that looks further back, and a merge that its surroundings fail."""

import sys
from pathlib import Path

import pytest

from tests.end_to_end.dptr import ONE, PARSE, product
from tests.end_to_end.ending import RUN
from tests.end_to_end.world import Move, World
from treadle.engines.client import Client

pytestmark = pytest.mark.soak

AT, BATCH = ONE.place(PARSE), f"{ONE.at}/Batch1"
OLD = "tests/test_old.py"
BUILDER = """import pathlib, subprocess
of = subprocess.run(["git", "log", "-1", "--format=%s"], capture_output=True, text=True).stdout
broken = [path for path in pathlib.Path({place!r}).glob("*") if f"({{path.name}})" in of]
raise SystemExit(f"{{of.strip()}}: the builder is out of order" if broken else 0)
"""


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


def test_a_merge_that_its_surroundings_fail_is_tried_again_when_a_person_has_mended_them(place: Path) -> None:
    """No agent brings this about: what is merged is the tree whose suite has just passed, on a branch that nobody else
    has moved. So the builder itself is out of order, first for the batch, then for the module."""
    broken, builder = place / "broken", place / "builder.py"
    broken.mkdir(exist_ok=True)
    builder.write_text(BUILDER.format(place=str(broken)))
    for name in ("Batch1", "money"):
        (broken / name).touch()
    world = World(place, settings=(f"toolchain.build={sys.executable} {builder}",), **product(ONE))
    said: list[str] = []

    def mend(name: str, client: Client) -> None:
        (broken / name).unlink()
        said.append(str(client.answer(RUN, "retry")))

    end = world.run(
        moves=[
            Move((f"{BATCH}:unfolded",), lambda client: mend("Batch1", client)),
            Move((f"{ONE.at}:unfolded",), lambda client: mend("money", client)),
        ]
    )

    assert end.outcome == "Done", end.told
    merged = ["fold MergeRejected.BuildFailure", "unfolded retry", "fold MergeComplete"]
    assert end.steps(BATCH)[-4:] == ["suite Passed", *merged]
    assert end.steps(ONE.at)[-4:] == ["suite Passed", *merged]
    for text, instance in zip(said, (BATCH, ONE.at), strict=True):
        assert f"{instance} cannot be merged into its parent (BuildFailure)." in text
        assert "the builder is out of order" in text
