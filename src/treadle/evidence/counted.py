"""Numbers for the record, whoever claims what: how many tests ended how, and which files a session has changed."""

import msgspec

from treadle.errors import PortError
from treadle.evidence.findings import MOST, Found
from treadle.evidence.subject import Subject
from treadle.evidence.suite import bad, measured
from treadle.protocol.items import Json

_NAMED = 10 * MOST


async def counted(s: Subject) -> dict[str, Json]:
    """`{"tests": {pass, fail, skip}, "failing_tests": [...]}`; nothing where the suite cannot be believed."""
    try:
        run = await measured(s)
    except PortError as error:
        if error.retryable:
            raise
        return {}
    if not run.is_believable:
        return {}
    failing = sorted(bad(run))
    skipped = len(run.with_verdict("skipped", "xfailed"))
    numbers: dict[str, Json] = {"pass": len(run.passed), "fail": len(failing), "skip": skipped}
    return {"tests": numbers, "failing_tests": list[Json](failing[:_NAMED])}


def changed_files(s: Subject, outcomes: dict[str, Found]) -> dict[str, Found]:
    """The outcomes of a session's checks, the first of which tells what was changed."""
    first = next(iter(outcomes), "")
    if not first or not s.has_lane:
        return outcomes
    one = outcomes[first]
    paths: list[Json] = list(s.paths()[:_NAMED])
    return {**outcomes, first: msgspec.structs.replace(one, facts={**one.facts, "files_changed": paths})}
