"""Criteria belong to their spec, and a merge needs the evidence or a person's word."""

import json
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from tests.cli.treadle import treadle
from tests.end_to_end.ending import RESULT, End
from tests.end_to_end.honest import played
from tests.end_to_end.world import World

MANIFEST, TESTS = "tests/basket/test_manifest.json", "tests/basket/test_adding.py"
OLD_TEST = "def test_old():\n    assert 1 + 1 == 2\n\n\ndef test_older():\n    assert 2 + 2 == 4\n"
OLD = {"test_old.py::test_old": "AC-2: of another time"}
MINE = {
    "test_contract.py::test_the_total_of_a_basket": "contract:AC-1",
    "test_adding.py::test_the_sum": "AC-1",
    "test_adding.py::test_a_bad_quantity_is_refused": "AC-3",
}


def manifest(spec: str | None, entries: dict[str, str]) -> str:
    return json.dumps({**({"spec_id": spec} if spec else {}), "acceptance_criteria_map": entries})


def leaf(place: Path, spec: str | None = "first") -> World:
    """A leaf in a folder that an earlier feature has left a test and a manifest in."""
    given: dict[str, Any] = played("leaf")
    old = {"tests/basket/test_old.py": OLD_TEST, MANIFEST: manifest(spec, OLD)}
    return World(place, **given | {"files": given["files"] | old})


def honest(world: World, step: str) -> dict[str, str]:
    return next(it for it in world.cast.others if it.step == step).turn.write


def refusals(end: End, act: str) -> list[dict[str, Any]]:
    """What the checks of an activity have refused."""
    deed = end.deeds[act]
    results = deed.checked.results if deed.checked else deed.claim.results if deed.claim else ()
    records: list[Any] = [end.payloads[it.report_ref] for it in results if not it.ok]
    return [one for it in records for one in it["findings"] if not one.get("note")]


def codes(end: End, act: str) -> list[str]:
    """The codes of what the checks of an activity have refused."""
    return [one["code"] for one in refusals(end, act)]


@pytest.mark.soak
@pytest.mark.parametrize("spec", ["first", None])
def test_an_older_manifest_does_not_change_the_verdict(place: Path, spec: str | None) -> None:
    end = leaf(place, spec).run()
    assert end.outcome == "Merged"
    assert end.standings() == dict.fromkeys(("AC-1", "AC-2", "AC-3"), "verified by root")
    assert json.loads(end.git("show", f"{RESULT}:{MANIFEST}")) == json.loads(manifest(spec, OLD)), "as it was"


@pytest.mark.soak
@pytest.mark.parametrize("spec", ["first", None])
@pytest.mark.parametrize("kept", ["first", pytest.param("basket", marks=pytest.mark.soak)])
def test_an_older_entry_stands_for_no_criterion(place: Path, spec: str | None, kept: str) -> None:
    world = leaf(place, spec)
    tests = honest(world, "tests")[TESTS].replace("test_ten_pieces_are_cheaper", "test_the_sum_of_many")
    world.agent("tests", write={TESTS: tests, MANIFEST: manifest(kept, OLD | MINE)}, exit={"type": "TestsReady"})
    end = world.run()
    assert "manifest.uncovered" in codes(end, "root:tests#1.1")
    assert end.outcome == "Merged", "the next attempt is honest"


@pytest.mark.soak
def test_a_manifest_in_another_name_is_refused(place: Path) -> None:
    world = leaf(place)
    write = {**honest(world, "tests"), MANIFEST: manifest("third", MINE)}
    world.agent("tests", write=write, exit={"type": "TestsReady"})
    assert "manifest.foreign" in codes(world.run(), "root:tests#1.1")


@pytest.mark.soak
def test_a_name_that_fits_several_tests_is_refused(place: Path) -> None:
    world = leaf(place)
    write = honest(world, "tests")
    twice = "from basket import total\n\n\ndef test_the_sum():\n    assert total([]) == 0\n"
    listed = manifest("basket", {**MINE, "test_the_sum": "AC-1"})
    world.agent(
        "tests", write={**write, "tests/basket/test_more.py": twice, MANIFEST: listed}, exit={"type": "TestsReady"}
    )
    assert "manifest.ambiguous" in codes(world.run(), "root:tests#1.1")


OF_A_PEN = "test_shop.py::test_a_pen_has_a_price"
"""An old test of code that is there."""


def stands_on_old_tests(place: Path, listed: dict[str, str], **more: str) -> World:
    """The test author lets tests that always passed stand for AC-2, and nobody builds that."""
    world = leaf(place)
    tests = honest(world, "tests")[TESTS].partition("@pytest")[0] + "\n\ndef test_a_bad_quantity_is_refused():\n"
    tests += '    with pytest.raises(ValueError, match="lamp"):\n        total([Item("lamp", 0, 2005)])\n'
    write = {TESTS: tests, MANIFEST: manifest("basket", MINE | listed), **more}
    world.agent("tests", write=write, exit={"type": "TestsReady"})
    return world


CHANGED = OLD_TEST + "\n\ndef test_the_sum_of_nothing():\n    from basket import total\n    assert total([]) == 0\n"


@pytest.mark.soak
@pytest.mark.parametrize(
    ("listed", "changed"),
    [
        ({"test_old.py::test_older": "AC-2: it holds already"}, {}),
        ({"test_old.py::test_older": "AC-2"}, {"tests/basket/test_old.py": CHANGED}),
        (
            {"test_old.py::test_older": "AC-2", "test_old.py::test_the_sum_of_nothing": "AC-2"},
            {"tests/basket/test_old.py": CHANGED},
        ),
    ],
    ids=["untouched file", "touched file", "beside a red test"],
)
def test_a_test_that_never_failed_is_refused_at_its_authors_step(
    place: Path, listed: dict[str, str], changed: dict[str, str]
) -> None:
    end = stands_on_old_tests(place, listed, **changed).run()
    found = [(it["code"], it["criterion"], it["test"]) for it in refusals(end, "root:tests#1.1")]
    assert found == [("red.never_failed", "AC-2", "tests/basket/test_old.py::test_older")]
    assert end.outcome == "Merged", "the next attempt is honest"
    assert end.standings() == dict.fromkeys(("AC-1", "AC-2", "AC-3"), "verified by root")
    assert "unverified" not in " ".join(end.steps()), "no person was asked"


@pytest.mark.soak
def test_an_old_test_that_reaches_no_code_proves_no_criterion(place: Path) -> None:
    end = stands_on_old_tests(place, {"test_old.py::test_older": "holds:AC-2"}).run()
    assert codes(end, "root:tests#1.1") == ["red.vacuous"]


def test_a_criterion_with_a_test_that_never_failed_waits_for_a_person(place: Path) -> None:
    end = stands_on_old_tests(place, {OF_A_PEN: "holds:AC-2: the price stays"}).run()
    assert (end.outcome, end.steps()[-1]) == ("", "merge MergeRejected.Unverified")
    assert [it.id.partition("#")[0] for it in end.open] == ["root:unverified"]
    assert codes(end, "root:merge#1.1") == ["evidence.holds"]


@pytest.mark.soak
def test_a_person_can_send_it_back_to_the_test_author(place: Path) -> None:
    end = stands_on_old_tests(place, {OF_A_PEN: "holds:AC-2: the price stays"}).run(
        {"root:unverified": ("retest", "Ten pieces are cheaper: that is new.")}
    )
    assert end.steps()[-6:] == [
        "merge MergeRejected.Unverified",
        "unverified retest",
        "tests TestsReady",
        "impl TestsPassed",
        "review Approved",
        "merge MergeComplete",
    ]
    assert "Ten pieces are cheaper: that is new." in end.prompt("root:tests#2.1")
    assert "basket/AC-2" in end.prompt("root:tests#2.1")
    assert end.evidence()["verdict"] == "verified"


def test_a_person_can_let_it_pass_and_the_evidence_says_so(place: Path) -> None:
    end = stands_on_old_tests(place, {OF_A_PEN: "holds:AC-2"}).run({"root:unverified": ("accept", "It always did.")})
    assert end.outcome == "Merged"
    proved = end.evidence()
    tally = proved["tally"]
    assert (proved["verdict"], tally["verified"], tally["waived"]) == ("accepted", 2, 1)
    [waived] = [it for it in proved["criteria"] if it["standing"] != "verified"]
    assert (waived["spec"], waived["id"], waived["codes"]) == ("basket", "AC-2", ["evidence.holds"])
    assert (waived["waiver"]["choice"], waived["waiver"]["note"]) == ("accept", "It always did.")
    with chdir(end.root):
        assert treadle("deliver", "story").code == 4, "by a person's word"
        lines = [line.strip() for line in treadle("evidence", "story").out.splitlines()]
    beside = lines[next(at for at, line in enumerate(lines) if "AC-2 ·" in line) :][:6]
    assert any(line.startswith("person ") and "It always did." in line for line in beside)


@pytest.mark.parametrize(
    "words",
    [
        ("answer", "story", "accept", "--note", "It always did."),
        ("answer", "story", "accept", "--note", "It always did.", "--resume"),
        ("say", "accept: it always did"),
    ],
    ids=["answer", "answer --resume", "say"],
)
def test_an_answer_that_ends_the_run_exits_like_run(place: Path, words: tuple[str, ...]) -> None:
    end = stands_on_old_tests(place, {OF_A_PEN: "holds:AC-2"}).run()
    with chdir(end.root):
        assert treadle(*words).code == 4
        assert treadle("runs", "--json").json()["runs"][0]["outcome"] == "Merged"
