"""Whether a finished suite can tell the implementation from simple wrong ones: `sharp`."""

from treadle.evidence.checks.red import tests_on
from treadle.evidence.findings import Found, found, note
from treadle.evidence.manifest import read_manifest
from treadle.evidence.past import commits
from treadle.evidence.sharpness import sharpness
from treadle.evidence.subject import Subject
from treadle.evidence.suite import measured, ran, unbelievable


async def sharp(s: Subject) -> Found:
    """The tests of each criterion notice simple wrong implementations, put into the skeleton that the work began with.

    For tests that are written one at a time: no single one of them can be asked that.
    """
    run, past = await measured(s), commits(s.case, s.inst)
    if problems := unbelievable(run):
        return found(problems, ran=ran(run))
    if not past:
        return found(
            notes=[note("there is no skeleton to try wrong implementations on", code="tests.no_skeleton")], ran=ran(run)
        )
    skeleton = await tests_on(s, past[0][1])
    listed = sorted((await read_manifest(s)).tests(run))
    seen = await sharpness(s, run, listed, refuses=True, on=skeleton)
    return Found(problems=seen.problems, notes=seen.notes, ran=ran(run), facts=seen.facts)
