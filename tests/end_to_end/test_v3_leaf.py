"""V3 on a single node: every way that its agents can go, from a spec to verified code."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.ending import RESULT
from tests.end_to_end.honest import played
from tests.end_to_end.world import Move, World
from tests.fakes import StillClock
from treadle.kernel.events import Idle
from treadle.runtime.agent import REMINDER

USUAL = ["scaffold InitWork", "tests TestsReady", "impl TestsPassed", "review Approved", "merge MergeComplete"]
CODE, TESTS = "src/basket/adding.py", "tests/basket/test_adding.py"
MANIFEST = "tests/basket/test_manifest.json"


def leaf(place: Path, **more: Any) -> World:
    return World(place, **played("leaf"), **more)


def honest(world: World, step: str) -> dict[str, str]:
    """What the honest agent of a step writes."""
    return next(it for it in world.cast.others if it.step == step).turn.write


def test_a_leaf_is_planned_tested_built_reviewed_and_merged(place: Path) -> None:
    end = leaf(place).run()

    assert (end.outcome, end.steps()) == ("Merged", USUAL)
    planner, tests, impl, review = (end.prompt(f"root:{step}#1.1") for step in ("scaffold", "tests", "impl", "review"))
    assert all("From ten pieces of one item on" in prompt for prompt in (planner, tests, impl, review))
    assert "`test_ten_pieces_are_cheaper`" in tests
    assert " only: src/basket, src/basket/**; but not tests/basket, tests/basket/**." in impl
    assert "They stand for AC-1, AC-2, AC-3." in impl
    assert "these failed:\n- tests/basket/test_adding.py::test_a_bad_quantity_is_refused" in impl
    assert ", attempt 1; passing:" in review
    assert "+                return cents * 9 // 10" not in planner
    assert "+    return cents * 9 // 10 if item.quantity >= 10 else cents" in review

    ready, passed, merged = (end.payload(f"root:{it}#1.1") for it in ("tests", "impl", "merge"))
    assert ready["testFiles"] == [TESTS, MANIFEST]
    assert ready["pendingCriteria"] == ["AC-1", "AC-2", "AC-3"]
    assert set(ready["pendingTests"]) <= set(passed["passedTests"])
    assert (passed["iterations"], passed["coveredCriteria"]) == (1, ["AC-1", "AC-2", "AC-3"])
    assert end.payload("root:review#1.1")["coverageReport"]["criteriaMissing"] == []
    assert merged["mergeCommit"] == end.git("rev-parse", "treadle/story/result")
    assert end.checks("root:tests#1.1")["red"]
    assert end.checks("root:impl#1.1")["green"]

    assert end.subjects() == ["feat(basket): What the things in a basket cost"]
    said = end.git("log", "-1", "--format=%(trailers:unfold)", RESULT).split("\n")
    assert [line for line in said if line] == [
        "Treadle-Run: story", "Criterion: basket/AC-1", "Criterion: basket/AC-2", "Criterion: basket/AC-3",
    ]  # fmt: skip
    body = end.git("log", "-1", "--format=%b", RESULT)
    assert "    tests/basket/test_adding.py::test_a_bad_quantity_is_refused" in body.splitlines()
    assert end.git("rev-parse", "main") == end.git("rev-parse", "treadle/story/result^"), (
        "nobody moved the user's branch"
    )
    assert end.suite().startswith("8 passed")
    assert end.standings() == dict.fromkeys(("AC-1", "AC-2", "AC-3"), "verified by root")


@pytest.mark.soak
def test_a_scaffold_that_lacks_a_type_goes_back_to_the_planner(place: Path) -> None:
    world = leaf(place)
    world.agent(
        "tests",
        exit={"type": "InvalidScaffold", "missingType": "Discount", "expectedLocation": "src/basket/item.py"},
    )
    world.as_usual("scaffold")
    added = "\n\nclass Discount(NamedTuple):\n    percent: int\n"
    world.agent("scaffold", append={"src/basket/item.py": added}, exit=world.cast.own[-1].turn.exit)

    end = world.run()

    assert end.outcome == "Merged", end.told
    assert end.steps() == ["scaffold InitWork", "tests InvalidScaffold", *USUAL]
    again = end.prompt("root:scaffold#2.1")
    assert [it for it in ("`Discount`", " src/basket/item.py.") if it not in again] == []
    assert "## The test author" not in end.prompt("root:scaffold#1.1")
    assert "class Discount" in end.files()["src/basket/item.py"], "the plan that holds is the second one"
    assert end.standings() == dict.fromkeys(("AC-1", "AC-2", "AC-3"), "verified by root")
    assert "root:tests#1.1" in [it["act"] for it in end.evidence()["setbacks"]], "it stays in the history"


@pytest.mark.soak
def test_a_contradiction_goes_to_the_planner_and_then_to_the_person(place: Path) -> None:
    world = leaf(place)
    trace = "Ten pieces at 1 cent cost 9 cents, and one alone would cost 0.9 cents."
    world.agent(
        "impl",
        exit={
            "type": "SpecAmbiguity",
            "specSentence": "a tenth is taken off its price",
            "contradictionTrace": trace,
            "question": "Off the price of one, or of all?",
        },
    )
    world.as_usual("scaffold")
    world.agent(
        "scaffold",
        exit={
            "type": "ClarificationNeeded",
            "question": "Is the tenth taken off the sum?",
            "ambiguityReference": "AC-2",
            "specSentence": "a tenth is taken off its price",
        },
    )

    end = world.run({"root:clarify": ("Clarified", "Off the sum, rounded down.")})

    assert end.outcome == "Merged", end.told
    assert end.steps() == [
        "scaffold InitWork",
        "tests TestsReady",
        "impl SpecAmbiguity",
        "scaffold ClarificationNeeded",
        "clarify Clarified",
        *USUAL,
    ]
    found = end.prompt("root:scaffold#2.1")
    assert " a contradiction" in found
    assert all(f"> {words}" in found for words in ("a tenth is taken off its price", trace, "Off the price of one, or"))
    question = end.ask("root:clarify")
    assert "> Is the tenth taken off the sum?" in question
    assert "It is about AC-2" in question
    told = "Question:\n> Is the tenth taken off the sum?\nAnswer:\n> Off the sum, rounded down."
    assert " been clarified" not in end.prompt("root:scaffold#2.1")
    for act in ("root:scaffold#3.1", "root:tests#2.1", "root:impl#2.1", "root:review#1.1"):
        assert told in end.prompt(act), act
    decisions = end.evidence()["decisions"]
    assert [(it["step"], it["choice"], it["note"]) for it in decisions] == [
        ("clarify", "Clarified", "Off the sum, rounded down.")
    ]
    assert end.standings() == dict.fromkeys(("AC-1", "AC-2", "AC-3"), "verified by root")


@pytest.mark.soak
@pytest.mark.parametrize(
    ("step", "problem", "words"),
    [
        (
            "tests",
            {"type": "InvalidScaffold", "missingType": "Discount", "expectedLocation": "src/basket/item.py"},
            "`Discount` is missing; ",
        ),
        (
            "impl",
            {"type": "BlockedDependency", "missingSymbol": "vat", "expectedImportPath": "src/basket/vat.py"},
            "`vat`",
        ),
    ],
)
def test_a_problem_that_the_planner_cannot_decide_goes_on_to_the_person(
    step: str, problem: dict[str, str], words: str, place: Path
) -> None:
    world = leaf(place)
    world.agent(step, exit=problem)
    world.as_usual("scaffold")
    question = {"question": "Who owns it?", "ambiguityReference": "AC-2", "specSentence": "a tenth is taken off"}
    world.agent("scaffold", exit={"type": "ClarificationNeeded", **question})

    end = world.run({"root:clarify": ("Clarified", "Nobody: do without.")})

    assert end.outcome == "Merged", end.told
    before = USUAL[: USUAL.index(f"{step} {'TestsReady' if step == 'tests' else 'TestsPassed'}")]
    reported = [f"{step} {problem['type']}", "scaffold ClarificationNeeded", "clarify Clarified"]
    assert end.steps() == [*before, *reported, *USUAL]
    assert words in end.prompt("root:scaffold#2.1")
    assert "> Who owns it?" in end.ask("root:clarify")
    for act in ("root:scaffold#3.1", "root:tests#2.1"):
        assert "Answer:\n> Nobody: do without." in end.prompt(act), act


@pytest.mark.soak
def test_the_fifth_request_to_retry_is_stuck_and_the_person_reads_earlier_attempts(place: Path) -> None:
    world = leaf(place)
    for number in range(1, 6):
        world.agent(
            "impl",
            append={CODE: f"\n\ndef idea_{number}() -> int:\n    return {number}\n"},
            exit={
                "type": "RequestRetry",
                "diagnosis": f"Idea {number} does not add up.",
                "strategyFrom": f"idea {number}",
                "strategyTo": f"idea {number + 1}",
            },
        )

    end = world.run({"root:stuck": ("retry", "Multiply first.")})

    assert end.outcome == "Merged", end.told
    assert end.steps() == [
        *USUAL[:2],
        *["impl RequestRetry"] * 4,
        "impl Stuck",
        "stuck retry",
        *USUAL[2:],
    ]
    last = end.prompt("root:impl#1.5")
    assert "attempt 5 of 5" in last
    assert "This is the last attempt" in last
    assert [f"> Idea {number} does not add up." in last for number in range(1, 6)] == [True] * 4 + [False]
    assert "tests/basket/test_adding.py::test_the_sum" in end.payload("root:impl#1.1")["failingTests"]
    question = end.ask("root:stuck")
    assert [f"> Idea {number} does not add up." in question for number in range(1, 6)] == [True] * 5
    assert "Attempt 4, failing " in question
    again = end.prompt("root:impl#2.1")
    assert "## A person says\n> Multiply first." in again
    assert "attempt 1 of 5" in again
    assert end.payload("root:impl#2.1")["iterations"] == 1
    assert end.standings() == dict.fromkeys(("AC-1", "AC-2", "AC-3"), "verified by root")


@pytest.mark.soak
def test_a_review_that_misses_tests_has_them_written_first(place: Path) -> None:
    """With agents whose conversations can be continued, everybody goes on from where his memory is."""
    world = leaf(place, conversations=True)
    tests, code = honest(world, "tests"), honest(world, "impl")[CODE]
    world.agent(
        "tests",
        write={**tests, TESTS: tests[TESTS].replace(", (20, 1800)", "")},
        exit={"type": "TestsReady"},
    )
    world.agent("impl", write={CODE: code.replace(">= 10", "== 10")}, exit={"type": "TestsPassed"})
    approach = "twenty pieces are cheaper too"
    world.agent(
        "review",
        exit={
            "type": "MoreTests",
            "critiques": [
                {"file": CODE, "line": 15, "issue": "Eleven pieces cost the full price.", "requiredFix": "From ten on."}
            ],
            "additionalTests": [{"criterionId": "AC-2", "plannedTestName": "test_twenty_pieces", "approach": approach}],
        },
    )

    end = world.run()

    assert end.outcome == "Merged", end.told
    assert end.steps() == [*USUAL[:3], "review MoreTests", *USUAL[1:]]
    more = end.prompt("root:tests#2.1")
    assert " more tests" in more
    assert f"- AC-2: `test_twenty_pieces`\n> {approach}" in more
    assert " passing tests: AC-1, AC-2, AC-3." in more
    fix = end.prompt("root:impl#2.1")
    assert "## Critiques" in fix
    assert "> Eleven pieces cost the full price." in fix
    assert "> From ten on." in fix
    assert "test_ten_pieces_are_cheaper[20-1800]" in fix
    assert end.payload("root:tests#2.1")["pendingTests"] == [f"{TESTS}::test_ten_pieces_are_cheaper[20-1800]"]
    found = {it["id"]: it for it in end.evidence()["criteria"]}
    assert {id_: it["standing"] for id_, it in found.items()} == dict.fromkeys(("AC-1", "AC-2", "AC-3"), "verified")
    assert (found["AC-2"]["red"], found["AC-2"]["green"]) == ("root:tests#2.1", "root:impl#2.1")

    talks = {act: (work.session.removeprefix("conversation of "), work.fork) for act, work in end.works.items()}
    assert talks == {
        "root:scaffold#1.1": ("", False),
        "root:tests#1.1": ("root:scaffold#1.1", True),
        "root:impl#1.1": ("root:scaffold#1.1", True),
        "root:review#1.1": ("root:tests#1.1", False),
        "root:tests#2.1": ("root:tests#1.1", False),
        "root:impl#2.1": ("root:impl#1.1", False),
        "root:review#2.1": ("root:tests#1.1", False),
    }


@pytest.mark.soak
def test_a_review_with_critiques_alone_goes_straight_to_the_implementer(place: Path) -> None:
    world = leaf(place)
    code = honest(world, "impl")[CODE]
    world.agent("impl", write={CODE: code.replace("_cost", "_c")}, exit={"type": "TestsPassed", "note": "Short names."})
    world.agent(
        "review",
        exit={
            "type": "MoreTests",
            "critiques": [{"file": CODE, "line": 8, "issue": "_c says nothing.", "requiredFix": "Call it _cost."}],
            "additionalTests": [],
        },
    )

    end = world.run()

    assert end.outcome == "Merged", end.told
    assert end.steps() == [*USUAL[:3], "review MoreTests", *USUAL[2:]]
    assert " remarks:\n> Short names." in end.prompt("root:review#1.1")
    fix = end.prompt("root:impl#2.1")
    assert f"- {CODE}:8\n> _c says nothing.\n  Required:\n> Call it _cost." in fix
    assert "_c(" not in end.files()[CODE]
    assert end.standings() == dict.fromkeys(("AC-1", "AC-2", "AC-3"), "verified by root")


@pytest.mark.soak
def test_a_rejected_approach_goes_to_a_person_and_is_planned_anew(place: Path) -> None:
    world = leaf(place)
    tests, code = honest(world, "tests"), honest(world, "impl")[CODE]
    weak = {**tests, TESTS: tests[TESTS].replace(", (20, 1800)", "")}
    world.agent("tests", write=weak, exit={"type": "TestsReady"})
    world.agent("impl", write={CODE: code.replace(">= 10", "== 10")}, exit={"type": "TestsPassed"})
    reason = "The plan looks at ten pieces and at no other number."
    world.agent("review", exit={"type": "Reject", "reason": reason, "missingCriteria": ["AC-2"]})
    world.as_usual("scaffold")
    plan = dict(world.cast.own[-1].turn.exit or {})
    planned = plan["testPlan"]
    assert isinstance(planned, list)
    more = {"criterionId": "AC-2", "plannedTestName": "test_twenty_pieces", "approach": "cheaper, too"}
    world.agent("scaffold", exit={**plan, "testPlan": [*planned, more]})

    end = world.run({"root:rejected": ("replan", "Say in the plan which numbers.")})

    assert end.outcome == "Merged", end.told
    assert end.steps()[3:5] == ["review Reject", "rejected replan"]
    assert end.steps()[5:] == USUAL
    question = end.ask("root:rejected")
    assert f"> {reason}" in question
    assert " cannot satisfy: AC-2." in question
    planned_anew = end.prompt("root:scaffold#2.1")
    assert f" rejects the approach\n> {reason}" in planned_anew
    assert "## A person says\n> Say in the plan which numbers." in planned_anew
    assert " by a skeleton" in planned_anew
    retested = end.prompt("root:tests#2.1")
    assert "- AC-2: `test_twenty_pieces`\n> cheaper, too" in retested
    assert f" rejected the work\n> {reason}" in retested
    assert ("rejected", "replan") in [(it["step"], it["choice"]) for it in end.evidence()["decisions"]]
    assert end.standings() == dict.fromkeys(("AC-1", "AC-2", "AC-3"), "verified by root")


@pytest.mark.soak
def test_an_agent_that_is_silent_for_a_minute_is_reminded_and_answers(place: Path) -> None:
    clock = StillClock()
    world = leaf(place, clock=clock)
    work = honest(world, "impl")
    world.agent("impl", reminded=True, write=work, exit={"type": "TestsPassed"})
    passing: list[asyncio.Future[None]] = []

    async def a_minute_of_silence() -> None:
        while 60 not in clock.naps():
            await asyncio.sleep(0.05)
        await clock.advance(61)

    end = world.run(
        moves=[Move(("root:impl#1.1",), lambda _: passing.append(asyncio.ensure_future(a_minute_of_silence())))]
    )

    assert (end.outcome, end.steps()) == ("Merged", USUAL)
    assert end.reminders == {"root:impl#1.1": [REMINDER]}
    assert [(it.act, it.idle_s) for it in end.events if isinstance(it, Idle)] == [("root:impl#1.1", 60)]
    assert end.deeds["root:impl#1.1"].nudges == 1
    assert end.payload("root:impl#1.1")["iterations"] == 1, "a reminder is no attempt"
