"""The body of a commit that a run delivers: criteria, the tests that stand for them, and where the evidence is.

Specs, agents and repositories write most of these texts. Each becomes one line of printable characters, and only the
last paragraph holds trailers, so that no text can pretend to be one.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from treadle.git.commit_message import cut, one_line
from treadle.kernel.lifecycle import ROOT
from treadle.views.evidence import Evidence, Proved
from treadle.views.evidence_criteria import UNMERGED

RUN: Final = "Treadle-Run"
CRITERION: Final = "Criterion"
_TEXT: Final = 200
_TESTS: Final = 20
"""Tests of a criterion that are named; the evidence has them all."""


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A criterion as a delivered commit names it."""

    spec: str
    id: str
    text: str
    standing: str
    tests: tuple[str, ...]


def commit_body(found: Evidence, inst: str = ROOT) -> str:
    """What follows the subject of the commit that merges an instance: criteria, tests, evidence and trailers.

    The merge itself is what is missing while the commit is made, so it is not held against a criterion.
    """
    lines = criteria_of(found, inst)
    parts: list[str] = []
    if lines:
        parts.append("\n".join(["Criteria:", *(text for line in lines for text in _shown(line))]))
    parts.append(f"Evidence: treadle evidence {found.run}")
    trailers = [f"{RUN}: {found.run}"]
    trailers += [f"{CRITERION}: {line.spec}/{line.id}" for line in lines if line.standing == "verified"]
    return "\n\n".join([*parts, "\n".join(dict.fromkeys(trailers))]) + "\n"


def criteria_of(found: Evidence, inst: str = ROOT) -> list[Line]:
    """The criteria that an instance and its parts answer for, each once; it is verified if every part says so."""
    shares: dict[tuple[str, str], list[Proved]] = {}
    for one in found.criteria:
        if one.instance == inst or one.instance.startswith(f"{inst}/"):
            shares.setdefault((_word(one.spec or found.spec) or found.run, _word(one.id)), []).append(one)
    return [_line(spec, id_, several) for (spec, id_), several in shares.items()]


def _line(spec: str, id_: str, shares: Sequence[Proved]) -> Line:
    found = {_standing(one) for one in shares}
    return Line(
        spec=spec,
        id=id_,
        text=cut(one_line(shares[0].text), _TEXT),
        standing=found.pop() if len(found) == 1 else "partial",
        tests=tuple(dict.fromkeys(test.id for one in shares for test in one.tests)),
    )


def _standing(one: Proved) -> str:
    if one.tests and all(code == UNMERGED for code in one.codes):
        return "verified"
    return "by a person's word" if one.waiver else one.standing


def _shown(line: Line) -> Iterator[str]:
    standing = "not verified" if line.standing == "none" else line.standing
    yield f"- {line.id} ({standing}): {line.text}".rstrip(": ")
    for test in line.tests[:_TESTS]:
        yield f"    {cut(one_line(test), _TEXT)}"
    if len(line.tests) > _TESTS:
        yield f"    and {len(line.tests) - _TESTS} more"


def _word(text: str) -> str:
    """An id without spaces: a trailer's value is one word."""
    return cut("-".join(one_line(text).split()), _TEXT)
