"""Ω₃'s cross-reviews: cycles that agree leave, others go on; when nobody agrees."""

from pathlib import Path

import pytest

from tests.end_to_end.codes import shows
from tests.end_to_end.dptr import ONE, PARSE, SHARE, SHOW, Module, product
from tests.end_to_end.ending import End
from tests.end_to_end.world import World

THREE = Module(batches=((PARSE, SHOW, SHARE),))
CRITIQUE = {"where": SHARE.module, "issue": "The sum is not obvious.", "requiredFix": "Name the remainder."}
NEEDS_CHANGE = {"type": "NEEDS_CHANGE", "message": "Not yet.", "critiques": [CRITIQUE]}
ROUND = ["refactor_tests RTC", "refactor_impl RIC", "review_tests APPROVED", "review_impl APPROVED"]


@pytest.mark.soak
@shows("APPROVED", "NEEDS_CHANGE", "RTC", "RIC", "VC", "QP")
def test_a_cycle_needs_two_more_rounds_while_the_others_have_converged(place: Path) -> End:
    world = World(place, **product(THREE))
    slow, others = THREE.place(SHARE), [THREE.place(it) for it in (PARSE, SHOW)]
    named = SHARE.code(
        "rest = amount % parts\n    return [amount // parts + (number < rest) for number in range(parts)]"
    )
    world.as_usual("refactor_impl", slow)
    world.agent("refactor_impl", slow, write={SHARE.module: named}, exit={"type": "RIC", "message": "It has a name."})
    renamed = SHARE.tests(name="no_cent_is_lost")
    world.as_usual("refactor_tests", slow)
    world.as_usual("refactor_tests", slow)
    world.agent("refactor_tests", slow, write={SHARE.test_file: renamed}, exit={"type": "RTC", "message": "Renamed."})
    world.agent("review_impl", slow, exit=NEEDS_CHANGE)
    world.as_usual("review_tests", slow)
    world.agent(
        "review_tests", slow, exit={"type": "NEEDS_CHANGE", "critiques": [{**CRITIQUE, "where": SHARE.test_file}]}
    )
    end = world.run()

    assert end.outcome == "Done", end.told
    for at in others:
        assert end.steps(at) == ["red RC", "green GC", *ROUND, "fold MergeComplete"], "converged ones have left"
    assert end.steps(slow) == [
        "red RC",
        "green GC",
        *ROUND[:3],
        "review_impl NEEDS_CHANGE",
        *ROUND[:2],
        "review_tests NEEDS_CHANGE",
        "review_impl APPROVED",
        *ROUND,
        "fold MergeComplete",
    ]
    for at in others:
        assert end.when(f"{at}:fold#1.1 MergeComplete") < end.when(f"{slow}:refactor_tests#2.1"), "WAIT_ALL"
    rounds = [
        end.prompt(f"{slow}:{step}#{visit}.1") for visit in (1, 2, 3) for step in ("refactor_tests", "review_impl")
    ]
    for number, prompt in enumerate(rounds, 1):
        assert f"R:{number},C:TDD3," in prompt
    second = end.prompt(f"{slow}:refactor_impl#2.1")
    assert " of the implementation\n> Not yet.\n1. At:\n> src/money/the_share.py" in second
    assert "> Name the remainder." in second
    assert "## DE's review" in end.prompt(f"{slow}:refactor_tests#3.1")
    assert "QA says:\n> Renamed." in end.prompt(f"{slow}:review_tests#3.1")
    assert " approved your tests" in end.prompt(f"{slow}:review_impl#3.1")

    assert end.suite().startswith("3 passed")
    found = {it["id"]: it for it in end.evidence()["criteria"]}
    assert {id_: (it["standing"], it["instance"]) for id_, it in found.items()} == {
        "MO-1": ("verified", THREE.place(PARSE)),
        "MO-2": ("verified", THREE.place(SHOW)),
        "MO-3": ("verified", slow),
    }
    shared = found["MO-3"]
    assert [(it["id"], it["red"], it["on_skeleton"]) for it in shared["tests"]] == [
        (f"{SHARE.test_file}::test_no_cent_is_lost", f"{slow}:refactor_tests#3.1", True)
    ]
    assert shared["commit"] == end.payload(f"{slow}:refactor_impl#3.1")["commit"]
    assert [it["exit"] for it in shared["verdicts"]].count("NEEDS_CHANGE") == 2
    assert shared["verdicts"][-1]["act"] == "root:review#1.1"
    assert shared["merges"] == [f"{it}:fold#1.1" for it in (slow, f"{THREE.at}/Batch1", THREE.at)] + [
        "root:deliver#1.1"
    ]
    return end


@pytest.mark.soak
@shows("NEEDS_CHANGE", "APPROVED")
def test_without_agreement_a_person_reads_the_proposal_and_accepts_the_cycle(place: Path) -> End:
    world, at = World(place, **product(ONE)), ONE.place(PARSE)
    wish = "def cents(text: str, sign: bool = False) -> int: debts cannot be told otherwise."
    for _ in range(10):
        world.agent("review_tests", at, exit={**NEEDS_CHANGE, "interfaceProposal": wish})
    end = world.run({f"{at}:quality": [("retry", "No debts."), "accept"]})

    assert end.outcome == "Done", end.told
    around = [*ROUND[:2], "review_tests NEEDS_CHANGE", "review_impl APPROVED"]
    assert end.steps(at)[2:] == [*around * 5, "quality retry", *around * 5, "quality accept", "fold MergeComplete"]
    asked = end.ask(f"{at}:quality")
    assert " of the tests\n> Not yet." in asked
    assert f" the interface:\n> {wish}" in asked
    assert "QA approves" in asked
    assert "## A person says\n> No debts." in end.prompt(f"{at}:refactor_tests#6.1")
    assert end.files()[PARSE.module].strip() == PARSE.code().strip(), "signatures are frozen"
    return end


@pytest.mark.soak
@shows("NEEDS_CHANGE")
def test_an_agreed_interface_change_asks_a_person_at_once(place: Path) -> End:
    world, at = World(place, **product(ONE)), ONE.place(PARSE)
    wish = "def cents(text: str, sign: bool = False) -> int: debts cannot be told otherwise."
    agreed = {**NEEDS_CHANGE, "interfaceProposal": wish}
    for _ in range(2):
        world.agent("review_tests", at, exit=agreed)
    world.agent("review_impl", at, exit=NEEDS_CHANGE)
    world.agent("review_impl", at, exit=agreed)
    end = world.run({f"{at}:quality": ("retry", "There are no debts.")})

    assert end.outcome == "Done", end.told
    again = [*ROUND[:2], "review_tests NEEDS_CHANGE", "review_impl NEEDS_CHANGE"]
    assert end.steps(at)[2:] == [*again, *again, "quality retry", *ROUND, "fold MergeComplete"]
    assert f" change the interface\n> {wish}" in end.prompt(f"{at}:review_impl#1.1")
    later = end.prompt(f"{at}:refactor_tests#2.1")
    assert f" until a person decides\n> {wish}" in later
    asked = " ".join(end.ask(f"{at}:quality").split())
    assert "Both would change the interface" in asked
    return end
