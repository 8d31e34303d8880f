"""Plans against their designs: `plan_as_designed`."""

import re
from collections.abc import Iterator
from typing import Final

from treadle.evidence.checks.plan import plan_place, read_plan
from treadle.evidence.findings import Found, Problem, failed, found, problem
from treadle.evidence.plan import Cycle
from treadle.evidence.signatures import Planned, is_written, planned
from treadle.evidence.subject import Subject
from treadle.protocol.artifact_place import place_of

ARTIFACT: Final = "design"
_FENCED: Final = re.compile(r"^(?P<fence>`{3,}|~{3,})[^\n]*\n(?P<code>.*?)^(?P=fence)", re.MULTILINE | re.DOTALL)
_LINE: Final = re.compile(r"^[\s>*+-]*`?(?P<code>(?:async\s+)?def\s[^\n`]+)`?\s*$", re.MULTILINE)


async def plan_as_designed(s: Subject) -> Found:
    """Every signature of the plan stands in the design, letter by letter."""
    artifact = s.case.protocol.artifacts.get(ARTIFACT)
    place = place_of(artifact, s.input) if artifact else ""
    design = await s.text(place) if place else None
    if design is None:
        return failed(
            "there is no design to compare the plan with", place, expected="the accepted design", code="design.missing"
        )
    known = {one.name: one for one in _signatures(design) if one.name}
    cycles = (await read_plan(s)).cycles
    return found([one for cycle in cycles for one in _differences(cycle, design, known, place, plan_place(s))])


def _signatures(design: str) -> Iterator[Planned]:
    """The signatures of a document: those in its blocks of code, and lines that are one."""
    for block in _FENCED.finditer(design):
        yield from planned(block["code"])
    for line in _LINE.finditer(_FENCED.sub("", design)):
        yield from planned(line["code"])


def _differences(cycle: Cycle, design: str, known: dict[str, Planned], place: str, plan: str) -> Iterator[Problem]:
    for text in cycle.interface:
        for one in planned(text):
            designed = known.get(one.name)
            if designed is None and not is_written(one, place, design):
                said = f"{cycle.id} plans {one.name or one.text}, which the design does not have"
                yield problem(
                    said, plan, cycle.line, expected=f"a signature of {place}", code="design.unknown_signature"
                )
            elif designed is not None and designed.shape != one.shape:
                said = f"{cycle.id} plans {one.name} otherwise than it is designed: {one.text}"
                yield problem(said, plan, cycle.line, expected=designed.text, code="design.other_signature")
