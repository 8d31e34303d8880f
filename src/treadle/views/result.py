"""The result of a run: its place, the commands that merge it, and the advice of checks."""

import shlex
from collections.abc import Iterator
from itertools import islice
from typing import Final

import msgspec

from treadle.prompts.foreign import cut
from treadle.views.words import count_words, first_words


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """A run's result in the repository."""

    branch: str
    """The branch with the result."""
    commit: str
    """The commit that Treadle has verified, wherever the branch is."""
    into: str
    """The branch that was yours when the run began; empty if your head was detached."""
    taken: bool
    """Whether that branch has the result."""
    merge: str
    """The merge setting of the run: `branch`, `ask`, `auto` or `never`."""
    why: str
    """Why Treadle did not move your branch, although it should have."""
    moved: bool = False
    """Whether that branch has commits that the result lacks: then only `--rebase` can deliver it."""
    verified_on: str = ""
    """The commit of that branch on which the rebased result was verified again; empty if it was not rebased."""

    replaces: str = ""
    """The result before a person changed it on its branch; the changed result was verified again."""
    excused: dict[str, str] = {}
    """The failing tests that did not count against the result when verified again: test → code of the reason."""
    on_branch: bool = True
    """Whether it has a branch of its own; otherwise it is kept below `refs/treadle/`."""
    altered: bool = False
    """Whether a person has moved or deleted the branch, so that it is not at the verified commit."""
    tip: str = ""
    """The commit of an altered branch; empty if the branch is gone."""

    @property
    def awaits_answer(self) -> bool:
        """Whether a person must decide about delivering it."""
        return self.merge == "ask" and not self.taken and bool(self.into)


_MOST_EXCUSED: Final = 10


def excused_lines(result: Result) -> Iterator[str]:
    """Yield each test that fails with the delivered result and is not charged to it, with the reason's code."""
    for test, code in islice(result.excused.items(), _MOST_EXCUSED):
        yield f"  {test} does not pass there, but this does not count against the result [{code}]"
    if (more := len(result.excused) - _MOST_EXCUSED) > 0:
        yield f"  and {more} more"


def result_lines(run: str, result: Result, *, good: bool = True) -> Iterator[str]:
    """Yield the place of the result, and the exact commands that merge it."""
    if result.taken:
        again = f", verified again on top of {result.verified_on[:12]}" if result.verified_on else ""
        if result.replaces:
            again += f", with changes that a person has made to {result.replaces[:12]}"
        yield f"{result.into} has the result, {result.commit[:12]}{again}"
        yield from excused_lines(result)
        return
    if result.altered:
        yield f"the verified result is {result.commit[:12]}; the branch {result.branch} {stray_line(result)}"
        yield from (f"  {command}  {what}" for command, what in undo_commands(run, result))
        return
    if not good and not result.on_branch:
        kept = shlex.quote(result.branch)
        yield f"the accepted work is kept at {result.branch}; `git diff HEAD...{kept}` shows it"
        return
    if result.why:
        yield f"Treadle did not move {result.into or 'your branch'}: {result.why}"
    yield f"{'the result' if good else 'the accepted work'} is on the branch {result.branch}"
    branch = shlex.quote(result.branch)
    if good and result.into:
        command = f"treadle deliver {shlex.quote(run)}"
        if result.moved:
            yield f"  {command} --rebase  verifies it on top of {result.into}, and moves {result.into} forward to it"
        else:
            yield f"  {command}  moves {result.into} forward to it"
    yield f"  git merge --squash {branch}  merges it by hand; `git diff HEAD...{branch}` shows it first"


def stray_line(result: Result) -> str:
    """Describe where the branch of a result is, if it is not at the verified commit."""
    return f"is at {result.tip[:12]}, which is not verified" if result.tip else "is gone"


def undo_commands(run: str, result: Result) -> Iterator[tuple[str, str]]:
    """Yield the commands that make an altered branch deliverable, each with its effect."""
    yield f"git branch -f {shlex.quote(result.branch)} {result.commit[:12]}", "puts the branch back"
    if result.tip and result.into:
        yield f"treadle deliver {shlex.quote(run)} --rebase", "verifies what the branch holds, and delivers that"


# Advice of checks on accepted work: it refuses nothing, so it must reach a person.

_LONGEST: Final = 160


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """A check's advice on an accepted activity."""

    act: str
    check: str
    text: str
    """The first thing that it found."""
    codes: tuple[str, ...] = ()
    """The kinds of everything that it found."""


def advice_lines(run: str, advice: tuple[Advice, ...]) -> Iterator[str]:
    """Summarise the advice in one line: its count, the command that shows it, and the first piece; nothing if there is
    none.
    """
    for first in advice[:1]:
        count = count_words(len(advice), "piece of advice", "pieces of advice")
        words = f": {first.text}" if first.text else ""
        yield f"{count}, see `treadle evidence {shlex.quote(run)}`: {first.act}: {first.check}{words}"


def first_advice(report: str) -> str:
    """Return the first finding of a report, shortened."""
    return cut(first_words(report).removeprefix("- "), _LONGEST)
