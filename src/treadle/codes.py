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
    "file.link": "A path is a link where Treadle follows none.",
    "file.unwritable": "A file cannot be written.",
    "run.open": "The run has not ended.",
    "usage.value": "An option has a value that it cannot take.",
    "gc.branches": "`treadle gc --branches` was given without the runs that it is for.",
    "uninstall.driven": "Treadle is not removed because a process drives a run.",
    "uninstall.repository": "Treadle is not removed because the repository cannot be read.",
    "uninstall.served": "Treadle is not removed because `treadle serve` serves the project.",
    "uninstall.unconfirmed": "Treadle is not removed because no person has confirmed it.",
    "uninstall.undelivered": "Treadle is not removed because no branch of the user's has the result of a run.",
    "uninstall.unfinished": "Treadle is not removed because a run has not ended.",
    "protocol.invalid": "A protocol cannot be loaded or does not pass its checks.",
}
"""What stops a command."""

CODES: Final[dict[str, str]] = EVIDENCE | ERRORS
