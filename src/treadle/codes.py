"""Stable codes of findings, refusals, advice and errors, each with one sentence on what it means.

Programs and tests compare codes; people read the sentence beside them, which may be improved at any time. A code is
never given another meaning: a new kind of problem gets a new code.
"""

from typing import Final

EVIDENCE: Final[dict[str, str]] = {
    "manifest.ambiguous": "A test manifest names a test by a short name that fits several tests.",
    "manifest.foreign": "A test manifest, or an entry of it, belongs to another spec and stands for nothing here.",
}
"""What checks of an agent's work say."""

ERRORS: Final[dict[str, str]] = {
    "treadle.error": "A command failed for a reason that has no code of its own.",
    "protocol.invalid": "A protocol cannot be loaded or does not pass its checks.",
    "deliver.unended": "The run has not ended, so it has no result to deliver yet.",
    "deliver.bad_end": "The run has not come to a good end; only the result of a good end is delivered.",
    "deliver.nothing": "The run has changed nothing, so there is nothing to deliver.",
    "deliver.detached": "The run began on a detached head, so there is no branch to move.",
    "deliver.bare": "The repository is bare, so there is no checkout whose branch could be moved.",
    "deliver.elsewhere": "You are not on the branch on which the run began.",
    "deliver.busy": "Your checkout is in the middle of a merge, a rebase or the like.",
    "deliver.moved": "Your branch has moved since the run began; `--rebase` puts the result on top of it.",
    "deliver.dirty": "Files that the result changes have changes of yours that are not committed.",
    "deliver.git": "Git refused to move your branch forward.",
    "deliver.conflict": "The result and your branch have changed the same places of files differently.",
    "deliver.unverified": "The build, a suite or a test of a criterion fails with the result on top of your branch.",
}
"""What stops a command."""

CODES: Final[dict[str, str]] = EVIDENCE | ERRORS
