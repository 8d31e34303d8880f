"""`both_kept`: what others have merged into the files that were in conflict is still there."""

import re
from typing import Final

from treadle.evidence.findings import Found, Problem, found, problem
from treadle.evidence.subject import Subject

_WORD: Final = re.compile(r"\w+")
_DOCUMENTS: Final = (".md", ".rst", ".adoc", ".txt", ".feature", ".yaml", ".yml", ".json")
_SHOWN: Final = 3


async def both_kept(s: Subject) -> Found:
    """Of the documents in conflict, no line is lost that nobody has changed, or that others have added.

    Others are those who were merged since this work began. Code may need another form; the tests of both decide there.
    """
    origin = await s.git.origin(s.case.state, s.job.inst)
    theirs = await s.git.parent_head(s.case.state, s.job.inst)
    mine = await s.git.head(s.case.state, s.job.inst, s.job.id)
    problems: list[Problem] = []
    notes: list[str] = []
    for path in s.paths():
        before, others, own, now = [await s.text(path, commit) or "" for commit in (origin, theirs, mine, "")]
        lost = lost_lines(before, others, own, now)
        if not path.endswith(_DOCUMENTS):
            notes += [f"{path} is without {line!r}" for line in lost]
            continue
        problems += [
            problem(f"{line!r} is lost, which was there or was merged before", path, expected="what both have written")
            for line in lost[:_SHOWN]
        ]
        if len(lost) > _SHOWN:
            problems.append(
                problem(f"{len(lost) - _SHOWN} more lines are lost", path, expected="what both have written")
            )
    return found(problems, notes)


def lost_lines(before: str, others: str, own: str, now: str) -> list[str]:
    """What a reconciled text has no longer: lines that neither side has touched, and what the others have added.

    An added line may have become another one, as long as half of the words that only it has are still there.
    """
    old, mine, kept = ({line.strip() for line in text.splitlines()} for text in (before, own, now))
    known, there = set(_WORD.findall(f"{before}\n{own}")), set(_WORD.findall(now))
    lost = []
    for line in dict.fromkeys(line.strip() for line in others.splitlines()):
        if not line or line in kept:
            continue
        if line in old:
            if line in mine:
                lost.append(line)
            continue
        words = set(_WORD.findall(line)) - known
        if 2 * len(words & there) < len(words):
            lost.append(line)
    return lost
