"""A sign-off names only criteria that exist: part of `readonly` and `coverage_complete`, which gate every approval.

An approval is only text, so a reviewer can write one without reading the criteria. A statement about `AC-7` misleads
its reader if there is no `AC-7`.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from treadle.evidence.criteria import criteria_in, plannable_criteria, served_criteria
from treadle.evidence.findings import CheckProblem, join_names, problem
from treadle.evidence.subject import Subject, payload
from treadle.protocol.findings import suggest
from treadle.protocol.items import Json
from treadle.protocol.model import tag_of

_NUMBERED: Final = re.compile(r"(?P<family>[^\W\d_]{2,}(?:[-_.#][^\W\d_]+)*)[-_.#]?(?P<number>\d+)")
"""An id such as `AC-1`; of one that only a number or a letter makes up, no text can be told to mean it."""
_SAID: Final = r"(?<!\w){family}[-_.# ]?(?P<number>\d+)(?!\w)"
_IN_WORDS: Final = re.compile(r"\bcriteri(?:on|a)\s+(?:no\.?\s*)?#?(?P<number>\d+)(?![\w.-])", re.IGNORECASE)
_DOCUMENTS: Final = (".md", ".feature", ".yaml", ".yml", ".json", ".rst", ".txt")
_MOST: Final = 500
_FIELD: Final = re.compile(r"criteri(?:on|a)", re.IGNORECASE)


class NamedCriterion(NamedTuple):
    """A criterion that an exit names, as it is written there, and the field."""

    field: str
    said: str
    number: str = ""
    """The number behind the name of its family, for one that was found in a text."""


async def unknown_criteria(s: Subject) -> list[CheckProblem]:
    """Return a problem for each criterion that the claim names and that neither the run nor the repository has."""
    known = _known(s)
    declared = s.case.protocol.exits.get(tag_of(s.job.exit))
    if not known or declared is None:
        return []
    fields = {name: s.case.claim.get(name) for name, field in declared.fields.items() if field.by == "agent"}
    found = list(_listed(fields, known))
    is_approval = declared.proves == "approval" or any(ref.name == "coverage_complete" for ref in s.job.checks)
    if is_approval:
        found += [one for name, value in fields.items() for text in _texts(value) for one in _said(name, text, known)]
    unknown = {one.said.casefold(): one for one in found if not _is_known(one, known)}
    if not unknown:
        return []
    elsewhere = await _documented(s)
    return [_problem(one, known) for one in unknown.values() if not _stands_in(one, elsewhere)]


def _problem(one: NamedCriterion, known: list[str]) -> CheckProblem:
    names = sorted(known)
    hint = suggest(one.said, names) or f"choose from {join_names(names)}"
    return problem(
        f"{one.field} names {one.said!r}, and there is no such criterion",
        expected=f"criteria that exist, by their ids: {hint}",
        code="signoff.unknown_criterion",
    )


def _known(s: Subject) -> list[str]:
    """The criteria of all instances of the run, and those of the records that accepted exits of this one have added."""
    protocol = s.case.protocol
    inputs = [(protocol.graphs[it.graph].input[1], payload(s.case, it.input.ref)) for it in s.case.state.insts.values()]
    listed = [id_ for record, given in inputs for id_ in criteria_in(protocol, record, given)]
    return list(dict.fromkeys([*listed, *served_criteria(s), *plannable_criteria(s)]))


def _listed(value: Json, known: list[str], field: str = "") -> Iterator[NamedCriterion]:
    """The ids in fields that are meant for criteria, however deep: `missingCriteria`, `criterionId`, `criteria`."""
    if isinstance(value, dict):
        if {"id", "text"} <= value.keys():
            return  # a plan that gives a module its criteria defines them here, and names none
        for name, one in value.items():
            yield from _listed(one, known, name if _FIELD.search(name) or not field else field)
    elif isinstance(value, list):
        for one in value:
            yield from _listed(one, known, field)
    elif isinstance(value, str) and _FIELD.search(field) and value.strip():
        yield NamedCriterion(field, value.strip())


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


def _said(field: str, text: str, known: list[str]) -> Iterator[NamedCriterion]:
    """The criteria that a text names: numbers behind the name of a known family, or behind "criterion"."""
    families = {match["family"] for id_ in known if (match := _NUMBERED.fullmatch(id_))}
    for family in sorted(families):
        pattern = re.compile(_SAID.format(family=re.escape(family)), re.IGNORECASE)
        yield from (NamedCriterion(field, one[0], one["number"]) for one in pattern.finditer(text))
    if len(families) == 1 and all(map(_NUMBERED.fullmatch, known)):
        yield from (NamedCriterion(field, one[0], one["number"]) for one in _IN_WORDS.finditer(text))


def _is_known(one: NamedCriterion, known: list[str]) -> bool:
    """Whether there is such a criterion: by its number in a text, by its id, with its spec or a text behind, else."""
    if one.number:
        words = _NUMBERED.match(one.said)
        found = [match for id_ in known if (match := _NUMBERED.fullmatch(id_))]
        family = words["family"].casefold() if words else ""
        named = [it for it in found if not family or it["family"].casefold() == family]
        return any(int(it["number"]) == int(one.number) for it in named or found)
    said = one.said.rpartition("/")[2].casefold()
    return any(re.match(rf"{re.escape(id_.casefold())}(?![\w-])", said) for id_ in known)


async def _documented(s: Subject) -> str:
    """The documents of the repository as the run began: criteria of other specs stand in them."""
    start = await s.start()
    paths = [path for path in await s.entries(start) if path.endswith(_DOCUMENTS)]
    return "\n".join((await s.texts(paths[:_MOST], start)).values()).casefold()


def _stands_in(one: NamedCriterion, documents: str) -> bool:
    return bool(re.search(rf"(?<!\w){re.escape(one.said.casefold())}(?!\w)", documents))
