"""Where the result of a run is, and how a person takes it over."""

import shlex
from collections.abc import Iterator
from typing import Final

import msgspec

from treadle.protocol.model import ABORTED

BAD: Final = (ABORTED, "Failed", "Halted", "Partial")
"""Ends of a run that are not what it was started for, whatever protocol calls one of its ends so."""


def is_good(outcome: str) -> bool:
    """Whether a run has come to a good end."""
    return bool(outcome) and outcome not in BAD


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What a run has made of the repository."""

    branch: str
    """The branch that holds it."""
    commit: str
    into: str
    """The branch that was yours when the run began; empty if your head was detached."""
    taken: bool
    """That branch has it."""
    merge: str
    """What was to happen to it: `branch`, `ask`, `auto` or `never`."""
    why: str
    """Why your branch was not moved, though it was to be."""
    moved: bool = False
    """That branch has commits that the result has not: it can only be delivered with `--rebase`."""
    verified_on: str = ""
    """The commit of that branch on which the rebased result was verified again; empty if it was not rebased."""

    @property
    def awaits_answer(self) -> bool:
        """Whether a person is to be asked what becomes of it."""
        return self.merge == "ask" and not self.taken and bool(self.into)


def told(run: str, result: Result, *, good: bool = True) -> Iterator[str]:
    """Where it is, and the exact commands that take it over."""
    if result.taken:
        again = f", verified again on top of {result.verified_on[:12]}" if result.verified_on else ""
        yield f"{result.into} has the result, {result.commit[:12]}{again}"
        return
    if result.why:
        yield f"{result.into or 'your branch'} was not moved: {result.why}"
    yield f"{'the result' if good else 'what was accepted'} is on the branch {result.branch}"
    branch = shlex.quote(result.branch)
    if good and result.into:
        command = f"treadle deliver {shlex.quote(run)}"
        if result.moved:
            yield f"  {command} --rebase  verifies it on top of {result.into}, and moves {result.into} forward to it"
        else:
            yield f"  {command}  moves {result.into} forward to it"
    yield f"  git merge --squash {branch}  takes it over by hand; `git diff HEAD...{branch}` shows it first"
