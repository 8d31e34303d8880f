"""Tests as they were accepted: what an implementer's work is measured with, whatever lies in its lane."""

from treadle.evidence.checks.scope import changed_configuration
from treadle.evidence.past import WRITES_TESTS, commits, is_gated_by
from treadle.evidence.subject import Subject
from treadle.git.globs import matches
from treadle.git.trees import Entry


async def measured_tree(s: Subject) -> str:
    """The recorded tree, in which tests that this step may not write are as they were when it began."""
    if not s.has_lane:
        return s.work.tree
    before = await s.entries(s.work.base)
    touched = [path for path in s.paths() if s.tests.is_test(path)]
    touched += [one.file for one in await changed_configuration(s)]
    return await s.git.with_files(
        s.work.commit, {path: before.get(path) for path in touched if not may_change(s, path)}
    )


def may_change(s: Subject, path: str) -> bool:
    """Whether this step is one that writes this test file."""
    return not s.is_frozen and matches(path, s.scope.writes)


async def accepted_tests(s: Subject) -> dict[str, Entry | None]:
    """The test files that accepted exits of this instance wrote (None: removed), as each was written last."""
    expected: dict[str, Entry | None] = {}
    for one, commit in commits(s.case, s.inst):
        if is_gated_by(s.graph, one, *WRITES_TESTS):
            entries = await s.entries(commit)
            for change in await s.git.changes(f"{commit}^", commit):
                expected |= {path: entries.get(path) for path in change.touched if s.tests.is_test(path)}
    return expected
