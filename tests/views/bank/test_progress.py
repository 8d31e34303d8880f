"""σ₅ at many moments of runs."""

from tests.views.bank.banked import Banked, dptr_at_red, executed
from treadle.kernel.events import Replied, TimerFired
from treadle.protocol.items import Json

BATCH = "root/labels/Batch1"
WHOLE = """\
# σ₅ Progress of run

## R1 tdd_cycles

|  | cycle | what | module | where |
| --- | --- | --- | --- | --- |
| ⚠️ | TDD1 | Label | labels | a person is asked: confirm@red |
|  | TDD2 | Price | prices | planned |

## R2 Batches

none

## R3 Errors

- ⚠️ 1970-01-01 00:00:15 UTC root/TDD1:red#1.1: crashed: it was killed

## R4 Failed gates

- ⚠️ 1970-01-01 00:00:15 UTC root/TDD1:red#1.1: protection: src/interfaces/a.py is protected

## R5 Decisions

none
"""


def test_the_whole_document() -> None:
    found = executed()
    found.said |= {"ref:crash": "it was killed", "report:protection": "- src/interfaces/a.py is protected\n- more"}
    found.run.fails("crash")
    found.says("RC", fails=["protection"])
    assert found.view("progress") == WHOLE


def cycles(found: Banked) -> list[str]:
    return [line.split(" | ")[0].removeprefix("| ") for line in found.section("progress", 1).splitlines()[2:]]


def test_a_cycle_is_processed_and_done() -> None:
    found = executed()
    assert cycles(found) == ["🔄", ""]
    for exit_ in ("RC", "GC", "RTC", "RIC", "RFC", "RFC"):
        found.says(exit_)
    found.run.checked()
    found.run.checked()
    found.says("MergeComplete")
    assert cycles(found) == ["✅", "🔄"]
    assert "| ✅ | TDD1 | Label | labels | Done |" in found.section("progress", 1)


def test_a_cycle_that_failed() -> None:
    found = executed().says("RC", fails=["red"])
    assert cycles(found) == ["❌", ""]
    assert found.section("progress", 4) == "- ❌ 1970-01-01 00:00:14 UTC root/TDD1:red#1.1: red"


def test_agents_that_are_blocked_or_out_of_time() -> None:
    found = executed().says("BL", {"message": "There is no compiler."})
    assert found.section("progress", 3).endswith("root/TDD1:red#1.1 →BL: There is no compiler.")
    late = executed()
    late.run.happens(TimerFired(id="t", ts=99_000, timer=late.run.activity()))
    assert late.section("progress", 3) == "- ❌ 1970-01-01 00:01:39 UTC root/TDD1:red#1.1: timed out"


def test_a_quality_failure_is_documented() -> None:
    found = executed()
    for exit_ in ("RC", "GC", "RTC", "RIC"):
        found.says(exit_)
    wrong: Json = {"where": "a.py:3", "issue": "is unreadable", "requiredFix": "name it"}
    found.says("QUALITY_FAILURE", {"gate": "REFACTOR_GATE", "critiques": [wrong]})
    assert found.section("progress", 4).endswith(
        "root/TDD1:qa_cross_review#1.1 →QUALITY_FAILURE: REFACTOR_GATE: a.py:3: is unreadable (name it)"
    )
    assert found.section("progress", 3) == "none"
    assert cycles(found) == ["❌", ""]


def test_a_persons_decisions_are_listed() -> None:
    found = executed().says("RC", fails=["protection"])
    found.said["ref:note"] = "It is mine.\n# Go on"
    asked = found.run.question()
    found.run.happens(Replied(id="r", ts=60_000, ask=asked, choice="confirm", note_ref="ref:note", actor="Ada"))
    assert found.section("progress", 5) == (
        "- 1970-01-01 00:01:00 UTC root/TDD1:confirm@red#1.1: confirm (Ada)\n\n> It is mine.\n> # Go on"
    )


def test_batches_of_cycles() -> None:
    found = dptr_at_red()
    assert found.section("progress", 2).endswith("| 🔄 | Batch1 | TDD1, TDD2 (parallel 2) | labels | cycles |")
    for exit_ in ("RC", "GC", "RTC", "RIC", "APPROVED", "APPROVED"):
        for cycle in ("TDD1", "TDD2"):
            found.says(exit_, at=f"{BATCH}/{cycle}:{found.run.where(f'{BATCH}/{cycle}')}")
    found.says("MergeComplete", at=f"{BATCH}/TDD1:fold").says("MergeComplete", at=f"{BATCH}/TDD2:fold")
    assert cycles(found) == ["✅", "✅"]
    found.run.checked()
    found.says("MergeComplete")
    assert found.section("progress", 2).endswith("| ✅ | Batch1 | TDD1, TDD2 (parallel 2) | labels | Done |")


def test_a_quality_gate_that_a_person_is_asked_about() -> None:
    found = dptr_at_red()
    for cycle in ("TDD1", "TDD2"):
        found.says("RC", at=f"{BATCH}/{cycle}:red")
    for cycle in ("TDD1", "TDD2"):
        found.says("GC", at=f"{BATCH}/{cycle}:green")
    for _ in range(3):
        found.says("RTC", at=f"{BATCH}/TDD1:refactor_tests", fails=["green"])
        found.says("RolledBack", at=f"{BATCH}/TDD1:rollback_tests")
    gates = found.section("progress", 4)
    assert gates.count("⚠️") == 3
    assert f"{BATCH}/TDD1:quality_tests#1.1: QUALITY_FAILURE: " in gates.splitlines()[-1]
    assert cycles(found) == ["⚠️", "🔄"]
