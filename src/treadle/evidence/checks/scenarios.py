"""Scenarios and their tests: `clarifications`, `clarified`, `scenarios_complete`, `_tested` and `_pass`."""

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Final

from treadle.evidence.checks.documents import names_of, scenario_place, scenario_text
from treadle.evidence.criteria import own_criteria
from treadle.evidence.findings import CheckOutcome, CheckProblem, conclude, join_names, problem
from treadle.evidence.gherkin import MARK, GherkinScenario, heading, open_questions, scenarios
from treadle.evidence.manifest import read_manifest
from treadle.evidence.subject import Subject
from treadle.evidence.suite import collect_tests, reason_for_doubt, run_evidence, suite_on_work

_WORD: Final = re.compile(r"\w+")
_SIZES: Final = re.compile(r"\[\s*([SML])\s*\]")
_ANSWER: Final = "the answer in its place, or its test skipped with the question as its reason"


async def clarifications(s: Subject) -> CheckOutcome:
    """Every question that the scenarios leave open is listed with a suggested answer, and none besides."""
    place = scenario_place(s)
    marked = open_questions(await scenario_text(s))
    listed = s.case.claim.get("clarifications")
    asked = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    named = [str(one.get("question", "")) for one in asked]
    problems = [
        problem(
            f"[NEEDS CLARIFICATION: {one}] is not among the clarifications",
            place,
            expected=_ANSWER_LISTED,
            code="scenario.question_unlisted",
        )
        for one in marked
        if not any(_same(one, other) for other in named)
    ]
    problems += [
        problem(
            f"'{one}' is not marked in the scenarios",
            place,
            expected=f"[NEEDS CLARIFICATION: {one}] where it is",
            code="scenario.question_unmarked",
        )
        for one in named
        if not any(_same(one, other) for other in marked)
    ]
    problems += [
        problem(
            f"'{one.get('question', '')}' has no suggested answer",
            expected="the answer that you would give",
            code="scenario.no_suggestion",
        )
        for one in asked
        if not str(one.get("suggestion", "")).strip()
    ]
    return conclude(problems)


_ANSWER_LISTED: Final = "an entry of `clarifications` with the same question and the answer that you suggest"


async def clarified(s: Subject) -> CheckOutcome:
    """Refuse changes of the scenarios by a test-writing step, except where they were unclear."""
    place = scenario_place(s)
    before, after = await scenario_text(s, s.work.base), await scenario_text(s)
    if before == after:
        return conclude()
    old, new = before.splitlines(), after.splitlines()
    problems: list[CheckProblem] = []
    for kind, first, last, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal" and not (first < last and all(MARK.search(line) for line in old[first:last])):
            said = join_names([repr(line.strip()) for line in (new[start:end] or old[first:last]) if line.strip()], 2)
            what = f"was reviewed, and says something else now: {said or 'an empty line'}"
            problems.append(
                problem(
                    what,
                    place,
                    start + 1,
                    expected="answers where it said [NEEDS CLARIFICATION]",
                    code="scenario.changed",
                )
            )
    if [(one.name, one.tags) for one in scenarios(before)] != [(one.name, one.tags) for one in scenarios(after)]:
        problems.append(
            problem(
                "has other scenarios or tags now", place, expected="those that were reviewed", code="scenario.changed"
            )
        )
    return conclude(problems)


async def scenarios_complete(s: Subject) -> CheckOutcome:
    """Every criterion has a scenario that is tagged with it, and the document is headed as its story is."""
    place, text = scenario_place(s), await scenario_text(s)
    tags = {tag.removeprefix("@"): one.line for one in scenarios(text) for tag in one.tags}
    mine = own_criteria(s)
    problems = [
        problem(
            f"criterion {one} has no scenario",
            place,
            expected=f"a scenario with the tag @{one}",
            code="scenario.missing",
        )
        for one in mine
        if one not in tags
    ]
    problems += [
        problem(
            f"@{tag} is not a criterion of this story",
            place,
            line,
            expected=f"one of {join_names(mine, 20)}",
            code="scenario.unknown_criterion",
        )
        for tag, line in tags.items()
        if tag not in mine and _series(tag) in map(_series, mine)
    ]
    return conclude([*problems, *_misheaded(s, place, text)])


def _misheaded(s: Subject, place: str, text: str) -> list[CheckProblem]:
    """Refuse a heading that does not name the story, or that has another size than the story's input."""
    story, given, said = str(s.input.get("id") or ""), str(s.input.get("complexity") or ""), heading(text)
    problems = []
    if story and not re.search(rf"(?<![\w-]){re.escape(story)}(?![\w-])", said):
        problems.append(
            problem(f"is headed '{said}'", place, 1, expected=f"a heading that names {story}", code="scenario.heading")
        )
    if given and _SIZES.findall(said) not in ([], [given]):
        problems.append(
            problem(f"is headed '{said}'", place, 1, expected=f"[{given}], which was given", code="scenario.heading")
        )
    return problems


def _series(criterion: str) -> str:
    """Return the common prefix of a series of criteria: `AC-` for both `AC-1` and `AC-99`."""
    return criterion.rstrip("0123456789")


async def scenarios_tested(s: Subject) -> CheckOutcome:
    """Require a test for every scenario.

    The tests of a scenario with an open question must be skipped, because they would guess the answer.
    """
    listed = scenarios(await scenario_text(s))
    there = (await collect_tests(s)).ids
    run = await suite_on_work(s)
    skipped = set(run.with_verdict("skipped"))
    problems = [*reason_for_doubt(run)]
    for one, tests in (await _tests(s, listed, there)).items():
        if not tests:
            problems.append(_untested(s, one))
        elif one.questions and not skipped.issuperset(tests):
            open_ = [id_ for id_ in tests if id_ not in skipped]
            problems.append(
                problem(
                    f"'{one.name}' has an open question, and {join_names(open_)} guesses the answer",
                    scenario_place(s),
                    one.line,
                    expected=_ANSWER,
                    code="scenario.guessed",
                )
            )
    return conclude(problems, ran=run_evidence(run))


async def scenarios_pass(s: Subject) -> CheckOutcome:
    """Every scenario has a test that passes, and no question is open."""
    text = await scenario_text(s)
    listed = scenarios(text)
    run = await suite_on_work(s)
    problems = [*reason_for_doubt(run)]
    problems += [
        problem(
            f"has an open question: {one}",
            scenario_place(s),
            expected="an answer, and tests for it",
            code="document.open_question",
        )
        for one in open_questions(text)
    ]
    if not listed:
        problems.append(
            problem("has no scenario", scenario_place(s), expected="the scenarios of the story", code="scenario.none")
        )
    for one, tests in (await _tests(s, listed, run.collected)).items():
        if not tests:
            problems.append(_untested(s, one))
        elif not any(id_ in run.passed for id_ in tests):
            what = f"'{one.name}' has no passing test: {join_names(tests)}"
            problems.append(
                problem(what, scenario_place(s), one.line, expected="one that passes", code="scenario.not_passed")
            )
    return conclude(problems, ran=run_evidence(run))


async def _tests(s: Subject, listed: list[GherkinScenario], there: Iterable[str]) -> dict[GherkinScenario, list[str]]:
    """The tests of each scenario."""
    by_name = (await read_manifest(s)).by_criterion(there)
    return {
        one: list(dict.fromkeys(id_ for name in names_of(one, listed) for id_ in by_name.get(name, ())))
        for one in listed
    }


def _untested(s: Subject, one: GherkinScenario) -> CheckProblem:
    wanted = f'a test that stands for "{one.name}" in test_manifest.json'
    return problem(
        f"the scenario '{one.name}' has no test", scenario_place(s), one.line, expected=wanted, code="scenario.untested"
    )


def _same(one: str, other: str) -> bool:
    """Whether two texts are the same question, ignoring punctuation and case."""
    words = [" ".join(_WORD.findall(text.lower())) for text in (one, other)]
    return bool(words[0] and words[1]) and (words[0] in words[1] or words[1] in words[0])
