"""`thresholds_known`, `thresholds`: the non-functional requirements of a story, held against their tools."""

import itertools
import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import Final

from treadle.evidence.checks.contract import how_it_ended, ran_of
from treadle.evidence.checks.project import words_of
from treadle.evidence.findings import Found, Problem, Ran, found, note, problem
from treadle.evidence.frozen import measured_tree
from treadle.evidence.scenario_document import scenario_place, scenario_text
from treadle.evidence.schemas.limits import printed
from treadle.evidence.schemas.nfr import Threshold, referred, thresholds_in
from treadle.evidence.subject import Subject
from treadle.protocol.artifact_place import place_of
from treadle.toolchains.results import Built

_TABLE: Final = "nfr"
_COMMAND: Final = "a plain command in backquotes that succeeds if the threshold is kept, without a shell"

_RUNS_SCRIPTS: Final = re.compile(r"python[\d.]*|node|deno|bun|tsx|ruby|perl|php|bash|sh|zsh|k6|locust|artillery")
_UNREAD: Final = "it alone says whether it is kept, for the threshold is no single limit such as `< 200 ms`"


async def thresholds_known(s: Subject) -> Found:
    """Every threshold that the scenarios refer to stands in the table."""
    rows = await _rows(s)
    return found([_missing(s, id_) for id_, row in rows.items() if row is None])


async def thresholds(s: Subject) -> Found:
    """Every threshold that the scenarios refer to stands in the table, and its tool says that it is kept."""
    place = _table(s)
    problems: list[Problem] = []
    notes: list[Problem] = []
    last: Ran | None = None
    for id_, row in (await _rows(s)).items():
        if row is None:
            problems.append(_missing(s, id_))
        elif not row.command:
            what = f"{id_} ({row.wanted}) was not measured: {place} names no command for it"
            notes.append(note(what, code="threshold.not_measured"))
        elif not (commands := words_of(row.command)) or len(commands) > 1:
            problems.append(
                problem(
                    f"`{row.command}` cannot be run", place, row.line, expected=_COMMAND, code="threshold.not_runnable"
                )
            )
        else:
            built = await s.measure.run(commands[0], await measured_tree(s))
            problems += [*_kept(place, row, built), *await _changed_tools(s, row, commands[0])]
            last = ran_of(built)
            notes.append(note(f"{id_}: {_said(row, built)} (threshold {row.limit})", code="threshold.measured"))
    return found(problems, notes, last)


async def who_measures(s: Subject) -> list[str]:
    """For people: each threshold that the scenarios refer to, and what measures it."""
    nothing = f"nothing measures it: its Tool in {_table(s)} is no command in `backquotes`"
    return [
        f"{id_}: {row.wanted}; {_measured_by(row) if row.command else nothing}"
        for id_, row in (await _rows(s)).items()
        if row
    ]


def _measured_by(row: Threshold) -> str:
    return f"measured by `{row.command}`{'' if row.bound else f'; {_UNREAD}'}"


def _table(s: Subject) -> str:
    declared = s.case.protocol.artifacts.get(_TABLE)
    return place_of(declared, s.input) if declared else ""


async def _rows(s: Subject) -> dict[str, Threshold | None]:
    """What the scenarios refer to, and its row."""
    place = _table(s)
    rows = thresholds_in(await s.text(place) or "") if place else {}
    return {id_: rows.get(id_) for id_ in referred(await scenario_text(s))}


def _missing(s: Subject, id_: str) -> Problem:
    wanted = f"a row of {_table(s)}, or no such tag"
    return problem(
        f"refers to {id_}, which has no threshold", scenario_place(s), expected=wanted, code="threshold.missing"
    )


def _kept(place: str, row: Threshold, built: Built) -> list[Problem]:
    """What a tool has against it: its exit code, or a number that it prints."""
    if not built.is_well:
        why = how_it_ended(built, row.command)
        return [
            problem(f"{row.id} is not kept: {why}", place, row.line, expected=row.wanted, code="threshold.not_kept")
        ]
    problems: list[Problem] = []
    if (bound := row.bound) is None:
        return problems
    for one in printed(row.id, built.output, bound):
        is_met = bound.is_met_by(one)
        if is_met is None:
            what = f"whether {row.id} is kept cannot be told: its tool prints {one}"
            problems.append(
                problem(
                    what,
                    place,
                    row.line,
                    expected=f"{row.wanted}, and a number with a unit for it",
                    code="threshold.unclear",
                )
            )
        elif not is_met:
            problems.append(
                problem(f"{row.id} is not kept: {one}", place, row.line, expected=row.wanted, code="threshold.not_kept")
            )
    return problems


async def _changed_tools(s: Subject, row: Threshold, words: Sequence[str]) -> list[Problem]:
    """The file of the project that measures a threshold, unless it is as it was: who is measured does not adjust it."""
    origin = await s.git.origin(s.case.state, s.job.inst)
    before, now = await s.entries(origin), await s.entries()
    path = next((path for path in _programs(words) if path in before), "")
    if not path or now.get(path) == before[path]:
        return []
    what = f"measures {row.id}, and was changed by this story"
    return [problem(what, path, expected="it as it was before the story", code="threshold.tool_changed")]


def _programs(words: Sequence[str]) -> Iterator[str]:
    """The files that a command may run: itself, or what it gives to something that runs scripts."""
    yield posixpath.normpath(words[0])
    if not _RUNS_SCRIPTS.fullmatch(posixpath.basename(words[0])):
        return
    for before, word in itertools.pairwise(words):
        yield posixpath.normpath(word)
        if before == "-m":
            module = word.replace(".", "/")
            yield from (f"{top}{module}{end}" for top in ("", "src/") for end in (".py", "/__main__.py"))


def _said(row: Threshold, built: Built) -> str:
    numbers = ", ".join(map(str, printed(row.id, built.output, row.bound)))
    how = "its tool succeeds" if built.is_well else "its tool fails"
    return how if not numbers else numbers if row.bound else f"{how}, and {numbers} is held against nothing"
