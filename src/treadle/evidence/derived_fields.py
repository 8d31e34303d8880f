"""Derived fields: fields of an exit that Treadle computes itself instead of asking the agent, by name."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from treadle.errors import PortError
from treadle.evidence.checks.added_code import imported_unsafely, minimal
from treadle.evidence.checks.commits import changes_meanwhile
from treadle.evidence.checks.coverage import coverage_kept
from treadle.evidence.checks.documents import document_places
from treadle.evidence.checks.knows_tests import tests_known
from treadle.evidence.checks.partition import owners
from treadle.evidence.checks.plan import cycle_values, plan_value, read_plan
from treadle.evidence.checks.project import lint
from treadle.evidence.checks.red import is_red, new_tests, red, red_one
from treadle.evidence.checks.scaling import measure_limits
from treadle.evidence.checks.thresholds import who_measures
from treadle.evidence.criteria import kept_criteria
from treadle.evidence.findings import MOST
from treadle.evidence.gherkin import complexity, listed_in, open_questions, parallel_tasks, scenarios
from treadle.evidence.manifest import read_manifest
from treadle.evidence.subject import Subject
from treadle.evidence.suite import bad_tests, file_of, suite_on_work
from treadle.protocol.items import Json
from treadle.protocol.model import tag_of

Derive = Callable[[Subject], Awaitable[Json]]


def _texts(values: Iterable[str]) -> list[Json]:
    return list(values)


async def derive_fields(s: Subject) -> dict[str, Json]:
    """The computed fields of the claimed exit; the kernel's own aside."""
    declared = s.case.protocol.exits.get(tag_of(s.job.exit))
    fields = declared.fields if declared else {}
    wanted = [name for name, field in fields.items() if field.by not in ("agent", "kernel")]
    if unknown := [name for name in wanted if name not in DERIVED]:
        raise PortError(
            f"Treadle cannot compute the field {', '.join(unknown)} of the exit '{s.job.exit}'; rename the field"
        )
    return {name: await DERIVED[name](s) for name in wanted}


# Fields from git.


async def _commit(s: Subject) -> Json:
    return s.work.commit


async def _new_base(s: Subject) -> Json:
    return await s.git.parent_head(s.case.state, s.job.inst)


async def _diff(s: Subject) -> Json:
    return await s.git.diff(s.work.base, s.work.commit)


async def _files_changed(s: Subject) -> Json:
    return list(s.paths())


# Fields from test runs.


async def _passed(s: Subject) -> Json:
    return _texts(sorted((await suite_on_work(s)).passed))


async def _failed(s: Subject) -> Json:
    return _texts(sorted(bad_tests(await suite_on_work(s))))


async def _new(s: Subject) -> Json:
    run = await suite_on_work(s)
    return [id_ for id_ in await new_tests(s, run) if is_red(run.tests[id_])]


async def _test_files(s: Subject) -> Json:
    run = await suite_on_work(s)
    files = {file_of(id_, run) for id_ in await new_tests(s, run)}
    return _texts(sorted(files.union(s.changed_tests())))


async def _count_passed(s: Subject) -> Json:
    return len((await suite_on_work(s)).passed)


async def _count_failed(s: Subject) -> Json:
    return len(bad_tests(await suite_on_work(s)))


async def _count_skipped(s: Subject) -> Json:
    return len((await suite_on_work(s)).with_verdict("skipped", "xfailed"))


# Fields from the manifest and from results.


async def _tests_by_criterion(s: Subject) -> dict[str, list[str]]:
    return (await read_manifest(s)).by_criterion(await suite_on_work(s))


async def _passing(s: Subject) -> dict[str, list[str]]:
    passed = (await suite_on_work(s)).passed
    tests = await _tests_by_criterion(s)
    return {one: good for one, ids in tests.items() if (good := [id_ for id_ in ids if id_ in passed])}


async def _covered(s: Subject) -> Json:
    """Criteria that have a test."""
    return _texts(sorted(one for one, ids in (await _tests_by_criterion(s)).items() if ids))


async def _covered_by_passing(s: Subject) -> Json:
    return _texts(sorted(await _passing(s)))


async def _pending(s: Subject) -> Json:
    done = await _passing(s)
    return [one for one in kept_criteria(s) if one not in done]


async def _challenged(s: Subject) -> Json:
    """The criteria that the new tests stand for."""
    run = await suite_on_work(s)
    fresh = set(await new_tests(s, run))
    tests = await _tests_by_criterion(s)
    return _texts(sorted(one for one, ids in tests.items() if fresh & set(ids)))


async def _criteria_map(s: Subject) -> Json:
    pairs = [(one, id_) for one, ids in (await _tests_by_criterion(s)).items() for id_ in ids]
    return [{"criterionId": one, "testName": id_} for one, id_ in sorted(pairs)]


async def _coverage_report(s: Subject) -> Json:
    done = await _passing(s)
    pairs: list[Json] = [{"criterionId": one, "testName": id_} for one in sorted(done) for id_ in done[one]]
    return {"criteriaWithTests": pairs, "criteriaMissing": [one for one in kept_criteria(s) if one not in done]}


async def _coverage(s: Subject) -> Json:
    done = await _passing(s)
    return [f"{one}: {id_}" for one in sorted(done) for id_ in done[one]]


# Measurements that refuse nothing.


async def _line_coverage(s: Subject) -> Json:
    return _texts((await coverage_kept(s)).report.splitlines())


_REMARKS: Final = {"minimal": minimal, "lint": lint}
"""Checks of code that mostly advise; their findings are for reviewers."""


async def _advice(s: Subject) -> Json:
    """Return the advisory findings of an exit's checks: gaps of new tests, or oddities of code.

    Both include other changes that happened while the agent worked.
    """
    names = {ref.name for ref in s.job.checks}
    if names & {"red", "red_one"}:
        notes = (await (red(s) if "red" in names else red_one(s))).notes
        return _texts(map(str, (*changes_meanwhile(s), *notes)[:MOST]))
    origin = await s.origin()
    problems = [*await tests_known(s, origin), *await imported_unsafely(s, origin)]
    for name, check in _REMARKS.items():
        problems += (await check(s)).problems if name in names else ()
    return _texts(map(str, (*changes_meanwhile(s), *problems)[:MOST]))


async def _scaling(s: Subject) -> Json:
    results, _ = await measure_limits(s)
    return _texts(map(str, results))


# Fields from documents.


async def _batches(s: Subject) -> Json:
    return (await plan_value(s))["batches"]


async def _checklist(s: Subject) -> Json:
    return (await plan_value(s))["execution_checklist"]


async def _cycles(s: Subject) -> Json:
    values = await cycle_values(s)
    return [values[cycle.id] for cycle in (await read_plan(s)).cycles]


async def _document(s: Subject) -> str:
    texts = [await s.text(path) for path in document_places(s)]
    return "\n".join(text for text in texts if text)


async def _scenarios(s: Subject) -> Json:
    return [one.name for one in scenarios(await _document(s))]


async def _open_questions(s: Subject) -> Json:
    return list(open_questions(await _document(s)))


async def _thresholds(s: Subject) -> Json:
    return _texts(await who_measures(s))


async def _non_goals(s: Subject) -> Json:
    return list(listed_in(await _document(s), "Non-Goals"))


async def _complexity(s: Subject) -> Json:
    given = s.input.get("complexity")
    return given if isinstance(given, str) and given else complexity(await _document(s)) or "S"


async def _parallel_tasks(s: Subject) -> Json:
    return parallel_tasks(await _document(s))


async def _owners(s: Subject) -> Json:
    return list(owners(s))


# Names that the parent or a sibling offers.


async def _found_at(s: Subject) -> Json:
    """Where the parent or a sibling offers the name that is missing."""
    wanted = s.case.claim.get("missingSymbol")
    if not isinstance(wanted, str) or not wanted.strip():
        return []
    name = wanted.strip().rpartition(".")[2].partition("(")[0]
    others = [one.id for one in s.case.state.insts.values() if one.parent == s.inst.parent and one.id != s.inst.id]
    places = {"the parent": await s.git.parent_head(s.case.state, s.job.inst)}
    places |= {
        f"the sibling {other}": await s.git.head(s.case.state, other) for other in (others if s.inst.parent else [])
    }
    found: dict[str, str] = {}
    for who, commit in places.items():
        for full, path in await s.git.offers(commit, name) if name else ():
            found.setdefault(f"{full} ({path})", who)
    return [f"{what}, offered by {who}" for what, who in found.items()]


DERIVED: Final[dict[str, Derive]] = {
    **dict.fromkeys(("commit", "commitHash", "scaffoldCommit", "suiteCommit", "testsCommit"), _commit),
    "newBase": _new_base,
    "diff": _diff,
    "files_changed": _files_changed,
    **dict.fromkeys(("passedTests", "passed_tests"), _passed),
    **dict.fromkeys(("failedTests", "failingTests", "failing_tests"), _failed),
    **dict.fromkeys(("newTests", "new_tests", "pendingTests", "tests"), _new),
    "testFiles": _test_files,
    "tests_pass": _count_passed,
    "tests_fail": _count_failed,
    "tests_skip": _count_skipped,
    "covered": _covered,
    "coveredCriteria": _covered_by_passing,
    "pendingCriteria": _pending,
    "criteria": _challenged,
    "criteriaMap": _criteria_map,
    "coverageReport": _coverage_report,
    "coverage": _coverage,
    "lineCoverage": _line_coverage,
    "advice": _advice,
    "scaling": _scaling,
    "plan": plan_value,
    "batches": _batches,
    "cycles": _cycles,
    "execution_checklist": _checklist,
    "scenarios": _scenarios,
    "open_questions": _open_questions,
    "thresholds": _thresholds,
    "non_goals": _non_goals,
    "complexity": _complexity,
    "parallel_tasks": _parallel_tasks,
    "owners": _owners,
    "foundAt": _found_at,
}
