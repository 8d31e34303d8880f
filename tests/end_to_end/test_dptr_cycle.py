"""Ω₃: what QA and DE claim is looked at, and what each may write; disputes about tests; regressions are rolled back."""

from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.codes import shows
from tests.end_to_end.dptr import ONE, PARSE, SKELETON, product
from tests.end_to_end.ending import End
from tests.end_to_end.world import Answers, World

AT = ONE.place(PARSE)
ENOUGH = {"type": "BL", "message": "That is another story."}
WRONG = PARSE.code("return len(text)")
BROKEN = PARSE.code("return 0")
CRITIQUE = {"where": f"{PARSE.module}:3", "issue": "The point is looked for twice.", "requiredFix": "Once."}


def line(round_: int, phase: str) -> str:
    context = f'design={ONE.design_file}, plan={ONE.plan_file}, interface="{PARSE.interface}"'
    return f"Parameters: [S:TDD_story_root+money+Batch1+TDD1,R:{round_},C:TDD1,P:{phase},CTX:{context}]"


def refused(end: End, act: str, *said: str) -> None:
    """An attempt was refused, and the next one is told why."""
    place, _, attempt = act.rpartition(".")
    again = end.prompt(f"{place}.{int(attempt) + 1}")
    for one in said:
        assert one in end.refusals(act), end.refusals(act)
        assert one in again, again
    assert "## What failed last time" in again


@pytest.mark.soak
@shows("P0C", "RC", "GC", "BL")
def test_every_claim_of_a_cycle_is_looked_at(place: Path) -> End:
    world = World(place, **product(ONE))
    other = PARSE.code(SKELETON).replace("text: str", "text: bytes")
    world.agent("phase0", ONE.at, write={PARSE.module: other}, exit={"type": "P0C"})
    world.agent("phase0", ONE.at, write={**ONE.skeleton(), "src/money/extra.py": ""}, exit={"type": "P0C"})
    mistyped = PARSE.tests().replace("the_cents import", "the_sense import")
    world.agent("red", AT, write={PARSE.test_file: mistyped}, exit={"type": "RC"})
    world.agent("red", AT, write={PARSE.test_file: PARSE.tests(), PARSE.module: PARSE.code()}, exit={"type": "RC"})
    world.agent(
        "red", AT, write={PARSE.test_file: PARSE.tests()}, run=[["git", "checkout", "src"]], exit={"type": "RC"}
    )
    world.agent("green", AT, write={PARSE.module: WRONG}, exit={"type": "GC"})
    weak = PARSE.tests("cents('1') > 0")
    world.agent("green", AT, write={PARSE.test_file: weak, PARSE.module: PARSE.code()}, exit={"type": "GC"})
    world.agent(
        "green",
        AT,
        write={PARSE.module: PARSE.code()},
        run=[["git", "checkout", "tests"]],
        exit={"type": "GC", "message": "Points are left out."},
    )
    world.agent("refactor_tests", AT, exit=ENOUGH)
    end = world.run()

    assert end.steps(ONE.at)[2:4] == ["phase0 !gate", "phase0 P0C"], end.told
    refused(end, f"{ONE.at}:phase0#1.1", "def cents(text: bytes) -> int")
    refused(end, f"{ONE.at}:phase0#1.1", "[interface.other_signature]")
    assert end.steps(AT) == [
        "red !gate",
        "red !gate",
        "red RC",
        "green !gate",
        "green !gate",
        "green GC",
        "refactor_tests BL",
    ], end.told
    refused(end, f"{AT}:red#1.1", "[red.wrong_reason]")
    assert (PARSE.module, "scope.outside") in end.findings(f"{AT}:red#1.2")
    refused(end, f"{AT}:green#1.1", "test_cents", "assert 4 == 120")
    refused(end, f"{AT}:green#1.2", f"{PARSE.test_file}")
    red, green = end.prompt(f"{AT}:red#1.1"), end.prompt(f"{AT}:green#1.1")
    assert line(0, "ℜ") in red
    assert " only: tests/**" in red
    assert line(0, "ℜᴳ") in green
    assert " none of memory-bank/**, tests/**" in green
    assert f"Tests to pass: {PARSE.test_file}::test_cents" in green
    assert line(1, "ℜᶠᵗ") in end.prompt(f"{AT}:refactor_tests#1.1")
    asked = end.ask(f"{AT}:halt")
    assert f"Blocked (→BL):\n> That is another story.\n\nHALT at refactor_tests of {AT}" in asked
    assert "- retry: " in asked
    return end


ISSUE = {"test": "test_cents", "issue": "'1.2' has one digit only.", "suggestion": "Write '1.20'."}
TI: dict[str, Any] = {"type": "TI", "message": "It cannot be passed.", "issues": [ISSUE]}


@pytest.mark.soak
@shows("TI", "TA", "GC")
def test_a_test_that_is_disputed_is_adjusted_and_after_three_times_a_person_decides(place: Path) -> End:
    world = World(place, **product(ONE))
    bad = PARSE.tests("cents('1.2') == 120", "cents('0.07') == 7")
    world.agent("red", AT, write={PARSE.test_file: bad}, exit={"type": "RC"})
    for _ in range(4):
        world.agent("green", AT, exit=TI)
    for _ in range(3):
        world.agent("adjust", AT, exit={"type": "TA", "message": "The design says so."})
    world.agent("adjust", AT, write={PARSE.test_file: PARSE.tests()}, exit={"type": "TA", "message": "Repaired."})
    world.agent("refactor_tests", AT, exit=ENOUGH)
    end = world.run({f"{AT}:disputed": ("adjust", "Two digits, always.")})

    loop = ["green TI", "adjust TA"]
    assert end.steps(AT) == [
        "red RC",
        *loop * 3,
        "green TI",
        "disputed adjust",
        "adjust TA",
        "green GC",
        "refactor_tests BL",
    ]
    first = end.prompt(f"{AT}:adjust#1.1")
    assert "## Test issues\n> It cannot be passed.\n- test_cents:\n> '1.2' has one digit only." in first
    assert f" so far: {PARSE.test_file}::test_cents" in first
    assert line(0, "ℜ") in first
    unmoved = end.prompt(f"{AT}:green#2.1")
    assert "your test issue\n> The design says so." in unmoved
    asked = end.ask(f"{AT}:disputed")
    assert " a test of cycle TDD1 (money)." in asked
    assert "> '1.2' has one digit only." in asked
    assert "QA answered last:\n> The design says so." in asked
    assert "## A person says\n> Two digits, always." in end.prompt(f"{AT}:adjust#4.1")
    assert "> Repaired." in end.prompt(f"{AT}:green#5.1")
    return end


@pytest.mark.soak
@shows("RIC", "NEEDS_CHANGE", "BL")
def test_a_regression_is_rolled_back_and_after_two_more_a_person_decides(place: Path) -> End:
    world = World(place, **product(ONE))
    worse = PARSE.tests("cents('1.20') == 121")
    for _ in range(3):
        world.agent("refactor_tests", AT, write={PARSE.test_file: worse}, exit={"type": "RTC"})
    for _ in range(4):
        world.agent("refactor_impl", AT, write={PARSE.module: BROKEN}, exit={"type": "RIC"})
    world.agent("review_tests", AT, exit={"type": "APPROVED"})
    world.agent("review_impl", AT, exit={"type": "NEEDS_CHANGE", "critiques": [CRITIQUE]})
    world.agent("refactor_tests", AT, exit=ENOUGH)
    answers: Answers = {f"{AT}:quality_tests": "accept", f"{AT}:quality_impl": [("retry", "Smaller steps."), "accept"]}
    end = world.run(answers)

    undone = [f"{step} {left}" for step, left in (("refactor_{0}", "!gate"), ("rollback_{0}", "RolledBack"))]
    tests, impl = ([it.format(what) for it in undone] for what in ("tests", "impl"))
    assert end.steps(AT) == [
        "red RC",
        "green GC",
        *tests * 3,
        "quality_tests accept",
        *impl * 3,
        "quality_impl retry",
        *impl,
        "refactor_impl RIC",
        "review_tests APPROVED",
        "review_impl NEEDS_CHANGE",
        "refactor_tests BL",
    ], end.told
    again = end.prompt(f"{AT}:refactor_tests#2.1")
    restored = end.payload(f"{AT}:rollback_tests#1.1")["restoredCommit"]
    assert restored == end.payload(f"{AT}:green#1.1")["commit"], "the last accepted commit"
    assert f" again from {restored}." in again
    assert "assert 120 == 121" in again
    asked = end.ask(f"{AT}:quality_tests")
    assert "assert 120 == 121" in asked
    assert "- accept: " in asked
    noted = end.prompt(f"{AT}:refactor_impl#4.1")
    assert "## A person says\n> Smaller steps." in noted
    files = end.files(end.payload(f"{AT}:refactor_impl#5.1")["commit"])
    assert (files[PARSE.module].strip(), files[PARSE.test_file].strip()) == (
        PARSE.code().strip(),
        PARSE.tests().strip(),
    )
    return end
