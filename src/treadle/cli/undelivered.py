"""The results of runs that nobody has taken over yet, as far as git tells at a glance."""

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from typing import Final

from treadle.git.names import RESULT, slug

_PATIENCE: Final = 5.0
_INTEGRATED: Final = "root/int"
"""Where work has come together of a run that has no branch for its result."""


def undelivered(root: str, prefix: str, runs: Sequence[tuple[str, str]]) -> Iterator[tuple[str, bool]]:
    """Those of some runs, each with its outcome, that ended well and whose result no branch of the user's has.

    With each, whether the user's head has commits that the result has not.
    """
    space = f"refs/heads/{prefix}/"
    spaces = (space, f"refs/treadle/*/{_INTEGRATED}")
    branches = _git(root, "for-each-ref", "--format=%(refname)", *spaces).split()
    if not (apart := set(_git(root, "for-each-ref", "--no-merged=HEAD", "--format=%(refname)", *spaces).split())):
        return
    from treadle.views.result import is_good  # takes longer to import than all of this

    for run in (run for run, outcome in runs if is_good(outcome)):
        own = [f"{space}{slug(run)}/{RESULT}"]
        own += [f"{place}{slug(run)}/{_INTEGRATED}" for place in ("refs/treadle/", space)]
        branch = next((name for name in own if name in branches), "")
        if branch in apart and not _is_elsewhere(root, space, branch) and not _changes_nothing(root, branch):
            yield run, _git(root, "rev-list", "--count", f"{branch}..HEAD") not in ("", "0")


def _is_elsewhere(root: str, space: str, branch: str) -> bool:
    """Whether another branch of the user's has it."""
    holders = _git(root, "for-each-ref", f"--contains={branch}", "--format=%(refname)", "refs/heads/").split()
    return any(not holder.startswith(space) for holder in holders)


def _changes_nothing(root: str, branch: str) -> bool:
    """Whether all of it was taken over by hand, as other commits."""
    return _git(root, "merge-tree", "--write-tree", "HEAD", branch) == _git(root, "rev-parse", "HEAD^{tree}") != ""


def _git(root: str, *words: str) -> str:
    """What git says; nothing if it fails."""
    program = shutil.which("git")
    if program is None:
        return ""
    try:
        command = [program, "-C", root, *words]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_PATIENCE, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
