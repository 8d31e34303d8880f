"""Whether new tests can tell a right implementation from a simple wrong one, criterion by criterion.

A criterion whose tests pass whatever the missing functions return shows nothing: refused. One whose tests all pass with
some wrong implementation has too few examples: advice, for many an honest criterion is a single case. But a single test
that is all there is for several criteria cannot be that case for each of them: refused.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from treadle.evidence.examples import Example, examples
from treadle.evidence.findings import Problem, problem, some
from treadle.evidence.manifest import read_manifest
from treadle.evidence.subject import Subject
from treadle.evidence.suite import file_of
from treadle.evidence.wrong_implementations import Wrong, rounds
from treadle.git.trees import Entry
from treadle.toolchains.results import TestRun

_ENOUGH: Final = 3
"""Rounds after which it can be said that nothing was noticed."""
_SECONDS: Final = 60.0
_LARGEST: Final = 500_000

Groups = Mapping[str, Sequence[str]]
"""By criterion, or under an empty name for all, the tests."""


async def sharpness(
    s: Subject, run: TestRun, ids: Sequence[str], *, refuses: bool
) -> tuple[list[Problem], list[str], dict[str, list[str]]]:
    """What the new tests do not notice: problems, notes, and by criterion the wrong implementations that pass."""
    known = await _examples(s, run, ids)
    sources = await _sources(s) if ids else {}
    tried = rounds(sources.values(), [one for listed in known.values() for one in listed])
    if not ids or not tried:
        return [], [], {}
    groups = await _groups(s, run, ids)
    passing: dict[str, list[Wrong]] = {name: [] for name in groups}
    for wrong in tried[: max(1, int(_SECONDS / max(run.duration, 1.0)))]:
        for name in await _unnoticed(s, sources, wrong, groups, known):
            passing[name].append(wrong)
    called = {one.callee for listed in known.values() for one in listed}
    problems = [
        _blind(name, [one.described(called) for one in wrongs])
        for name, wrongs in passing.items()
        if refuses and len(wrongs) >= _ENOUGH and len(wrongs) == len(tried)
    ]
    problems += _shared(groups, passing, called) if refuses and not problems else []
    told = {name or "all": [one.described(called) for one in wrongs] for name, wrongs in passing.items() if wrongs}
    notes = [
        f"{_subject(name)}: all its tests pass if {some(what, 3)}; is one more example needed?"
        for name, what in told.items()
    ]
    return problems, [] if problems else notes, told


def _subject(name: str) -> str:
    return f"criterion {name}" if name not in ("", "all") else "the new tests"


def _shared(groups: Groups, passing: Mapping[str, list[Wrong]], called: Collection[str]) -> Iterator[Problem]:
    """Criteria that have one test between them, and that one has too few examples."""
    by_test: dict[str, list[str]] = {}
    for name, tests in groups.items():
        if passing[name] and len(functions := {id_.partition("[")[0] for id_ in tests}) == 1:
            by_test.setdefault(functions.pop(), []).append(name)
    for test, names in by_test.items():
        if len(names) > 1:
            wrong = some([one.described(called) for one in passing[names[0]]], 2)
            what = f"is the only test of {some(names)}, and passes if {wrong}: it cannot show all of them"
            yield problem(what, test=test, expected="a test for each criterion")


def _blind(name: str, wrong: list[str]) -> Problem:
    what = f"{_subject(name)}: the tests pass whatever is returned ({some(wrong, 4)}): they show nothing"
    return problem(what, expected="an assertion about the result that a wrong one fails")


async def _sources(s: Subject) -> dict[str, str]:
    code = [
        path
        for path, entry in (await s.entries()).items()
        if path.endswith(".py") and entry.mode.startswith("100") and s.tests.is_code(path)
    ]
    texts = await s.texts(code)
    return {path: text for path, text in texts.items() if "NotImplemented" in text and len(text) <= _LARGEST}


async def _examples(s: Subject, run: TestRun, ids: Sequence[str]) -> dict[str, list[Example]]:
    """By the id of the test, without its parameters."""
    found: dict[str, list[Example]] = {}
    for file in dict.fromkeys(file_of(id_, run) for id_ in ids):
        for one in examples(await s.text(file) or "") if file.endswith(".py") else ():
            found.setdefault(f"{file}::{one.test}", []).append(one)
    return found


async def _groups(s: Subject, run: TestRun, ids: Sequence[str]) -> Groups:
    listed = (await read_manifest(s)).by_criterion(run.collected)
    wanted = set(ids)
    whole = {name: tests for name, tests in listed.items() if tests and wanted.issuperset(tests)}
    return whole or {"": list(ids)}


async def _unnoticed(
    s: Subject, sources: Mapping[str, str], wrong: Wrong, groups: Groups, known: Mapping[str, list[Example]]
) -> list[str]:
    """The groups all of whose tests pass with a wrong implementation; most are decided without a run."""

    def is_refuted(id_: str) -> bool:
        return any(wrong.is_refuted_by(one) for one in known.get(id_.partition("[")[0], ()))

    open_ = {name: tests for name, tests in groups.items() if not any(is_refuted(id_) for id_ in tests)}
    if not open_:
        return []
    entries = await s.entries()
    files: dict[str, Entry | None] = {}
    for path, source in sources.items():
        if (program := wrong.program(source)) is not None:
            files[path] = Entry(entries[path].mode, await s.git.blob(program.encode()), path)
    ids = sorted({id_ for tests in open_.values() for id_ in tests})
    done = await s.measure.suite(await s.git.with_files(s.work.commit, files), ids=ids)
    return [name for name, tests in open_.items() if not done.bent and all(id_ in done.passed for id_ in tests)]
