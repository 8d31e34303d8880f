"""A step that breaks a neighbour's test is refused at that step: its author mends it, and no other step pays."""

from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from tests.end_to_end import riper, waterfall
from tests.end_to_end.world import World

UNITS: Final = "src/shop/units.py"
CENTS: Final = "def unit() -> str:\n    return 'cent'\n"
NEIGHBOUR: Final = {
    UNITS: CENTS,
    "tests/test_units.py": "from shop.units import unit\n\n\ndef test_unit():\n    assert unit() == 'cent'\n",
}
"""A part of the project that has nothing to do with the work, and its test."""
EUROS: Final = CENTS.replace("cent", "euro")
PATCHED: Final = "import shop.units\n\nshop.units.unit = lambda: 'euro'\n"
STORY: Final = msgspec.structs.replace(waterfall.LABEL, size="L")
BACKEND, FRONTEND = (f"{STORY.at}/{name}" for name in ("function", "page"))
PAGE: Final = "src/components/label.html"


def task(name: str, *files: str) -> dict[str, Any]:
    return {"task_id": name, "story": STORY.id, "instruction": f"Write the {name}.", "files": list(files)}


@pytest.mark.soak
def test_an_executor_of_a_team_breaks_a_neighbours_test(place: Path) -> None:
    told = waterfall.backlog(STORY)
    world = World(place, **{**told, "files": {**told["files"], **NEIGHBOUR}})
    wave: dict[str, Any] = {"backend": [task("function", "src/shop/**")], "frontend": [task("page", PAGE)]}
    world.agent("breakdown", STORY.at, exit=waterfall.says("Breakdown", more=False, **wave))
    world.agent("work", FRONTEND, write={PAGE: "<p>label</p>\n"}, exit=waterfall.says("task_done"))
    world.agent("work", BACKEND, write={STORY.file: STORY.code(), UNITS: EUROS}, exit=waterfall.says("task_done"))
    world.agent("work", BACKEND, write={UNITS: CENTS}, exit=waterfall.says("task_done"))

    end = world.run({f"{STORY.at}:review": "approve"})

    assert end.outcome == "Done", end.told
    assert end.steps(BACKEND) == ["work !gate", "work task_done"]
    refused = f"{BACKEND}:work#1.1"
    assert not end.checks(refused)["unbroken"]
    assert "unbroken.failing" in end.refusals(refused)
    assert "test_units.py::test_unit" in end.refusals(refused)
    assert end.steps(FRONTEND) == ["work task_done"]
    team = ["breakdown Breakdown", "fold Folded", "suite Passed"]
    assert end.steps(STORY.at) == [*waterfall.STORY[:5], *team, *waterfall.STORY[6:]]
    assert end.files()[UNITS] == CENTS.strip()


@pytest.mark.soak
@pytest.mark.parametrize(
    ("step", "check", "code", "turn"),
    [
        (
            "red",
            "red",
            "green.broken",
            {"write": {riper.LABEL.test_file: riper.LABEL.tests(), "tests/conftest.py": PATCHED}},
        ),
        ("green", "green", "green.failing", {"write": {riper.LABEL.file: riper.LABEL.code(), UNITS: EUROS}}),
    ],
)
def test_a_phase_of_riper_breaks_a_neighbours_test(
    place: Path, step: str, check: str, code: str, turn: dict[str, Any]
) -> None:
    """RIPER has no second attempt: the cycle ends there, a person has it planned again, and the next one is honest."""
    world = World(place, **{**riper.world_of(), "files": NEIGHBOUR})
    cycle = riper.LABEL.at
    world.agent(step, cycle, **turn, exit=riper.says({"red": "RC", "green": "GC"}[step]))

    end = world.run({"root:manual": ("replan", "Leave the units alone.")})

    assert end.outcome == "Done", end.told
    refused = f"{cycle}:{step}#1.1"
    assert not end.checks(refused)[check]
    assert code in end.refusals(refused)
    assert "test_units.py::test_unit" in end.refusals(refused)
    assert end.steps(cycle) == [*riper.CYCLE[: [it.split()[0] for it in riper.CYCLE].index(step)], f"{step} !gate"]
    assert end.steps(f"{cycle}~2") == riper.CYCLE
    assert end.files()[UNITS] == CENTS.strip()
