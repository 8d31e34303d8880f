"""What a run of the tests says about each criterion, for the record: the tests for it, and how they ended."""

from treadle.errors import PortError
from treadle.evidence.manifest import read_manifest
from treadle.evidence.subject import Subject
from treadle.evidence.suite import measured
from treadle.protocol.items import Json


async def by_criterion(s: Subject) -> dict[str, Json]:
    """`{"criteria": {criterion: {test: verdict}}}`; nothing where that cannot be told, and so proves nothing."""
    try:
        run = await measured(s)
        tests = (await read_manifest(s)).by_criterion(run.collected)
    except PortError as error:
        if error.retryable:
            raise
        return {}
    found: dict[str, Json] = {
        criterion: {id_: run.tests[id_].verdict if id_ in run.tests else "not run" for id_ in ids}
        for criterion, ids in tests.items()
    }
    return {"criteria": found} if found else {}
