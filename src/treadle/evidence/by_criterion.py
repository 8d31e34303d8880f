"""What a run of the tests says about each criterion, for the record: the tests for it, and how they ended."""

from treadle.errors import PortError
from treadle.evidence.criteria import served_criteria
from treadle.evidence.manifest import read_manifest
from treadle.evidence.subject import Subject
from treadle.evidence.suite import at_origin, ids_in, measured, owned_files
from treadle.protocol.items import Json
from treadle.toolchains.results import TestRun


async def by_criterion(s: Subject) -> dict[str, Json]:
    """`{"criteria": {criterion: {test: verdict}}}`; nothing where that cannot be told, and so proves nothing."""
    try:
        run = await measured(s)
        tests = (await read_manifest(s)).by_criterion(run.collected) or await _planned(s, run)
    except PortError as error:
        if error.retryable:
            raise
        return {}
    found: dict[str, Json] = {
        criterion: {id_: run.tests[id_].verdict if id_ in run.tests else "not run" for id_ in ids}
        for criterion, ids in tests.items()
    }
    return {"criteria": found} if found else {}


async def _planned(s: Subject, run: TestRun) -> dict[str, list[str]]:
    """A part of a plan that says which criteria it serves: all tests that it has added stand for each of them."""
    wanted = served_criteria(s)
    if not wanted:
        return {}
    written = ids_in(run, [path for path in await owned_files(s) if s.tests.is_test(path)])
    known = set((await at_origin(s)).collected)
    added = [id_ for id_ in written if id_ not in known]
    return dict.fromkeys(wanted, added) if added else {}
