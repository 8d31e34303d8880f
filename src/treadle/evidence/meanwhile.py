"""What was done beside the lane while an activity worked, by it or by anybody else: it proves nothing, and is told."""

from typing import Final

from treadle.evidence.findings import Problem, note
from treadle.evidence.subject import Subject

FACT: Final = "meanwhile"
"""The name under which it is part of a check's evidence."""


def meanwhile(s: Subject) -> tuple[Problem, ...]:
    """A note for each thing that changed where this activity had nothing to do."""
    moved = [
        note(f"the ref {one.ref} was moved by somebody else, and has been put back", code="record.ref_moved")
        for one in s.work.moved
    ]
    around = [
        note(
            f"in the user's repository, {one} while {s.job.step} worked in its own folder",
            code="record.repository_changed",
        )
        for one in s.work.around
    ]
    return (*moved, *around)
