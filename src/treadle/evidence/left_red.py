"""Tests that are merged though they fail: a run that only writes tests leaves them to whoever implements the rest."""

from typing import Final

from treadle.evidence.past import payload
from treadle.kernel.state import Instance
from treadle.ports import Case

_NEW: Final = "new_tests"
"""The field of an exit that names the tests that fail, as they were measured."""


def left_red(case: Case) -> set[str]:
    """The failing tests of exits that nothing but a merge follows."""
    return {id_ for inst in case.state.insts.values() for id_ in _of(case, inst)}


def _of(case: Case, inst: Instance) -> list[str]:
    steps = case.protocol.graphs[inst.graph].steps.values()
    needs = [need for step in steps if step.effect == "merge" for need in step.needs if need.step and not need.up]
    refs = [slot.ref for need in needs if (slot := inst.slots.get(need.slot))]
    listed = [payload(case, ref).get(_NEW) for ref in refs]
    return [id_ for ids in listed if isinstance(ids, list) for id_ in ids if isinstance(id_, str)]
