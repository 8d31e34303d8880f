"""What a run of the tests says about each criterion, for the record: the tests for it, and how they ended."""

from treadle.errors import PortError
from treadle.evidence.checks.red import new_tests
from treadle.evidence.criteria import served_criteria
from treadle.evidence.manifest import read_manifest
from treadle.evidence.past import accepted
from treadle.evidence.subject import Subject
from treadle.evidence.suite import measured
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
    """A part of a plan that says which criteria it serves: its own new tests stand for each of them."""
    wanted = served_criteria(s)
    if not wanted:
        return {}
    listed = [one.payload.get("tests") for one in accepted(s.case, s.inst)]
    known = [id_ for ids in listed if isinstance(ids, list) for id_ in ids if isinstance(id_, str)]
    tests = list(dict.fromkeys(known)) or await new_tests(s, run)
    return dict.fromkeys(wanted, tests) if tests else {}
