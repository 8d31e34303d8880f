"""What a run of the tests says about each criterion, for the record: the tests for it, and how they ended."""

from treadle.errors import PortError
from treadle.evidence.criteria import identities, served_criteria, spec_of
from treadle.evidence.manifest import read_manifest
from treadle.evidence.subject import Subject
from treadle.evidence.suite import at_origin, ids_in, measured, owned_files
from treadle.protocol.items import Json
from treadle.toolchains.results import TestRun


async def by_criterion(s: Subject) -> dict[str, Json]:
    """How the tests of each criterion ended, and whose criterion it is; nothing where that cannot be known.

    `{"criteria": {criterion: {test: verdict}}, "of": {criterion: {"spec": id, "text": hash}}}`
    """
    try:
        run = await measured(s)
        tests = (await read_manifest(s)).by_criterion(run) or await _planned(s, run)
    except PortError as error:
        if error.retryable:
            raise
        return {}
    found: dict[str, Json] = {
        criterion: {id_: run.tests[id_].verdict if id_ in run.tests else "not run" for id_ in ids}
        for criterion, ids in tests.items()
    }
    if not found:
        return {}
    known = identities(s)
    own: dict[str, Json] = {one: known.get(one) or {"spec": spec_of(s), "text": ""} for one in found}
    return {"criteria": found, "of": own}


async def _planned(s: Subject, run: TestRun) -> dict[str, list[str]]:
    """A part of a plan that says which criteria it serves: all tests that it has added stand for each of them."""
    wanted = served_criteria(s)
    if not wanted:
        return {}
    written = ids_in(run, [path for path in await owned_files(s) if s.tests.is_test(path)])
    known = set((await at_origin(s)).collected)
    added = [id_ for id_ in written if id_ not in known]
    return dict.fromkeys(wanted, added) if added else {}
