"""The chain of a criterion: who answers for it, its tests, its reviews and merges, and its gaps."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.views.trial import (
    COMMIT,
    TEST,
    Trial,
    approved,
    green,
    implemented,
    merged,
    red,
    scaffolded,
    spec,
    with_tests,
)
from treadle.errors import PortError
from treadle.protocol.items import Item, Json
from treadle.protocol.load import load
from treadle.testing.scenario import Scenario, items
from treadle.views.evidence_criteria import CriteriaTree

# A criterion is verified if every link of its chain is there, and never otherwise.


def test_red_then_green_then_approved_then_merged_is_verified() -> None:
    one = merged().criterion()
    assert (one.standing, one.missing, one.text, one.instance) == ("verified", (), "AC-1 holds", "root")
    assert [(test.id, test.red, test.green, test.now) for test in one.tests] == [
        (TEST, "root:tests#1.1", "root:impl#1.1", "passed")
    ]
    assert (one.red, one.green, one.commit) == ("root:tests#1.1", "root:impl#1.1", COMMIT)
    assert [(it.exit, it.who, it.good, it.words) for it in one.verdicts] == [
        ("Approved", "tdd:ReviewImpl", True, "signOff: I have read it")
    ]
    assert one.merges == ("root:merge#1.1",)


MISSING: dict[str, tuple[Callable[[], Trial], str, str, str]] = {
    "nothing has happened": (Trial, "none", "evidence.no_test", ""),
    "planned": (scaffolded, "none", "evidence.no_test", ""),
    "red": (with_tests, "partial", "evidence.never_green", TEST),
    "green": (implemented, "partial", "evidence.not_approved", ""),
    "approved": (approved, "partial", "evidence.not_merged", "root"),
    "no manifest": (
        lambda: with_tests(facts={"red": {"red": [TEST]}}).says("root:impl#1.1", "TestsPassed", {}),
        "none",
        "evidence.no_test",
        "",
    ),
    "never red": (
        lambda: with_tests(facts=red("tests/other.py::test_x")).says("root:impl#1.1", "TestsPassed", green(TEST)),
        "partial",
        "evidence.never_red",
        TEST,
    ),
    "red was refused": (
        lambda: (
            scaffolded()
            .says("root:tests#1.1", "TestsReady", red(TEST), "scope")
            .says("root:tests#1.2", "TestsReady", green(TEST, check="red"))
            .says("root:impl#1.1", "TestsPassed", green(TEST))
        ),
        "partial",
        "evidence.never_red",
        TEST,
    ),
    "green was refused": (
        lambda: with_tests().says("root:impl#1.1", "TestsPassed", green(TEST), "tests_unmodified"),
        "partial",
        "evidence.never_green",
        TEST,
    ),
    "green no more": (
        lambda: implemented().says(
            "root:review#1.1", "Approved", green(TEST, check="coverage_complete", verdict="failed")
        ),
        "partial",
        "evidence.not_passing",
        TEST,
    ),
    "only skipped": (
        lambda: with_tests().says("root:impl#1.1", "TestsPassed", green(TEST, verdict="skipped")),
        "partial",
        "evidence.never_green",
        TEST,
    ),
}


def test_an_exit_made_from_spent_attempts_proves_no_refused_claim() -> None:
    trial = with_tests()
    for attempt in range(1, 6):
        trial.says(f"root:impl#1.{attempt}", "TestsPassed", green(TEST), "no_undefined")
    one = trial.criterion()
    assert (one.standing, one.green) == ("partial", "")
    assert TEST in dict(zip(one.codes, one.missing, strict=True))["evidence.never_green"]
    assert one.setbacks == tuple(f"root:impl#1.{attempt}" for attempt in range(1, 6))


@pytest.mark.parametrize("case", MISSING)
def test_each_missing_proof_is_named(case: str) -> None:
    story, standing, code, data = MISSING[case]
    trial = story()
    one = trial.criterion()
    assert one.standing == standing
    gaps = dict(zip(one.codes, one.missing, strict=True))
    assert code in gaps
    assert data in gaps[code]
    tally = trial.evidence().tally
    assert (tally.criteria, tally.verified) == (1, 0)


def test_a_missing_record_proves_no_criterion() -> None:
    trial = merged()
    for ref, value in list(trial.payloads.values.items()):
        if isinstance(value, dict) and value.get("check") == "red":
            del trial.payloads.values[ref]
    one = trial.criterion()
    assert one.codes == ("evidence.never_red",)
    assert TEST in one.missing[0]
    gone = [check for step in trial.evidence().accepted for check in step.checks if check.gone]
    assert [(check.check, "no record" in check.report) for check in gone] == [("red", True)]


def test_a_test_that_passed_already_counts_if_the_skeleton_fails_it() -> None:
    proved: dict[str, dict[str, Json]] = {
        "red": {"red": [], "red_on_skeleton": [TEST], "criteria": {"AC-1": {TEST: "passed"}}}
    }
    trial = with_tests(facts=proved).says("root:impl#1.1", "TestsPassed", green(TEST))
    one = trial.says("root:review#1.1", "Approved").merges().criterion()
    assert (one.standing, one.tests[0].on_skeleton) == ("verified", True)


def test_an_approval_counts_only_for_earlier_work() -> None:
    trial = implemented().says("root:review#1.1", "MoreTests", critiques=[{"text": "too slow"}])
    one = trial.criterion()
    assert [(it.exit, it.good) for it in one.verdicts] == [("MoreTests", False)]
    assert "evidence.not_approved" in one.codes
    assert one.setbacks == ("root:review#1.1",)
    trial.says("root:impl#2.1", "TestsPassed", green(TEST)).says("root:review#2.1", "Approved").merges()
    one = trial.criterion()
    assert (one.standing, one.green) == ("verified", "root:impl#2.1")
    assert [it.exit for it in one.verdicts] == ["MoreTests", "Approved"]


def test_refusals_belong_to_the_criteria_they_are_about() -> None:
    trial = Trial(spec("calc", "AC-1", "AC-2"))
    both: dict[str, Json] = {"criteria": {"AC-1": {TEST: "failed"}, "AC-2": {"t2": "failed"}}, "red": [TEST, "t2"]}
    with_tests(trial, facts={"red": both})
    half: dict[str, dict[str, Json]] = {"green": {"criteria": {"AC-1": {TEST: "passed"}, "AC-2": {"t2": "failed"}}}}
    trial.says("root:impl#1.1", "TestsPassed", half, "green").says("root:impl#1.2", "TestsPassed", half, "scope")
    assert trial.criterion("AC-1").setbacks == ("root:impl#1.2",)
    assert trial.criterion("AC-2").setbacks == ("root:impl#1.1", "root:impl#1.2")


def test_a_refused_verdict_belongs_to_the_child_that_it_is_about() -> None:
    trial = Trial(spec("calc", "AC-1", "AC-2"))
    trial.says("root:scaffold#1.1", "InitWork", childSpecs=[spec("part", "AC-1")]).says("root:tests#1.1", "TestsReady")
    approved(trial, "root/part").merges("root/part")
    said: dict[str, Any] = {"child": "part", "reason": "it fits", "provides": []}
    trial.says("root:judge#1.1", "ChildAccepted", {}, "contract_children", **said)
    trial.says("root:judge#1.2", "ChildAccepted", **said)
    assert trial.criterion("AC-1").setbacks == ("root:judge#1.1",)
    assert trial.criterion("AC-2").setbacks == ()


def test_a_child_answers_for_its_criteria_and_its_parent_judges() -> None:
    trial = Trial(spec("calc", "AC-1", "AC-2"))
    trial.says("root:scaffold#1.1", "InitWork", childSpecs=[spec("part", "AC-1")]).says("root:tests#1.1", "TestsReady")
    approved(trial, "root/part").merges("root/part")
    one = trial.criterion()
    assert (one.instance, one.standing) == ("root/part", "partial")
    assert one.codes == ("evidence.not_judged",)
    trial.says("root:judge#1.1", "ChildAccepted", child="part", reason="it fits", provides=[])
    one, found = trial.criterion(), trial.evidence()
    assert (one.standing, one.merges) == ("verified", ("root/part:merge#1.1",))
    assert [(it.exit, it.act) for it in one.verdicts] == [
        ("Approved", "root/part:review#1.1"),
        ("ChildAccepted", "root:judge#1.1"),
    ]
    assert [(it.id, it.criteria, it.given_on, it.verified) for it in found.instances] == [
        ("root", ("AC-2",), {"AC-1": "root/part"}, 0),
        ("root/part", ("AC-1",), {}, 1),
    ]
    assert [(it.id, it.standing) for it in found.criteria] == [("AC-1", "verified"), ("AC-2", "none")]


def test_a_criterion_has_the_words_of_the_spec_that_asked_for_it() -> None:
    trial = Trial(spec("calc", "AC-1"))
    part, own = spec("part", "AC-1"), {"id": "AC-2", "text": "a word of its own"}
    part["acceptanceCriteria"] = [{"id": "AC-1", "text": "anything goes"}, {**own}]
    trial.says("root:scaffold#1.1", "InitWork", childSpecs=[part])
    assert {it.id: (it.instance, it.text) for it in trial.evidence().criteria} == {
        "AC-1": ("root/part", "AC-1 holds"),
        "AC-2": ("root/part", "a word of its own"),
    }


def test_a_child_that_its_parent_sends_back_is_not_verified() -> None:
    trial = Trial(spec("calc", "AC-1"))
    trial.says("root:scaffold#1.1", "InitWork", childSpecs=[spec("part", "AC-1")]).says("root:tests#1.1", "TestsReady")
    approved(trial, "root/part").merges("root/part")
    trial.says(
        "root:judge#1.1", "ChildRejected", child="part", reason="it does not fit", critiques=[], additionalTests=[]
    )
    one = trial.criterion()
    assert one.codes == ("evidence.rejected",)
    assert "ChildRejected" in one.missing[0]


# Who answers for a criterion where some design and judge, and others build.


WEIGHING: Json = {
    "name": "weighing",
    "criteria": [{"id": "WE-1", "text": "By weight."}, {"id": "WE-2", "text": "Or not."}],
}
CYCLE: dict[str, Json] = {"id": "TDD1", "criteria": ["WE-1"]}
PAYLOADS: dict[str, Json] = {"ref:weighing": WEIGHING, "ref:TDD1": CYCLE, "ref:TDD2": {**CYCLE, "id": "TDD2"}}


def find(ref: str) -> Json:
    if ref not in PAYLOADS:
        raise PortError(ref)
    return PAYLOADS[ref]


def tree(run: Scenario) -> CriteriaTree:
    return CriteriaTree(run.protocol, run.state, find)


def test_a_cycle_answers_for_its_criteria_and_the_module_for_the_rest() -> None:
    run = Scenario(load("riper"), {"modules": items("weighing")})
    run.signals("go", step="O1P").says("Designed", modules=()).says("ACCEPT").says("ACCEPT", at="root/weighing:audit")
    assert tree(run).answers == [("root/weighing", "WE-1"), ("root/weighing", "WE-2")]
    run.says("PC").says("PA", cycles=items("TDD1"))
    found = tree(run)
    assert found.answers == [("root/weighing", "WE-2"), ("root/TDD1", "WE-1")]
    assert found.text(run.inst("root/TDD1"), "WE-1") == "By weight."


def test_a_criterion_that_two_cycles_serve_is_answered_for_by_both_in_their_order() -> None:
    run = Scenario(load("riper"), {"modules": items("weighing")})
    run.signals("go", step="O1P").says("Designed", modules=()).says("ACCEPT").says("ACCEPT", at="root/weighing:audit")
    run.says("PC").says("PA", cycles=items("TDD1", "TDD2"))
    for exit_ in ("RC", "GC", "RTC", "RIC", "RFC", "RFC", "Passed", "Passed", "MergeComplete"):
        run.says(exit_)
    found = tree(run)
    assert found.answers == [("root/weighing", "WE-2"), ("root/TDD1", "WE-1"), ("root/TDD2", "WE-1")]
    assert {found.origin(run.inst(id_), "WE-1") for id_ in ("root/TDD1", "root/TDD2")} == {"root"}


def test_two_cycles_of_a_module_share_its_criterion() -> None:
    run = to_batches(items("TDD1", "TDD2"), parallel="2")
    found = tree(run)
    both = ["root/weighing/Batch1/TDD1", "root/weighing/Batch1/TDD2"]
    assert found.given_on(run.inst("root/weighing")) == {"WE-1": ", ".join(both)}
    assert found.answers == [*((one, "WE-1") for one in both), ("root/weighing", "WE-2")]
    assert {found.origin(run.inst(one), "WE-1") for one in both} == {"root/weighing"}


def planning() -> Scenario:
    """A module whose design is accepted."""
    run = Scenario(load("dptr"), {"modules": items("weighing")})
    run.signals("go", step="architecture").says("Architecture", modules=())
    run.signals("go", step="audit").says("ACCEPT")
    run.signals("go", to="root/weighing/design", step="design").says("Designed")
    run.signals("go", to="root/weighing/design", step="critic").says("ACCEPT")
    while run.where("root/weighing") != "plan":
        run.says("Folded")
    return run


def to_batches(cycles: tuple[Item, ...], parallel: str = "1") -> Scenario:
    """The same when its first cycles begin."""
    run = planning().says("PC").says("PA", batches=items("Batch1", parallel=parallel, cycles=cycles))
    while run.where("root/weighing") != "phase0":
        run.says("Folded")
    return run.says("P0C")


def test_a_criterion_passes_through_a_batch_without_criteria() -> None:
    assert tree(planning()).answers == [("root/weighing", "WE-1"), ("root/weighing", "WE-2")]
    run = to_batches(items("TDD1"))
    assert run.where("root/weighing/Batch1/TDD1") == "red"
    found = tree(run)
    assert found.given_on(run.inst("root/weighing")) == {"WE-1": "root/weighing/Batch1/TDD1"}
    assert found.answers == [("root/weighing/Batch1/TDD1", "WE-1"), ("root/weighing", "WE-2")]


@pytest.mark.parametrize(
    ("inner", "seen", "standing"),
    [
        (["x"], ["", "/x"], "partial"),
        (["x", "y"], ["", "/x", "/y"], "verified"),
        (["x", "y"], ["", "/x"], "partial"),
    ],
    ids=["one in the other", "another one in it", "another one in it, never seen failing"],
)
def test_a_test_around_others_proves_only_what_they_prove(inner: list[str], seen: list[str], standing: str) -> None:
    outer = "m/p::TestA"
    criteria: dict[str, Json] = {"AC-1": {outer: "failed"}, "AC-2": {f"{outer}/x": "failed"}}
    facts: dict[str, Json] = {"criteria": criteria, "inside": {outer: [f"{outer}/{one}" for one in inner]}}
    done: dict[str, Json] = {**facts, "criteria": {"AC-1": {outer: "passed"}, "AC-2": {f"{outer}/x": "passed"}}}
    trial = with_tests(
        Trial(spec("calc", "AC-1", "AC-2")), facts={"red": {**facts, "red": [f"{outer}{it}" for it in seen]}}
    )
    trial = trial.says("root:impl#1.1", "TestsPassed", {"green": done}).says("root:review#1.1", "Approved").merges()
    found = [trial.criterion(one) for one in ("AC-1", "AC-2")]
    assert min({one.standing for one in found}) == standing
    assert [code for one in found for code in one.codes] == ([] if standing == "verified" else ["evidence.shared_test"])
