"""Whether every test has a purpose that can be looked up: `traceable`."""

from treadle.evidence.findings import Found, found, problem
from treadle.evidence.manifest import read_manifest
from treadle.evidence.subject import Subject
from treadle.evidence.suite import collected
from treadle.toolchains.test_names import names_of


async def traceable(s: Subject) -> Found:
    """Every test that this work adds is listed in the manifest."""
    listed = await read_manifest(s)
    there = await collected(s)
    ids, names = there.ids, names_of(there)
    known = {id_ for entry in listed.entries for id_ in names.resolve(entry.test)}
    files = {change.path for change in s.changed_files() if s.tests.is_test(change.path)}
    open_ = [id_ for id_ in ids if id_ not in known and id_.partition("::")[0] in files]
    if not open_:
        return found()
    before = set((await s.measure.collected(await s.git.tree(s.work.base))).ids)
    place = listed.files[0] if listed.files else ""
    wanted = 'an entry "<test>": "<criterion id>: …"'
    return found(
        problem("stands for no criterion", place, test=id_, expected=wanted, code="manifest.untraceable")
        for id_ in open_
        if id_ not in before
    )
