"""Ω₄: two axes, four codes, and a person who starts the review and decides about everything that is not good twice."""

from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.codes import shows
from tests.end_to_end.dptr import REVIEWED, product
from tests.end_to_end.ending import End
from tests.end_to_end.world import Answers, World

TEST = {"tests/test_it.py": "def test_it():\n    assert True\n"}
FINDING = {"where": "src/purse", "issue": "There is no purse.", "requiredFix": "Write one."}


def finished(place: Path, files: dict[str, str] = TEST) -> World:
    """A product whose brief names no module and whose architecture finds none."""
    return World(place, **{**product(), "files": files})


def said(**codes: str) -> dict[str, Any]:
    own = {key: value for key, value in REVIEWED.items() if key not in ("validation", "quality")}
    return {**own, "findings": [FINDING], **codes}


@pytest.mark.soak
@shows("VC", "DF", "QP", "QF")
def test_a_review_without_two_good_codes_is_a_persons_decision(place: Path) -> End:
    world = finished(place)
    world.agent("review", exit=said(validation="DF", quality="QP"))
    world.agent("review", exit=said(validation="VC", quality="QF"))
    world.agent("review", exit=said(validation="DF", quality="QF"))
    world.agent("review", exit=said(type="VC"))
    world.agent("review", exit=said(type="QF"))
    again: Answers = {"root:deviations": ["review", "review", "review", "review", ("rework", "A purse, please.")]}
    end = world.run(again)

    assert end.outcome == "Done", end.told
    reviews = [end.payload(f"root:review#{n}.1") for n in range(1, 7)]
    assert [(it["validation"], it["quality"]) for it in reviews] == [
        ("DF", "QP"),
        ("VC", "QF"),
        ("DF", "QF"),
        ("VC", None),
        (None, "QF"),
        ("VC", "QP"),
    ]
    steps = end.steps("root")
    assert steps.count("review Reviewed") == 6
    assert steps[-8:] == [
        "person go",
        "architecture Architecture",
        "person go",
        "audit ACCEPT",
        "suite Passed",
        "person go",
        "review Reviewed",
        "deliver MergeComplete",
    ]
    asked = end.ask("root:deviations")
    assert "Ω₄ review of Purse: validation not given, quality QF." in asked
    assert "Measured: 1 tests passed, 0 failed." in asked
    assert "> There is no purse." in asked
    rework = end.prompt("root:architecture#2.1")
    assert "(validation , quality QF)" not in rework
    assert "> There is no purse." in rework
    assert "## A person says\n> A purse, please." in rework
    assert end.files()["memory-bank/review.md"].startswith("# Review")
    return end


@pytest.mark.soak
@shows("DF", "QP")
def test_a_person_delivers_a_deviating_product_or_ends_the_run(place: Path) -> End:
    world = finished(place)
    world.agent("review", exit=said(validation="DF", quality="QP"))
    end = world.run({"root:deviations": "accept"})
    assert (end.outcome, end.steps("root")[-2:]) == ("Done", ["deviations accept", "deliver MergeComplete"])
    evidence = end.evidence()
    (reviewed,) = [it for it in evidence["accepted"] if it["step"] == "review"]
    assert reviewed["proves"] == "", "a review that has found deviations approves of nothing"
    (found,) = [it for it in evidence["setbacks"] if it["step"] == "review"]
    assert (found["kind"], found["what"]) == ("sent back", "Reviewed")
    assert "validation: DF" in found["report"]

    world = finished(place)
    world.agent("review", exit=said(validation="DF", quality="QP"))
    assert world.run({"root:deviations": "abort"}).outcome == "Aborted"
    return end


@pytest.mark.soak
def test_a_suite_that_fails_on_the_finished_product_is_a_quality_failure(place: Path) -> None:
    text = "from pathlib import Path\n\n\ndef test_it():\n    assert not Path('memory-bank/techContext.md').exists()\n"
    end = finished(place, {"tests/test_it.py": text}).run({"root:broken": ["retry", "abort"]})

    assert end.outcome == "Aborted"
    assert end.steps("root")[-4:] == ["suite Failed", "broken retry", "suite Failed", "broken abort"], end.told
    asked = end.ask("root:broken")
    assert "QUALITY_FAILURE: the suite " in asked
    assert "tests/test_it.py::test_it" in asked
    assert "root:review#1.1" not in end.works
