"""`tests_unmodified`: the tests, what they share and how they run are as their author left them."""

from treadle.evidence.checks.scope import changed_configuration
from treadle.evidence.findings import Found, Problem, found, problem
from treadle.evidence.frozen import accepted_tests
from treadle.evidence.subject import Subject
from treadle.git.trees import Entry


async def tests_unmodified(s: Subject) -> Found:
    """Test files are those of the last accepted test-writing exit."""
    return found(await (_since_base(s) if s.has_lane else _since_accepted(s)))


async def _since_base(s: Subject) -> list[Problem]:
    """The lane started with everything that was accepted, so any difference is this activity's."""
    changed = [
        problem(
            f"belongs to the tests and was {change.kind}",
            path,
            expected="the tests as they were; put it back",
            code="tests.modified",
        )
        for change in s.work.changed
        for path in change.touched
        if s.tests.is_test(path)
    ]
    return changed + await changed_configuration(s)


async def _since_accepted(s: Subject) -> list[Problem]:
    now = await s.entries()
    return [
        problem(what, path, expected="the tests as their author left them", code="tests.modified")
        for path, entry in (await accepted_tests(s)).items()
        if (what := _difference(entry, now.get(path)))
    ]


def _difference(then: Entry | None, now: Entry | None) -> str:
    if then and now:
        return "" if (then.mode, then.id) == (now.mode, now.id) else "is not what the tests' author wrote"
    if then:
        return "was removed since its author wrote it"
    return "came back after its author removed it" if now else ""
