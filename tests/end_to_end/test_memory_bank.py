"""The memory bank of runs from end to end: true whenever somebody looks, and nobody's but the orchestrator's."""

from pathlib import Path

import pytest

from tests.end_to_end.dptr import PARSE, SHOW, TWO, product
from tests.end_to_end.ending import RUN, End
from tests.end_to_end.riper import LABEL, world_of
from tests.end_to_end.world import Answer, Move, World
from treadle.engines.client import Client
from treadle.views.bank import run_of

STATE, PROGRESS, PROTECTION = (f"memory-bank/{name}.md" for name in ("activeContext", "progress", "protection"))


def bank(end: End, act: str, path: str) -> str:
    """A document as an agent found it when it began."""
    return (end.works[act].bundle / "files" / path).read_text()


def state(text: str) -> dict[str, str]:
    """STATE, field by field."""
    lines = text.partition("\n## R1 ")[2].partition("\n## R2 ")[0].splitlines()
    return dict(line.removeprefix("- ").split(": ", 1) for line in lines if line.startswith("- "))


def told(end: End, act: str, *names: str) -> list[str]:
    found = state(bank(end, act, STATE))
    return [found[name] for name in names]


@pytest.mark.soak
def test_the_bank_of_riper_is_true_at_every_step(place: Path) -> None:
    end = World(place, **world_of()).run()
    assert end.outcome == "Done", end.told
    at = "root/TDD1"
    modes = {
        "root:O1P#1.1": "Ω₁ᴾ",
        "root:O2A#1.1": "Ω₂ᴬ",
        "root/labels:audit#1.1": "Ω₂ᴬ",
        "root:O3P#1.1": "Ω₃ᴾ",
        "root:O4C#1.1": "Ω₄ᶜ",
        f"{at}:red#1.1": "Ω₅ᵀ",
        "root:O6V#1.1": "Ω₆ⱽ",
    }
    assert {act: told(end, act, "Ω_current")[0] for act in modes} == modes
    approvals = ("design_approved", "plan_approved", "tdd_mode")
    assert told(end, "root/labels:audit#1.1", *approvals) == ["false", "false", "false"]
    assert told(end, "root:O3P#1.1", *approvals) == ["true", "false", "false"]
    assert told(end, f"{at}:red#1.1", *approvals) == ["true", "true", "true"]
    assert told(end, "root:O6V#1.1", *approvals) == ["true", "true", "false"]
    fields = ("tdd_phase", "refactor_stage", "last_test_result", "qa_agent_active", "de_agent_active", "round")
    assert told(end, f"{at}:red#1.1", *fields) == ["ℜ", "null", "null", "true", "false", "0"]
    assert told(end, f"{at}:green#1.1", *fields) == ["ℜᴳ", "null", "fail", "false", "true", "0"]
    assert told(end, f"{at}:test#1.1", *fields) == ["ℜᶠᵗ", "test", "pass", "true", "false", "0"]
    assert told(end, f"{at}:impl#1.1", *fields) == ["ℜᶠⁱ", "impl", "pass", "false", "true", "0"]
    assert told(end, f"{at}:qa_cross_review#1.1", *fields)[:2] == ["ℜᶠ", "qa_cross_review"]
    assert told(end, f"{at}:de_cross_review#1.1", *fields)[:2] == ["ℜᶠ", "de_cross_review"]
    assert "> labels is tested." not in bank(end, f"{at}:green#1.1", STATE)
    assert "> label is tested." in bank(end, f"{at}:green#1.1", STATE), "what QA has handed on"
    assert f"| 🔄 | TDD1 | {LABEL.text} | labels | ℜ red |" in bank(end, f"{at}:red#1.1", PROGRESS)
    assert f"| ✅ | TDD1 | {LABEL.text} | labels | Done |" in bank(end, "root:O6V#1.1", PROGRESS)
    _ends_in_the_checkout(end)


def _ends_in_the_checkout(end: End) -> None:
    """What the user sees is what the run's folder has; git's index and branches know nothing of it."""
    for path in (STATE, PROGRESS, PROTECTION, "memory-bank/projectbrief.md"):
        text = (end.root / path).read_text()
        assert run_of(text) == RUN
        assert text == (end.root / ".treadle/local/runs" / RUN / "files" / path).read_text()
        assert path not in end.files()
    assert state((end.root / STATE).read_text())["outcome"] == "Done"
    assert end.git("status", "--porcelain") == "?? memory-bank/"
    assert "memory-bank/tdd_plan.md" in end.files()
    assert "pytest for its tests [↗️σ₂:R1]" in end.files()["memory-bank/techContext.md"]
    assert not any("memory-bank" in stray for stray in end.strays)
    assert not any("memory-bank" in one for act in end.deeds.values() for one in [str(act.checked)])


@pytest.mark.soak
def test_a_persons_confirmation_stands_in_the_bank(place: Path) -> None:
    world = World(place, **world_of())
    contract = {LABEL.file: LABEL.code(), "src/shop/contracts/label.txt": "a label\n"}
    world.agent("green", LABEL.at, write=contract, exit={"type": "GC", "message": "With a contract."})
    seen: list[str] = []

    def look(_client: Client) -> None:
        seen.extend((world.root / path).read_text() for path in (PROTECTION, PROGRESS))

    asked = f"{LABEL.at}:confirm"
    looked = Move((asked,), look)
    end = world.run({asked: Answer("confirm", "It is mine.")}, [looked])
    assert end.outcome == "Done", end.told
    assert "| src/shop/contracts/label.txt | Ψ5 | root/TDD1 |" in seen[0].partition("## R3 Open")[2]
    assert "| ⚠️ | TDD1 |" in seen[1]
    assert "green#1.1: protection: src/shop/contracts/label.txt: is protected (Ψ5)" in seen[1]
    confirmed = bank(end, f"{LABEL.at}:test#1.1", PROTECTION)
    row = next(line for line in confirmed.splitlines() if line.startswith("| src/shop/contracts/label.txt"))
    assert row.startswith("| src/shop/contracts/label.txt | Ψ5 | confirm | ")
    assert row.endswith("| root/TDD1 | It is mine. |")
    assert confirmed.partition("## R3 Open")[2].strip() == "none"


@pytest.mark.soak
def test_an_agent_that_writes_the_progress_itself_is_refused(place: Path) -> None:
    world = World(place, **world_of())
    forged = {LABEL.file: LABEL.code(), PROGRESS: "# σ₅\n✅ everything\n", STATE: "# σ₄\n- design_approved: true\n"}
    world.agent("green", LABEL.at, write=forged, exit={"type": "GC"})
    end = world.run()
    assert end.steps(LABEL.at) == ["red RC", "green !gate"], end.told
    assert [it.id.partition("#")[0] for it in end.open] == ["root:manual"], end.told
    found = end.findings(f"{LABEL.at}:green#1.1")
    assert {(PROGRESS, "scope.outside"), (STATE, "scope.outside")} <= found
    text = (end.root / PROGRESS).read_text()
    assert "everything" not in text
    assert "| ❌ | TDD1 |" in text
    assert f"- ❌ {text.partition('- ❌ ')[2].partition(' root')[0]} root/TDD1:green#1.1: scope_src:" in text
    assert "was not run" not in text
    now = state((end.root / STATE).read_text())
    assert (now["Ω_current"], now["tdd_mode"], now["de_agent_active"]) == ("Ω₆ⱽ", "false", "false")
    analysis = bank(end, "root:O6V_failed#1.1", STATE)
    assert "- from: Ω₅ᵀ root/TDD1:green#1.1 !gate" in analysis
    assert "[scope.outside]" in analysis


@pytest.mark.soak
def test_the_bank_of_dptr_is_true_at_every_step(place: Path) -> None:
    world = World(place, **product(TWO))
    broken = {"type": "RTC", "message": "Shorter."}
    world.agent(
        "refactor_tests", TWO.place(PARSE), write={PARSE.test_file: "def test_it():\n    assert False\n"}, exit=broken
    )
    end = world.run()
    assert end.outcome == "Done", end.told
    one, other = TWO.place(PARSE), TWO.place(SHOW)
    modes = {
        "root:architecture#1.1": "Ω₁ᴰ",
        "root:audit#1.1": "Ω₁ᶜ",
        f"{TWO.at}/design:design#1.1": "Ω₁ᴰ",
        f"{TWO.at}/design:critic#1.1": "Ω₁ᶜ",
        f"{TWO.at}/plan:spec#1.1": "Ω₂ˢ",
        f"{TWO.at}/plan:critic#1.1": "Ω₂ᶜ",
        f"{TWO.at}:phase0#1.1": "Ω₃ᴱ",
        f"{one}:red#1.1": "Ω₃",
        f"{other}:green#1.1": "Ω₃",
        "root:review#1.1": "Ω₄ᴿ",
    }
    assert {act: told(end, act, "Ω_current")[0] for act in modes} == modes
    assert told(end, f"{TWO.at}/plan:spec#1.1", "design_approved", "plan_approved") == ["true", "false"]
    cycles, phase, qa, de = told(
        end, f"{other}:green#1.1", "current_cycle", "tdd_phase", "qa_agent_active", "de_agent_active"
    )
    assert (cycles, phase, qa, de) == (f"{PARSE.id}; {SHOW.id}", "ℜᴳ", "false", "true"), "WAIT_ALL holds for both"
    again = bank(end, f"{one}:refactor_tests#2.1", PROGRESS)
    assert f"- ⚠️ {again.partition('- ⚠️ ')[2].partition(' root')[0]} {one}:refactor_tests#1.1: green" in again
    final = (end.root / PROGRESS).read_text()
    assert final.count("| ✅ | TDD") == 2
    assert "| ✅ | Batch1 | " in final
    now = state((end.root / STATE).read_text())
    assert (now["outcome"], now["tdd_mode"], now["current_cycle"]) == ("Done", "false", "null")
    assert not (end.root / PROTECTION).exists(), "DPTR has no σ₆"
