"""`thresholds`: the non-functional requirements that a story refers to, measured by their tools."""

from typing import Final

from treadle.evidence.checks.contract import of_command
from treadle.evidence.checks.project import words_of
from treadle.evidence.findings import Found, Problem, Ran, found, problem
from treadle.evidence.frozen import measured_tree
from treadle.evidence.scenario_document import scenario_place, scenario_text
from treadle.evidence.schemas.nfr import Threshold, measured_value, referred, thresholds_in
from treadle.evidence.subject import Subject
from treadle.protocol.artifact_place import place_of
from treadle.toolchains.results import Built

_TABLE: Final = "nfr"
_COMMAND: Final = "a plain command in backquotes that succeeds if the threshold is kept, without a shell"


async def thresholds(s: Subject) -> Found:
    """Every threshold that the scenarios refer to stands in the table, and its tool says that it is kept."""
    declared = s.case.protocol.artifacts.get(_TABLE)
    place = place_of(declared, s.input) if declared else ""
    rows = thresholds_in(await s.text(place) or "") if place else {}
    problems: list[Problem] = []
    notes: list[str] = []
    last: Ran | None = None
    for id_ in referred(await scenario_text(s)):
        row = rows.get(id_)
        if row is None:
            wanted = f"a row of {place}, or no such tag"
            problems.append(problem(f"refers to {id_}, which has no threshold", scenario_place(s), expected=wanted))
        elif not row.command:
            notes.append(f"{id_} ({row.metric} {row.limit}) was not measured: {place} names no command for it")
        elif not (commands := words_of(row.command)) or len(commands) > 1:
            problems.append(problem(f"`{row.command}` cannot be run", place, row.line, expected=_COMMAND))
        else:
            built = await s.measure.run(commands[0], await measured_tree(s))
            problems += _kept(place, row, built)
            last = of_command(built, id_).ran
            notes.append(f"{id_}: {_said(row, built)} (threshold {row.limit})")
    return found(problems, notes, last)


def _kept(place: str, row: Threshold, built: Built) -> list[Problem]:
    """What a tool has against it: its exit code, or the number that it prints."""
    wanted = f"{row.metric} {row.limit}".strip()
    if not built.is_well:
        why = "; ".join(str(one) for one in of_command(built, row.id).problems)
        return [problem(f"{row.id} is not kept: {why}", place, row.line, expected=wanted)]
    value = measured_value(row.id, built.output)
    if value is None or row.is_met_by(*value) is not False:
        return []
    return [problem(f"{row.id} is not kept: {_said(row, built)}", place, row.line, expected=wanted)]


def _said(row: Threshold, built: Built) -> str:
    value = measured_value(row.id, built.output)
    return f"{value[0]:g} {value[1]}".strip() if value else "its tool succeeds" if built.is_well else "its tool fails"
