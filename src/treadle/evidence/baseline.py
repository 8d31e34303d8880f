"""The baseline: tests that failed or were flaky before the run began.

The evidence names these tests, and no agent is charged for them. A flaky test changes its verdict though nothing else
changes: it proves nothing, and the step's exits define how to send it back to its author.
"""

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Final

import msgspec

from treadle.config.model import ToolchainSettings
from treadle.evidence.checks.scope import may_change, measured_tree
from treadle.evidence.findings import CheckProblem, join_names, note, problem
from treadle.evidence.manifest import has_own_manifest, read_manifest
from treadle.evidence.measurements import ActivityMeasurements
from treadle.evidence.project_facts import RepositoryFacts
from treadle.evidence.source_text import decode_source
from treadle.evidence.subject import WRITES_TESTS, Subject
from treadle.evidence.suite import bad_tests, describe_test, file_of, suite_before, suite_on_work
from treadle.protocol.model import Graph, tag_of
from treadle.toolchains.results import TestRun
from treadle.toolchains.test_names import function_of, names_of

# The exits by which a step can send tests back to the steps that write them.


def ways_back(s: Subject) -> list[str]:
    """The exits of a step that lead to a step that writes tests before anything else judges the code."""
    exits = [name for name in s.step.routes if not name.startswith("!") and tag_of(name) != tag_of(s.job.exit)]
    return [name for name in exits if _leads_to_tests(s.graph, s.job.step, name)]


def _leads_to_tests(graph: Graph, start: str, exit_: str) -> bool:
    seen = {start}
    ahead = [route.to for route in graph.steps[start].routes[exit_]]
    while ahead:
        name = ahead.pop()
        if name in seen or name not in graph.steps or graph.steps[name].kind != "agent":
            continue
        seen.add(name)
        step = graph.steps[name]
        if any(ref.name in WRITES_TESTS for refs in step.gates.values() for ref in refs):
            return True
        ahead += [route.to for routes in step.routes.values() for route in routes]
    return False


# Flaky tests change their verdict though nothing else changes. The evidence names them, and they prove nothing.
#
# A failing test is rerun; if it then passes, it is flaky. A new test that fails once and passes once is not red.

MOST: Final = 25
"""Tests that are run again; where more fail, chance is not the reason."""
_SAME: Final = "the same verdict every time, whatever the clock, the order and the other tests"
_CERTAIN: Final = ("import", "not_implemented")


async def flaky_among(s: Subject, tree: str, run: TestRun, ids: Iterable[str], times: int | None = None) -> list[str]:
    """Those of some tests that failed in a run and pass in another one."""
    left = [id_ for id_ in ids if id_ in run.collected][:MOST]
    found: list[str] = []
    for again in range(1, 1 + min(s.measure.settings.reruns, times or s.measure.settings.reruns)):
        if not left:
            break
        other = await s.measure.suite(tree, ids=left, again=again, mirrors=False)
        if not other.is_believable:
            break
        found += [id_ for id_ in left if id_ in other.passed]
        left = [id_ for id_ in left if id_ not in other.passed]
    return sorted(found)


def may_be_chance(run: TestRun, ids: Iterable[str]) -> list[str]:
    """Return the failing tests that may fail for another reason next time: all but import errors and missing code."""
    return [id_ for id_ in ids if run.tests[id_].kind not in _CERTAIN]


def describe_flaky(run: TestRun, id_: str, advice: str = "") -> CheckProblem:
    """Describe a flaky test, with the first line of its failure message."""
    test = run.tests[id_]
    message = test.message.strip().partition("\n")[0][:300]
    said = f" ({message})" if message else ""
    what = f"is flaky: it failed{said}, then passed on the same code"
    return problem(what, test.file, test.line, id_, _SAME + advice, code="green.flaky")


def sent_back(s: Subject, when: str = "If the code is deterministic") -> str:
    """Describe how to send a test back to its author; empty where the step may change tests itself."""
    if not s.is_frozen:
        return ""
    return f". {when}, the test is at fault, and this step may not change it: {_how_to_send(s)}"


def handed_back(s: Subject) -> str:
    """Describe how to hand back a test that others have changed; empty where the step may change tests itself."""
    return f"it passes; if it cannot, this step may not change it: {_how_to_send(s)}" if s.is_frozen else ""


def _how_to_send(s: Subject) -> str:
    exits = ways_back(s)
    return f"answer with {' or '.join(exits)} and name the test" if exits else "say so in the answer"


FAILING: Final = "baseline.failing"
FLAKY: Final = "baseline.flaky"
INSTRUMENTED: Final = "baseline.instrumented"
BY_CHANCE: Final = "baseline.chance"
EXCUSED: Final = "excused"
"""The name under which a check's evidence has the tests that it did not charge: test → code."""
TOO: Final = "failed before this run, too"
_WORDS: Final = {
    FAILING: TOO,
    FLAKY: "passed and failed by chance before this run, too",
    BY_CHANCE: "passed before this run, failed once with this work, and passed in every rerun",
}
_RERUNS: Final = 12
"""The number of reruns of a test on the base; a project may ask for more, or for none at all.

The reruns stop at the first other verdict. A test that fails every second time is charged to an agent once in 4,096
times.
"""


def reruns_of(settings: ToolchainSettings) -> int:
    """How often a suspect test is run again; 0 if the project wants no reruns."""
    return max(_RERUNS, settings.reruns) if settings.reruns else 0


class SuiteBaseline:
    """The test verdicts from before a piece of work: at the run's start, and at the commit where the work began."""

    def __init__(self, git: RepositoryFacts, measure: ActivityMeasurements, start: str, origin: str) -> None:
        self._git, self._measure, self._start, self._origin = git, measure, start, origin

    async def excuses(
        self, run: TestRun, tree: str, ids: Collection[str], head: str, earlier: TestRun, adopted: Collection[str] = ()
    ) -> dict[str, str]:
        """Return the tests that the work at `head` is not charged for: test → code of the reason.

        `run`: all tests on `tree`, the work as it is measured. `earlier`: the tests where the work began; a test that
        was repaired between the run's start and there must pass. `adopted`: old tests that the work has made its own.
        """
        found: dict[str, str] = {}
        for base in dict.fromkeys((self._start, self._origin)):
            left = [id_ for id_ in ids if id_ not in found and id_ not in adopted]
            if not left:
                break
            base_tree = await self._git.tree(base)
            seen = await self._measure.known_suite(base_tree)
            if not seen.is_believable:
                continue
            old = await self.unchanged(base, head, run, left)
            failing = {id_ for id_ in old & red_at_start(seen, run) if id_ not in earlier.passed}
            if base == self._start:
                found |= dict.fromkeys(failing, FAILING)
            else:  # a test that failed there, and not at the start, waits for the work of another step
                old, failing = old & seen.passed, set()
            found |= dict.fromkeys(await self._unstable(base_tree, seen, run, sorted(old), failing), FLAKY)
            steady = [id_ for id_ in left if id_ in old & seen.passed and id_ not in found]
            found |= dict.fromkeys(await self._by_chance(tree, run, steady), BY_CHANCE)
        return found

    async def _unstable(
        self, tree: str, seen: TestRun, run: TestRun, ids: list[str], failing: Collection[str]
    ) -> set[str]:
        """Return the tests that pass and fail on the base; of `failing`, only those already known as unstable."""
        known = await self._measure.unstable(tree, sorted(failing), times=0)
        tried = [id_ for id_ in ids if id_ not in failing and id_ in seen.tests]
        tried = may_be_chance(run, [id_ for id_ in tried if id_ in run.tests])
        return known | (await self._measure.unstable(tree, tried, self._reruns) if len(tried) <= MOST else set())

    async def _by_chance(self, tree: str, run: TestRun, ids: list[str]) -> set[str]:
        """Return the tests that failed in one run of the whole suite and pass in every other run of the same files.

        A test with a short timeout fails on a busy machine, but hardly ever when it is rerun by itself, so reruns on
        the base do not show it. Code that makes an old test unstable has to be lucky in every rerun here, and a lucky
        first run would not have been questioned either.
        """
        left = may_be_chance(run, [id_ for id_ in ids if id_ in run.failed])
        if not left or len(left) > MOST:
            return set()
        for again in range(1, 1 + self._reruns):
            other = await self._measure.suite(tree, ids=left, again=again, mirrors=False)
            left = [id_ for id_ in left if other.is_believable and id_ in other.passed]
            if not left:
                return set()
        company = await self._measure.suite(tree, again=1, mirrors=False) if self._reruns else None
        return {id_ for id_ in left if company is not None and company.is_believable and id_ in company.passed}

    @property
    def _reruns(self) -> int:
        return reruns_of(self._measure.settings)

    async def unchanged(self, base: str, head: str, run: TestRun, ids: list[str]) -> set[str]:
        """Those of some tests that are written at `head` as they were at `base`."""
        then, now = await self._git.entries(base), await self._git.entries(head)
        changed = [path for path in {*then, *now} if then.get(path) != now.get(path)]
        if not changed:
            return set(ids)
        texts = {commit: await self._git.shows(commit, changed) for commit in (base, head)}
        found: set[str] = set()
        for id_ in ids:
            file = file_of(id_, run)
            if file in changed:
                old, new = (written_test(file, texts[commit].get(file), id_) for commit in (base, head))
                is_same = bool(old) and old == new
            elif file in now:
                is_same = True
            else:  # the toolchain does not say where it is written
                name = id_.rpartition("::")[2].partition("[")[0].encode()
                is_same = not any(name in (texts[head].get(path) or b"") for path in changed)
            found |= {id_} if is_same else set()
        return found


def red_at_start(start: TestRun, run: TestRun) -> set[str]:
    """Return the failing tests of `run` that failed, or could not be collected with their file, at the start."""
    known = bad_tests(start) if start.is_believable else {}
    return {id_ for id_ in bad_tests(run) if id_ in known or file_of(id_, run) in known}


def written_test(path: str, data: bytes | None, id_: str, *, whole: bool = True) -> str:
    """Return a test as it is written, without its layout, to see whether it has been rewritten; empty if there is none.

    Without `whole`, return only its body and its decorators, except for those that give it its cases.
    """
    if not path.endswith(".py"):
        return _block(decode_source(path, data or b""), id_)
    try:
        node: ast.AST = ast.parse(decode_source(path, data or b""))
    except (SyntaxError, ValueError, RecursionError):
        return ""
    for name in id_.partition("[")[0].split("::")[1:]:
        inside = [one for one in getattr(node, "body", []) if getattr(one, "name", "") == name]
        if not inside:
            return ""
        node = inside[-1]
    if isinstance(node, ast.Module):
        return ""
    return "\n".join(map(ast.dump, [node] if whole else _inner_parts(node)))


def _inner_parts(node: ast.AST) -> list[ast.AST]:
    decorators = [one for one in getattr(node, "decorator_list", []) if not _CASES.search(ast.unparse(one))]
    return [*decorators, *getattr(node, "body", [])]


_CASES: Final = re.compile(r"parametri[sz]e|\bexample\b|\bparameterized\b|\bddt\b|\bdata\b")


_OPENING: Final = re.compile(r"\s*(?:func|def|fn|test|it|describe|suite|context|#\[)(?![\w-])")
"""The first words of a line that begins a test, or a group of tests, in languages that are not parsed here."""


def _block(text: str, id_: str) -> str:
    """The lines of a test from the one with its name up to the next test; empty if no line has its name."""
    name = id_.rpartition("::")[2]
    lines = text.splitlines()
    for known in dict.fromkeys((name, name.rpartition(" > ")[2], name.partition("/")[0], name.partition("[")[0])):
        found = (n for n, line in enumerate(lines) if known and _OPENING.match(line) and known in line)
        if (start := next(found, None)) is not None:
            ends = (n for n in range(start + 1, len(lines)) if _OPENING.match(lines[n]))
            return "\n".join(line.strip() for line in lines[start : next(ends, len(lines))] if line.strip())
    return ""


async def lucky_tests(s: Subject, run: TestRun, ids: Iterable[str]) -> list[str]:
    """Return the tests that the base commit has unchanged, and that do not always fail there.

    Their failure shows no missing behaviour: it is chance, or a later change has broken them.
    """
    start = await s.start()
    tree = await s.git.tree(start)
    seen = await s.measure.known_suite(tree)
    baseline = SuiteBaseline(s.git, s.measure, start, start)
    old = await baseline.unchanged(start, s.work.commit, run, [id_ for id_ in ids if id_ in seen.tests])
    failing = sorted(old - seen.passed)
    # The project may do without reruns of tests that prove nothing; a proof needs them.
    unstable = await s.measure.unstable(tree, failing, max(_RERUNS, s.measure.settings.reruns)) if failing else set()
    return sorted(old & seen.passed | unstable)


async def rewritten_tests(s: Subject, run: TestRun, ids: Iterable[str], *, of_step: bool = False) -> list[str]:
    """Return the tests that had another body when the instance began, with which they passed; they pass now, too.

    A test with cases, one of which fails now, has got a new case. `of_step` takes only the tests that this step has
    rewritten itself. An earlier step may have changed an old test so that it failed, and the rebase may have brought in
    changes of others: the checks have judged both already.
    """
    origin = await s.origin()
    passed = (await s.measure.known_suite(await s.git.tree(origin))).passed
    known = [origin]
    if of_step:
        passed &= (await suite_before(s)).passed
        known += [s.work.base, *await _rebased_onto(s)]
    growing = {function_of(id_) for id_ in bad_tests(run)}
    found: list[str] = []
    for id_ in ids:
        if id_ not in passed or id_ not in run.passed or function_of(id_) in growing:
            continue
        file = file_of(id_, run)
        old, *others, new = [
            written_test(file, await s.git.show(commit, file), id_, whole=False) for commit in (*known, s.work.commit)
        ]
        found += [id_] if old and new and new not in (old, *others) else []
    return found + await _rewritten_bases(s, run, passed, known)


async def _rewritten_bases(s: Subject, run: TestRun, passed: Collection[str], known: Sequence[str]) -> list[str]:
    """Return the rewritten tests of base classes: they are collected only with the classes that inherit them.

    One that fails now in such a class asks for something new.
    """
    found: list[str] = []
    for path in (path for path in s.changed_tests() if path.endswith(".py") and may_change(s, path)):
        *earlier, now = [_inherited_tests(path, await s.git.show(commit, path)) for commit in (*known, s.work.commit)]
        for name, body in now.items():
            heirs = [id_ for id_ in run.collected if function_of(id_).rpartition("::")[2] == name.rpartition("::")[2]]
            is_changed = name in earlier[0] and all(body != one.get(name) for one in earlier)
            if is_changed and f"{path}::{name}" not in map(function_of, run.collected):
                is_new = any(id_ in bad_tests(run) for id_ in heirs)
                found += [f"{path}::{name}"] if not is_new and any(id_ in passed for id_ in heirs) else []
    return found


def _inherited_tests(path: str, data: bytes | None) -> dict[str, str]:
    """Return the tests in the classes of a module, each with its body."""
    try:
        module = ast.parse(decode_source(path, data or b""))
    except (SyntaxError, ValueError, RecursionError):
        return {}
    return {
        f"{owner.name}::{one.name}": "\n".join(map(ast.dump, _inner_parts(one)))
        for owner in module.body
        if isinstance(owner, ast.ClassDef)
        for one in owner.body
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and one.name.startswith("test")
    }


async def _rebased_onto(s: Subject) -> list[str]:
    """Return the parent's head, where the step brings in the parent's work."""
    is_rebase = bool(s.inst.parent) and any(ref.name == "rebased" for ref in s.job.checks)
    return [await s.git.parent_head(s.case.state, s.job.inst)] if is_rebase else []


def describe_rewritten(id_: str) -> CheckProblem:
    """Describe an old test that a step has rewritten, and that still passes."""
    what = "is an old test that passed before; its body was changed, and it still passes, so it may demand less now"
    wanted = "the old test as it was; what is to change fails in it now, and what is new stands in a new test"
    return problem(what, test=id_, expected=wanted, code="tests.rewritten")


async def lost_in_step(s: Subject, run: TestRun, earlier: TestRun) -> dict[str, str]:
    """Return the tests that passed before this step and do not run any more, each with the reason."""
    rewritten = {path for path in s.paths() if may_change(s, path)}
    lost = await lost_tests(s.git, run, earlier, s.work.base, s.work.commit, rewritten)
    for parent in await _rebased_onto(s) if lost else ():
        # The parent's work came in with the rebase; the parent's checks have judged its renamed and moved tests.
        theirs = await s.measure.known_suite(await s.git.tree(parent))
        lost = [id_ for id_ in lost if id_ in theirs.tests or id_ in run.collected]
    return {id_: "no longer runs, though it is still collected" if id_ in run.collected else "is gone" for id_ in lost}


async def adopted_tests(s: Subject, run: TestRun, ids: Iterable[str]) -> list[str]:
    """Those of some failing tests that failed before the run, that this step has changed, and that prove nothing.

    An unchanged test is not charged to anybody. A changed one is, so the step that has to make the tests pass would pay
    for a test that it may not change.
    """
    tree = await s.git.tree(await s.start())
    failing = bad_tests(run)
    known = [id_ for id_ in ids if id_ in failing]
    known = [id_ for id_ in known if id_ in bad_tests(await s.measure.known_suite(tree))] if known else []
    if not known:
        return []
    entries, names = (await read_manifest(s)).entries, names_of(run)
    listed = {id_ for entry in entries for id_ in names.resolve(entry.test)}
    repaired = (await suite_before(s)).passed
    left = [id_ for id_ in known if id_ not in listed and id_ not in repaired]
    baseline = SuiteBaseline(s.git, s.measure, s.work.base, s.work.base)
    return sorted(set(left) - await baseline.unchanged(s.work.base, s.work.commit, run, left))


def describe_adopted(id_: str) -> CheckProblem:
    """Describe a test that failed before the run, and that a step has changed for no criterion."""
    what = "failed before this run and was changed by this step, but proves no criterion"
    wanted = (
        "the old test restored; put new expectations into a new test, or map this one to a criterion in the manifest"
    )
    return problem(what, test=id_, expected=wanted, code="tests.adopted")


# Old tests that no longer run. A hook, an option or a mark may keep a collected test from running, so only a result
# counts.


def silent_tests(run: TestRun, earlier: TestRun, rewritten: Collection[str] = ()) -> list[str]:
    """Return the tests that passed earlier and have no result now, because they are gone or deselected.

    Of a test with cases, as many as passed have to pass: some projects have other ids of cases in every run. In a file
    of `rewritten`, new cases may be red instead, because an expected value that a spec changes is often part of an id.
    """
    before = Counter(function_of(id_) for id_ in earlier.passed)
    red = {id_ for id_, test in run.tests.items() if test.is_red and file_of(id_, run) in rewritten}
    now = Counter(function_of(id_) for id_ in run.tests if id_ in run.passed or id_ in earlier.tests or id_ in red)
    return sorted(
        id_ for id_ in earlier.passed if id_ not in run.tests and now[function_of(id_)] < before[function_of(id_)]
    )


async def lost_tests(
    git: RepositoryFacts, run: TestRun, earlier: TestRun, base: str, head: str, rewritten: Collection[str]
) -> list[str]:
    """Return the tests that passed at `base` and no longer run at `head`, without those that only got another name.

    In a file of `rewritten`, which the step changed and may change, a test may be renamed or moved: a new test that is
    otherwise the same word for word succeeds it.
    """
    silent = silent_tests(run, earlier, rewritten)
    renamed = [id_ for id_ in silent if id_ not in run.collected and file_of(id_, earlier) in rewritten]
    if not renamed:
        return silent
    fresh = [id_ for id_, test in run.tests.items() if id_ not in earlier.tests and file_of(id_, run) in rewritten]
    ran = [id_ for id_ in fresh if id_ in run.passed or run.tests[id_].is_red]
    then, now = [
        await git.shows(commit, sorted({file_of(id_, one) for id_ in ids}))
        for commit, one, ids in ((base, earlier, renamed), (head, run, ran))
    ]
    heirs = Counter(_nameless(file, now.get(file), id_) for id_ in ran if (file := file_of(id_, run)))
    for id_ in renamed:
        file = file_of(id_, earlier)
        text = _nameless(file, then.get(file), id_)
        if text and heirs[text]:
            heirs[text] -= 1
            silent.remove(id_)
    return silent


def _nameless(file: str, data: bytes | None, id_: str) -> str:
    """A test as it is written, without its own name."""
    name = re.split(r"::| > ", function_of(id_))[-1]
    return written_test(file, data, id_).replace(name, "", 1)


async def excused_tests(s: Subject, run: TestRun, ids: Iterable[str]) -> dict[str, str]:
    """Those of some tests that this activity is not charged for: test → code."""
    asked = list(ids)
    if not asked:
        return {}
    start, origin = await s.start(), await s.origin()
    adopted: set[str] = set()
    if has_own_manifest(s.case.protocol):
        adopted = (await read_manifest(s)).tests(run)
    baseline = SuiteBaseline(s.git, s.measure, start, origin)
    return await baseline.excuses(run, await measured_tree(s), asked, s.work.commit, await suite_before(s), adopted)


async def without_old_failures(s: Subject, run: TestRun) -> TestRun:
    """Return a run without the failing tests that this activity is not charged for; its limits name them."""
    found = await excused_tests(s, run, bad_tests(run)) if run.is_believable else {}
    tests = {id_: test for id_, test in run.tests.items() if id_ not in found}
    limits = (*run.limits, *(f"{id_} {_WORDS[code]}, and does not count" for id_, code in sorted(found.items())))
    return msgspec.structs.replace(run, tests=tests, limits=limits)


async def failing_before(s: Subject, run: TestRun) -> set[str]:
    """Failing tests that failed when the run began, and have not passed where this work began."""
    if not bad_tests(run):
        return set()
    start = await s.measure.known_suite(await s.git.tree(await s.start()))
    known = red_at_start(start, run)
    return known - (await suite_before(s)).passed if known else set()


def excuse_notes(found: dict[str, str]) -> list[CheckProblem]:
    """A note for each test that is not charged."""
    return [note(_WORDS[code], test=id_, code=code) for id_, code in sorted(found.items())]


def describe_with_past(run: TestRun, id_: str, known: Iterable[str], advice: str = "") -> CheckProblem:
    """A test that did not pass, and whether that is anything new."""
    one = describe_test(run.tests[id_])
    if id_ not in known:
        return one
    said = f"{TOO}, and this work has changed it or lists it in its manifest; {one.what}"
    return problem(said, one.file, one.line, one.test, one.expected + advice, code=one.code)


async def baseline_notes(s: Subject) -> tuple[CheckProblem, ...]:
    """Return notes for people about tests that were failing or unstable before the run began."""
    run = await suite_on_work(s)
    found = await excused_tests(s, run, bad_tests(run)) if run.is_believable else {}
    notes: list[CheckProblem] = []
    if run.by_runner:
        said = f"end well only without our instrumentation; the runner's word counts: {join_names(list(run.by_runner))}"
        notes.append(note(said, code=INSTRUMENTED))
    for code, words in _WORDS.items():
        if ids := sorted(id_ for id_ in found if found[id_] == code):
            count, refuse = ("1 test", "refuses") if len(ids) == 1 else (f"{len(ids)} tests", "refuse")
            notes.append(note(f"{count} {words}, and {refuse} nothing: {join_names(ids)}", code=code))
    return tuple(notes)
