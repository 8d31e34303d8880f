"""RIPER's design loop, Ω₁ᴾ → Ω₂ᴬ: ACCEPT, REVISE and REJECT of the architecture (Λ₁) and of a module (Λ₂)."""

from pathlib import Path

import pytest

from tests.end_to_end.ending import RUN, End
from tests.end_to_end.riper import SHOP, critique, says, world_of
from tests.end_to_end.world import Answers, Move, World

pytestmark = pytest.mark.soak

TWO_HOMES = critique("Prices are computed in two modules.", "# Architecture", "One home for prices.")
VAGUE = critique("`priced` does not say what a cup without a price costs.", "## prices", "Name the error.")


def until_planned(world: World, answers: Answers | None = None) -> End:
    """The story up to the accepted design."""
    return world.run(answers, moves=[Move(("root:O3P#1.1",), lambda client: client.abort(RUN))])


def test_an_architecture_to_revise_goes_back_to_plan_mode_which_a_person_starts(place: Path) -> None:
    world = World(place, **world_of(SHOP))
    world.as_usual("O1P")
    world.agent("O1P", exit=SHOP.designed(architecture_design="# Architecture\nPrices have one home.\n"))
    world.agent("O2A", exit=says("REVISE", "Nearly.", critiques=[TWO_HOMES]))

    end = until_planned(world)

    assert end.steps()[:6] == ["person go", "O1P Designed", "O2A REVISE", "person go", "O1P Designed", "O2A ACCEPT"]
    again = end.prompt("root:O1P#2.1")
    assert " the architecture (Λ₁)\n> Nearly." in again
    assert "> Prices are computed in two modules." in again
    assert "> One home for prices." in again
    assert "> Prices have one home." in end.prompt("root:O2A#2.1"), "what is attacked is the second design"
    lane = end.works["root:O2A#2.1"].lane
    assert (lane / "memory-bank/systemPatterns/architecture_design.md").read_text().endswith("one home.\n")


def test_a_rejected_architecture_halts_the_run(place: Path) -> None:
    world = World(place, **world_of(SHOP))
    world.agent("O2A", exit=says("REJECT", reason="Nobody can name things without a dictionary."))

    end = world.run()

    assert (end.outcome, end.steps()) == ("Halted", ["person go", "O1P Designed", "O2A REJECT"])
    assert end.payload("root:O2A#1.1")["reason"] == "Nobody can name things without a dictionary."


def test_a_module_to_revise_goes_back_with_its_critiques_after_all_modules_were_attacked(place: Path) -> None:
    world = World(place, **world_of(SHOP))
    world.agent("audit", "root/prices", exit=says("REVISE", critiques=[VAGUE]))

    end = until_planned(world)

    assert end.steps()[:6] == ["person go", "O1P Designed", "O2A ACCEPT", "person go", "O1P Designed", "O2A ACCEPT"]
    again = end.prompt("root:O1P#2.1")
    assert " revision of module prices (Λ₂)" in again
    assert "> `priced` does not say what a cup without a price costs." in again
    assert "module labels (Λ₂)" not in again, "that one was accepted"
    assert {id_: out for id_, out in end.outcomes.items() if id_ != "root"} == {
        "root/labels": "Accepted",
        "root/labels~2": "Accepted",
        "root/prices": "Revise",
        "root/prices~2": "Accepted",
    }


def test_a_rejected_module_halts_the_run_as_the_architecture_would(place: Path) -> None:
    world = World(place, **world_of(SHOP))
    world.agent("audit", "root/labels", exit=says("REJECT", reason="No plural can be computed.", critiques=[VAGUE]))

    end = world.run()

    assert end.outcome == "Halted", end.told
    assert "root/prices" not in end.outcomes, "nothing else is attacked"
    assert end.steps()[-1] == "halted Notified"


def test_the_designer_reads_that_an_audit_was_aborted(place: Path) -> None:
    world = World(place, **world_of(SHOP))
    world.agent("audit", "root/labels", write={"src/mended.py": "PLURAL = 's'\n"}, exit=says("ACCEPT"))

    end = until_planned(world, {"root/labels:stopped": "abort"})

    assert "### readonly" in end.refusals("root/labels:audit#1.1"), "a mode without Γ₅ writes nothing"
    assert "src/mended.py" in end.ask("root/labels:stopped")
    assert "## Module labels was not audited (Λ₂)\n" in end.prompt("root:O1P#2.1")
