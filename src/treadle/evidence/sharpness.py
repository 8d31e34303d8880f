"""Whether new tests can tell a right implementation from a simple wrong one, criterion by criterion.

A criterion whose tests pass whatever the missing functions return, `None` apart, shows nothing: refused. So is a test
that passes with a value that its own example contradicts: it does not call what it says. One whose tests all pass with
some wrong implementation has too few examples: advice, for many an honest criterion is a single case. But a single test
that is all there is for several criteria cannot be that case for each of them: refused.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from treadle.evidence.examples import Example, examples, mentioned
from treadle.evidence.findings import Problem, note, problem, some
from treadle.evidence.manifest import read_manifest
from treadle.evidence.one_for_many import idle_beside, one_for_many, overburdened
from treadle.evidence.python_stubs import stub_functions
from treadle.evidence.stand_ins import may_be_replaced
from treadle.evidence.subject import Subject
from treadle.evidence.suite import file_of
from treadle.evidence.trial import Groups, Trial
from treadle.evidence.wrong_implementations import far_rounds, rounds
from treadle.protocol.items import Json
from treadle.toolchains.results import TestRun
from treadle.toolchains.test_names import function_of

_ENOUGH: Final = 3
"""Wrong implementations after which it can be said that nothing was noticed."""
_SECONDS: Final = 60.0
_LARGEST: Final = 500_000


class Sharpness(msgspec.Struct, frozen=True, kw_only=True):
    """What new tests do not notice."""

    problems: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()
    facts: dict[str, Json] = {}


async def sharpness(s: Subject, run: TestRun, ids: Sequence[str], *, refuses: bool, on: str = "") -> Sharpness:
    """What some tests do not notice; problems only if that is to be refused.

    The wrong implementations are put into what is missing in the recorded work, or in another tree with these tests.
    """
    on = on or s.work.commit
    groups = await _groups(s, run, ids)
    shared = one_for_many(groups)
    listed = (await read_manifest(s)).tests(run)
    idle = [note(what, code="manifest.idle") for what in idle_beside(shared, listed, ids)]
    sources = await _sources(s, on) if ids else {}
    known = await _examples(s, run, ids) if sources else {}
    near = rounds(sources.values(), [one for every in known.values() for one in every])
    if not near:
        return Sharpness(notes=tuple(idle))
    trial = Trial(s, run, on, sources, groups, known, may_be_replaced=await may_be_replaced(s))
    most = max(_ENOUGH, int(_SECONDS / max(run.duration, 1.0)))
    for wrong in near[:most]:
        await trial.play(wrong, groups)
    for number, wrong in enumerate(far_rounds(sources.values(), s.work.tree)[: max(_ENOUGH, most - len(near))]):
        await trial.play(wrong, [name for name in groups if trial.passing[name] or not number])
    reached = await _reached(s, run, groups, sources.values())
    told = {
        name: list(dict.fromkeys(one.described(reached[name]) for one in wrongs))
        for name, wrongs in trial.passing.items()
        if wrongs
    }
    problems: list[Problem] = []
    if refuses:
        problems += _not_called(trial, _undecorated(sources.values()))
        problems += [_blind(name, told[name]) for name in told if _is_blind(trial, name, reached[name])]
        problems += [] if problems else overburdened(shared, told)
    notes = [*(_dull(name, what) for name, what in told.items()), *idle]
    unnoticed: dict[str, Json] = {name or "all": list(what) for name, what in told.items()}
    facts: dict[str, Json] = {"wrong_implementations": trial.facts}
    facts |= {"unnoticed": unnoticed} if unnoticed else {}
    return Sharpness(problems=tuple(problems), notes=() if problems else tuple(notes), facts=facts)


def _subject(name: str) -> str:
    return f"criterion {name}" if name else "the new tests"


def _dull(name: str, wrong: list[str]) -> Problem:
    what = f"{_subject(name)}: all its tests pass if {some(wrong, 4)}; is one more example needed?"
    return note(what, code="tests.few_examples")


def _is_blind(trial: Trial, name: str, reached: set[str]) -> bool:
    """Whether tests have passed with everything that was tried but `None`, and that was enough of different things."""
    met = [one for one in trial.met[name] if set(one.about(reached)) != {"None"}]
    is_content = all(one in trial.passing[name] for one in met)
    return is_content and len({one.about(reached) for one in trial.passing[name]}) >= _ENOUGH


def _blind(name: str, wrong: list[str]) -> Problem:
    what = f"{_subject(name)}: the tests pass whatever is returned ({some(wrong, 4)}): they show nothing"
    return problem(
        what, expected="the result compared with the value that is right, so that a wrong one fails", code="tests.blind"
    )


def _not_called(trial: Trial, plain: set[str]) -> Iterator[Problem]:
    for test, (wrong, example) in trial.contradicted.items():
        if example.is_imported and example.callee in plain:
            what = f"passes if {wrong.described([example.callee])}, though it says that it is {example.expected}"
            expected = f"a test that calls {example.callee} itself, with nothing in its place"
            yield problem(f"{what}: something stands in for it", test=test, expected=expected, code="tests.stand_in")


def _undecorated(sources: Iterable[str]) -> set[str]:
    return {one.name for source in sources for one in stub_functions(source) if not one.decorator_list}


async def _sources(s: Subject, on: str) -> dict[str, str]:
    entries = await s.entries(on)
    unfinished = await s.git.holding(on, "NotImplemented", ".py")
    code = [path for path in unfinished if entries[path].mode.startswith("100") and s.tests.is_code(path)]
    return {path: text for path, text in (await s.texts(code, on)).items() if len(text) <= _LARGEST}


async def _examples(s: Subject, run: TestRun, ids: Sequence[str]) -> dict[str, list[Example]]:
    """By the id of the test, without its parameters."""
    found: dict[str, list[Example]] = {}
    for file in dict.fromkeys(file_of(id_, run) for id_ in ids):
        for one in examples(await s.text(file) or "") if file.endswith(".py") else ():
            found.setdefault(f"{file}::{one.test}", []).append(one)
    return found


async def _reached(s: Subject, run: TestRun, groups: Groups, sources: Iterable[str]) -> dict[str, set[str]]:
    """By group, the names that its tests use; those of the whole file where they leave the call to others."""
    missing = {one.name for source in sources for one in stub_functions(source)}
    files = {file_of(id_, run) for tests in groups.values() for id_ in tests}
    names = {file: mentioned(await s.text(file) or "") for file in files if file.endswith(".py")}
    found: dict[str, set[str]] = {}
    for name, tests in groups.items():
        own: set[str] = set()
        for file, test in {(file_of(id_, run), function_of(id_).partition("::")[2]) for id_ in tests}:
            used = names.get(file, {})
            own |= used.get(test, set()) & missing or used.get("", set()) & missing
        found[name] = own or missing
    return found


async def _groups(s: Subject, run: TestRun, ids: Sequence[str]) -> Groups:
    listed = (await read_manifest(s)).by_criterion(run)
    wanted = set(ids)
    whole = {name: tests for name, tests in listed.items() if tests and wanted.issuperset(tests)}
    return whole or {"": list(ids)}
