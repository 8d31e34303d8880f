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
    "gc.age": "`treadle gc --older-than` was given something that is no age.",
    "gc.branches": "`treadle gc --branches` was given without the runs that it is for.",
    "gc.link": "`.treadle` is a link, and nothing outside of the project is removed.",
    "gc.replayed": "A run cannot be forgotten because an unfinished one replays it.",
    "gc.unfinished": "A run cannot be forgotten because it has not ended.",
    "protocol.invalid": "A protocol cannot be loaded or does not pass its checks.",
}
"""What stops a command."""

CODES: Final[dict[str, str]] = EVIDENCE | ERRORS
