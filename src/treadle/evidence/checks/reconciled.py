"""`both_kept`: what others have merged into the files that were in conflict is still there."""

import re
from typing import Final

from treadle.evidence.findings import Found, Problem, found, note, problem
from treadle.evidence.subject import Subject

_WORD: Final = re.compile(r"\w(?:[\w.-]*\w)?")
_NUMBER: Final = re.compile(r"(?<![\w-])\d[\d.,]*(?![\w-])")
_RULE: Final = re.compile(r"-{2,}")
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
    notes: list[Problem] = []
    for path in s.paths():
        before, others, own, now = [await s.text(path, commit) or "" for commit in (origin, theirs, mine, "")]
        lost = lost_lines(before, others, own, now)
        if not path.endswith(_DOCUMENTS):
            notes += [note(f"is without {line!r}", path, code="rebase.lost_lines") for line in lost]
            continue
        problems += [
            problem(
                f"{line!r} is lost, which was there or was merged before",
                path,
                expected="what both have written",
                code="rebase.lost_lines",
            )
            for line in lost[:_SHOWN]
        ]
        if len(lost) > _SHOWN:
            problems.append(
                problem(
                    f"{len(lost) - _SHOWN} more lines are lost",
                    path,
                    expected="what both have written",
                    code="rebase.lost_lines",
                )
            )
    return found(problems, notes)


def lost_lines(before: str, others: str, own: str, now: str) -> list[str]:
    """What a reconciled text has no longer: lines that neither side has touched, and what the others have added.

    Spaces do not count, nor do numbers, which both may have brought up to date. An added line may have become another
    one, as long as half of the words that only it has are still there.
    """
    old, mine, kept = ({_shape(line) for line in text.splitlines()} for text in (before, own, now))
    known, there = _words(f"{before}\n{own}"), _words(now)
    lost = []
    for line in dict.fromkeys(line.strip() for line in others.splitlines() if line.strip()):
        shape = _shape(line)
        if shape in kept or (shape in old and shape not in mine):
            continue
        words = _words(line) - known
        if shape in old or 2 * len(words & there) < len(words):
            lost.append(line)
    return lost


def _shape(line: str) -> str:
    """A line without its spaces, as long as its words stay apart, and without its numbers."""
    return _RULE.sub("--", _NUMBER.sub("0", " ".join(line.split())))


def _words(text: str) -> set[str]:
    return {word for word in _WORD.findall(text) if not _NUMBER.fullmatch(word)}
