"""Ω₁ and the start of Ω₂: what a person starts, and what a critic sends back, for the architecture and for a module."""

from pathlib import Path

import pytest

from tests.end_to_end.codes import shows
from tests.end_to_end.dptr import ARCHITECTURE, ONE, product
from tests.end_to_end.ending import RUN, End
from tests.end_to_end.world import Answers, Move, World

DESIGN = f"{ONE.at}/design"
CRITIQUE = {"where": "Amounts", "issue": "Nothing says how a debt is written.", "requiredFix": "Say it."}
REVISE = {"type": "REVISE", "message": "Nearly.", "critiques": [CRITIQUE]}
REJECT = {"type": "REJECT", "reason": "Floats cannot hold cents.", "critiques": [CRITIQUE]}
TOLD = """1. At:
> Amounts
   Issue:
> Nothing says how a debt is written.
   Required:
> Say it."""


def given_up(world: World) -> None:
    """Nobody plans: the story ends at the planner's halt."""
    world.agent("spec", f"{ONE.at}/plan", exit={"type": "BL", "message": "That is another story."})


@pytest.mark.soak
@shows("REVISE", "REJECT", "ACCEPT", "BL")
def test_an_architecture_is_revised_rejected_redesigned_and_accepted(place: Path) -> End:
    world = World(place, **product(ONE))
    world.agent("audit", exit=REVISE)
    world.agent("audit", exit=REJECT)
    given_up(world)
    end = world.run({"root:rejected": ("redesign", "Whole cents, always.")})

    loop = ["person go", "architecture Architecture", "person go"]
    assert end.steps("root") == [
        *loop,
        "audit REVISE",
        *loop,
        "audit REJECT",
        "rejected redesign",
        *loop,
        "audit ACCEPT",
    ]
    first, revised, redesigned = (end.prompt(f"root:architecture#{n}.1") for n in (1, 2, 3))
    assert "The critic" not in first.partition("# Your task")[2].partition("A critic audits")[2]
    assert f" revision\n> Nearly.\n{TOLD}" in revised
    assert "A person says" not in revised
    assert "rejected the approach\n> Floats cannot hold cents." in redesigned
    assert "## A person says\n> Whole cents, always." in redesigned
    assert "wants a revision" not in redesigned, "what was answered is not said again"
    audit = end.prompt("root:audit#1.1")
    assert "Parameters: [CTX:architecture=/memory-bank/systemPatterns.md]" in audit
    assert "> One package for each module." in audit
    assert "It adds no module" in audit
    asked = end.ask("root:rejected")
    assert "> Floats cannot hold cents." in asked
    assert TOLD in asked
    assert "- redesign: " in asked
    return end


@pytest.mark.soak
@shows("REVISE", "REJECT")
def test_a_module_is_revised_rejected_and_aborted(place: Path) -> End:
    world = World(place, **product(ONE))
    world.agent("critic", DESIGN, exit=REVISE)
    world.agent("critic", DESIGN, exit=REJECT)
    world.agent("critic", DESIGN, exit=REJECT)
    answers: Answers = {
        f"{DESIGN}:rejected": [("redesign", "Think of debts."), "abort"],
        f"{ONE.at}:failed": "abort",
        "root:failed": "abort",
    }
    end = world.run(answers)

    assert end.outcomes == {"root": "Aborted", ONE.at: "Aborted", DESIGN: "Aborted"}
    assert [it for it in end.steps(DESIGN) if it != "person go"] == [
        "design Designed",
        "critic REVISE",
        "design Designed",
        "critic REJECT",
        "rejected redesign",
        "design Designed",
        "critic REJECT",
        "rejected abort",
    ]
    assert f" revision\n> Nearly.\n{TOLD}" in end.prompt(f"{DESIGN}:design#2.1")
    redesigned = end.prompt(f"{DESIGN}:design#3.1")
    assert "rejected the approach\n> Floats cannot hold cents." in redesigned
    assert "## A person says\n> Think of debts." in redesigned
    critic = end.prompt(f"{DESIGN}:critic#1.1")
    context = "module=/memory-bank/modules/money, architecture=/memory-bank/systemPatterns.md"
    assert f"Parameters: [CTX:{context}]" in critic
    assert "> def cents(text: str) -> int" in critic
    assert " module money was not finished: its design (Ω₁)." in end.ask(f"{ONE.at}:failed")
    assert " modules of the brief." in end.ask("root:failed")
    return end


def test_no_design_step_starts_before_a_persons_go(place: Path) -> None:
    world = World(place, **product(ONE))
    world.agent("architecture", exit={**ARCHITECTURE, "patterns": "# Patterns\n\nGiven by the story."})
    end = world.run(goes=False)
    assert (end.course, end.works) == ([], {})

    world = World(place, **product(ONE))
    end = world.run(moves=[Move(("root:architecture",), lambda it: it.go(RUN, "architecture"))], goes=False)
    assert end.course == ["root:person go", "root:architecture#1.1 Architecture"], "the audit waits for the next word"
