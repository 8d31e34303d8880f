"""RIPER from a brief to validated code: six modes, one at a time, and a person where the protocol has one."""

from pathlib import Path

from tests.end_to_end.riper import CYCLE, world_of
from tests.end_to_end.world import World


def test_a_brief_is_designed_attacked_planned_executed_and_validated(place: Path) -> None:
    end = World(place, **world_of()).run()
    assert end.outcome == "Done", end.told
    assert end.steps("root/TDD1") == CYCLE
