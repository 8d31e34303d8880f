"""Runs the project's tools in clean checkouts, each question once.

A good result is valid for its tree for ever. A bad one may have other causes than the tree: it is cached only for the
activity that asked, so a verification that is repeated after a crash gives the same answer. The cache also
keeps the last believable run of all tests on each tree, good or bad: `known_suite` gives it to every activity that
compares new work with that tree.
"""

import asyncio
import hashlib
import hmac
import os
import re
import shlex
import sys
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from treadle.config.model import ToolchainSettings
from treadle.errors import PortError
from treadle.evidence.hanging import HangLimit, hang_limit
from treadle.evidence.project_facts import ProjectTools, RepositoryFacts
from treadle.git.trees import TreeEntry
from treadle.protocol.paths import TestPaths
from treadle.toolchains.chosen_files import listed_in_files, tests_in_files
from treadle.toolchains.line_coverage import LineCoverage
from treadle.toolchains.results import (
    ApartRun,
    CallRecord,
    CallReplay,
    CollectedTests,
    CommandResult,
    RecordedCall,
    TestRun,
    with_word_of,
)
from treadle.toolchains.scaling import ScalingMeasurement, ScalingProbe

# The cache of measurements: results that depend only on a tree, a command and its parameters.
#
# Each result is signed together with its cache key. The signing key lies in another place, so write access to the
# folder is not enough to forge a result or to swap two of them. An unreadable or altered file is measured again.

Kept = TypeVar("Kept")
VERSION: Final = 3
_LARGEST: Final = 64_000_000


class Cache:
    """A folder of results, named by the hash of their inputs."""

    def __init__(self, folder: Path, key: bytes) -> None:
        self._folder, self._key = folder, key

    async def get(self, key: tuple[object, ...], kind: type[Kept]) -> Kept | None:
        """Return the cached result; None if it is missing or damaged."""
        return await asyncio.to_thread(self._get, key, kind)

    async def put(self, key: tuple[object, ...], value: msgspec.Struct) -> None:
        """Keep a result; failing to do so costs time, nothing else."""
        with suppress(OSError):
            await asyncio.to_thread(self._put, key, value)

    def _get(self, key: tuple[object, ...], kind: type[Kept]) -> Kept | None:
        path = self._path(key)
        try:
            if path.is_symlink() or path.stat().st_size > _LARGEST:
                return None
            signature, _, body = path.read_bytes().partition(b"\n")
            if not hmac.compare_digest(signature, self._signature(path, body)):
                return None
            return msgspec.json.decode(body, type=kind)
        except (OSError, ValueError, msgspec.MsgspecError):
            return None

    def _put(self, key: tuple[object, ...], value: msgspec.Struct) -> None:
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        body = msgspec.json.encode(value)
        draft = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
        draft.write_bytes(self._signature(path, body) + b"\n" + body)
        draft.replace(path)

    def draw(self, tree: str) -> str:
        """Return a seed for a tree, which nobody can compute without the key."""
        return hmac.new(self._key, f"draw {tree}".encode(), hashlib.sha256).hexdigest()

    def _signature(self, path: Path, body: bytes) -> bytes:
        question = f"{path.parent.name}{path.name}".encode()
        return hmac.new(self._key, question + b"\n" + body, hashlib.sha256).hexdigest().encode()

    def _path(self, key: tuple[object, ...]) -> Path:
        name = hashlib.sha256(msgspec.json.encode([VERSION, *key])).hexdigest()
        return self._folder / name[:2] / f"{name[2:]}.json"


# Measurements.

T = TypeVar("T", bound=msgspec.Struct)
ToolResult = TypeVar("ToolResult", TestRun, CollectedTests)
_INSTALL: Final = "install it on this machine, then answer with a retry"
_SHOWN: Final = 30
"""Lines of a broken tool's output to show; the reason is at its end."""


class UnstableTests(msgspec.Struct, frozen=True):
    """The tests that were seen to pass and to fail on one tree."""

    tests: tuple[str, ...] = ()


class ActivityMeasurements:
    """Measurements for one activity."""

    def __init__(
        self, git: RepositoryFacts, tools: ProjectTools, cache: Cache, run: str, asker: str, papers: Sequence[str] = ()
    ) -> None:
        """`papers` are files of the run that its result does not carry, so no test sees them."""
        self._git, self._tools, self._cache, self._run, self._asker = git, tools, cache, run, f"{run}/{asker}"
        self._papers = papers
        self._known: dict[tuple[object, ...], msgspec.Struct] = {}
        self._delivered: dict[str, str] = {}

    @property
    def settings(self) -> ToolchainSettings:
        """The project's settings for its tools."""
        return self._tools.settings

    async def known_suite(self, tree: str) -> TestRun:
        """Return a run of all tests on an earlier tree: the last one by any activity, or else a new one."""
        return await self.earlier_suite(tree) or await self.suite(tree, limit=self.settings.timeout, mirrors=False)

    async def earlier_suite(self, tree: str) -> TestRun | None:
        """Return the last run of all tests on a tree with the same tools and settings; None if there is none."""
        return await self._cache.get(("seen", await self._as_delivered(tree), self._tools.identity), TestRun)

    async def _as_delivered(self, tree: str) -> str:
        """Return a tree with the run's papers as they were on the base commit.

        Tests run on the tree as it is delivered; so the tree of a result, which carries no papers, has already been
        tested when the work was accepted.
        """
        if self._papers and tree not in self._delivered:
            before = await self._git.entries(await self._git.start(self._run))
            now = await self._git.entries(tree)
            files = {path: before.get(path) for path in self._papers if now.get(path) != before.get(path)}
            self._delivered[tree] = await self._git.with_files(tree, files) if files else tree
        return self._delivered.get(tree, tree)

    async def suite(
        self,
        tree: str,
        ids: Sequence[str] | None = None,
        files: Sequence[str] | None = None,
        again: int = 0,
        limit: float | None = None,
        *,
        mirrors: bool = True,
    ) -> TestRun:
        """Run the tests: all of them, those with some ids, or those in some files.

        `again` numbers a rerun after the first run; its result is cached for this activity only. `limit` ends the run
        after so many seconds; without it, the run on the base commit limits it. `mirrors=False` runs no copies of
        tests: for comparisons that do not decide whether the work is accepted.
        """
        tree = await self._as_delivered(tree)
        chosen = None if ids is None else tuple(sorted(ids))
        wanted = None if files is None else tuple(sorted(files))

        async def run(path: Path) -> TestRun:
            hang = None if limit is not None else await self._hang_limit(tree)
            seconds, each = (hang.suite, hang.test) if hang else (limit, None)
            done = await self._tools.test(path, chosen, wanted, seconds, test_limit=each, mirrors=mirrors)
            if done.broke_off:
                # A machine that lacks memory kills one run. Code that ends its run does so again, and only a run that
                # reached its end counts.
                done = await self._tools.test(path, chosen, wanted, seconds, test_limit=each, mirrors=mirrors)
            return await self._require_start(hang.explain(done) if hang else done)

        question: tuple[object, ...] = ("test", chosen, wanted, *([again] if again else []))
        if not mirrors:
            full = await self._kept((*question, tree, self._tools.identity), TestRun)
            if full is not None and full.is_green:  # it ran the same tests, and copies of some besides
                return tests_in_files(full, wanted)
            question = (*question, "without mirrors")
        measure = self._or_by_the_runner(run, tree, is_whole=chosen is None and wanted is None, mirrors=mirrors)
        done = await self._once(question, tree, TestRun, measure, lambda one: one.is_green and not again)
        done = tests_in_files(done, wanted)
        if not again and chosen is None and wanted is None and done.is_believable:
            await self._cache.put(("seen", tree, self._tools.identity), done)
        return done

    async def _hang_limit(self, tree: str) -> HangLimit | None:
        """Return the time that tests may take on a tree; None for the base commit itself, and before a run."""
        if not self._run:
            return None
        base = await self._base_tree()
        return hang_limit(await self.earlier_suite(base), self.settings) if base != tree else None

    async def apart(self, tree: str, ids: Sequence[str], tests: TestPaths, again: int = 0) -> ApartRun:
        """Run some tests of a tree (the judge) against its code (the subject), in two processes.

        `tests` divides the tree: only the judge gets the tests' own files. The subject gets all others, which the
        author of an implementation may write. `again` numbers a rerun, as for `suite`.
        """
        tree, chosen = await self._as_delivered(tree), tuple(sorted(ids))
        code = await self._code_of(tree, tests)

        async def run(path: Path) -> ApartRun:
            async with self._git.checkout(code) as subject:
                done = await self._tools.test_apart(
                    path, chosen, subject=subject, is_subject=tests.is_code, sample=self._cache.draw(tree)
                )
            if not done.problem:
                await self._require_start(done.run)
            return done

        # The tree of the code says which files were the subject's, so equal questions of two instances share an answer.
        question = ("apart, recorded", chosen, code, *([again] if again else []))
        return await self._once(
            question, tree, ApartRun, run, lambda one: _is_green_apart(one) and not again, lambda one: not untried(one)
        )

    async def _code_of(self, tree: str, tests: TestPaths) -> str:
        """Return a tree without the tests' own files."""
        owned: dict[str, TreeEntry | None] = {
            path: None for path in await self._git.entries(tree) if tests.is_test(path)
        }
        return await self._git.with_files(tree, owned)

    async def replay(
        self, tree: str, runs: Sequence[ApartRun], passed: Collection[str], tests: TestPaths
    ) -> CallReplay:
        """Repeat a sample of the calls that tests made apart, as a user would, on the code without tests."""
        tree = await self._as_delivered(tree)
        code, sample = await self._code_of(tree, tests), self._cache.draw(tree)
        record = CallRecord(
            calls=tuple(one for done in runs for one in done.record.calls if one.test in passed),
            others=sum(done.record.others for done in runs),
            path=next((done.record.path for done in runs if done.record.path), ()),
        )

        async def again(calls: Sequence[RecordedCall], programs: tuple[str, ...]) -> Sequence[str]:
            ids = tuple(sorted({one.test for one in calls}))
            async with self._git.checkout(tree) as path, self._git.checkout(code) as subject:
                done = await self._tools.test_apart(path, ids, subject=subject, is_subject=tests.is_code, ask=programs)
            return done.record.answers

        async def run(path: Path) -> CallReplay:
            return await self._tools.replay(path, record, again, sample, passed)

        question = ("replay", record)
        return await self._once(
            question, code, CallReplay, run, lambda one: not one.differences, lambda one: not one.problem
        )

    def _or_by_the_runner(
        self, run: Callable[[Path], Awaitable[TestRun]], tree: str, *, is_whole: bool, mirrors: bool
    ) -> Callable[[Path], Awaitable[TestRun]]:
        """Return a measurement in which our instrumentation makes no test fail that passes without it.

        Which tests those are is settled on the run's base commit, before any agent has worked: code that recognises a
        run without instrumentation gains nothing by it. Their verdicts then are the runner's word.
        """

        async def measure(path: Path) -> TestRun:
            done = await run(path)
            failing = [id_ for id_ in done.collected if id_ in done.failed] if done.is_believable else []
            if not failing:
                return done
            base = await self._base_tree()
            if tree == base:
                ids = await self._misjudged_at_base(path, failing, is_whole=is_whole, mirrors=mirrors)
            else:
                ids = await self._misjudged(base, failing, mirrors=mirrors)
            plain = await self._tools.test_plainly(path, ids) if ids else None
            if plain is None:
                return done
            return with_word_of(done, plain, [id_ for id_ in ids if tree != base or id_ in plain.passed])

        return measure

    async def _misjudged(self, base: str, failing: Sequence[str], *, mirrors: bool) -> tuple[str, ...]:
        """Return those of some failing tests that only our instrumentation made fail on the base commit.

        That commit is mostly run without mirrors, and so with less instrumentation.
        """
        seen = await self.known_suite(base)
        old = [id_ for id_ in failing if id_ in seen.passed and id_ not in seen.by_runner] if mirrors else []
        known = {*seen.by_runner, *((await self.suite(base, ids=old)).by_runner if old else ())}
        return tuple(id_ for id_ in failing if id_ in known)

    async def _misjudged_at_base(
        self, path: Path, failing: Sequence[str], *, is_whole: bool, mirrors: bool
    ) -> tuple[str, ...]:
        """Return the failing tests on the base commit that pass only without our instrumentation.

        With it they have to fail once more: a test that passes now and then, or alone, is flaky.
        """
        base = await self._base_tree()
        seen = await self.earlier_suite(base) if is_whole else await self.known_suite(base)
        left = tuple(id_ for id_ in failing if seen is None or id_ not in seen.failed)
        for _ in range(2):  # a test that ends otherwise every second time differs from one of two runs in a row
            plain = await self._tools.test_plainly(path, left) if left else None
            left = tuple(id_ for id_ in left if plain and plain.is_believable and id_ in plain.passed)
        again = await self._tools.test(path, left, mirrors=mirrors) if left else None
        return tuple(id_ for id_ in left if again and id_ in again.failed)

    async def _base_tree(self) -> str:
        """Return the tree of the commit that the run started from, as its tests see it."""
        return await self._as_delivered(await self._git.tree(await self._git.start(self._run)))

    async def unstable(self, tree: str, ids: Sequence[str], times: int) -> set[str]:
        """Return the tests with a verdict on a tree that changes from run to run. The cache remembers unstable tests.

        They are run `times` times by themselves. A test that always fails alone, and passed in the run of all tests,
        may need the others: it is unstable only if another run of all tests gives it another verdict.
        """
        tree = await self._as_delivered(tree)
        place = ("unstable", tree, self._tools.identity)
        noted = set((await self._cache.get(place, UnstableTests) or UnstableTests()).tests)
        seen = await self.known_suite(tree)
        asked = [id_ for id_ in ids if id_ in seen.tests and id_ not in noted]
        verdicts: dict[str, set[bool]] = {id_: set() for id_ in asked}
        for again in range(1, 1 + times):
            left = [id_ for id_ in asked if len(verdicts[id_]) < 2 and id_ in seen.collected]
            other = await self.suite(tree, ids=left, again=again, mirrors=False) if left else None
            if other is None or not other.is_believable:
                break
            for id_ in left:
                verdicts[id_].add(id_ in other.passed)
        changed = {id_ for id_, ends in verdicts.items() if len(ends) == 2}
        if alone := [id_ for id_, ends in verdicts.items() if ends == {id_ not in seen.passed}]:
            company = await self.suite(tree, again=1, mirrors=False)
            changed |= {id_ for id_ in alone if (id_ in company.passed) != (id_ in seen.passed)}
        if changed:
            await self._cache.put(place, UnstableTests(tuple(sorted(noted | changed))))
        return {id_ for id_ in ids if id_ in noted or id_ in changed}

    async def collected(self, tree: str, files: Sequence[str] | None = None) -> CollectedTests:
        """List the tests, of all files or of some."""
        tree = await self._as_delivered(tree)
        wanted = None if files is None else tuple(sorted(files))

        async def run(path: Path) -> CollectedTests:
            return await self._require_start(await self._tools.collect(path, wanted))

        found = await self._once(("collect", wanted), tree, CollectedTests, run, lambda one: one.is_complete)
        return listed_in_files(found, wanted)

    async def coverage(self, tree: str) -> LineCoverage:
        """Measure the lines that a run of all tests executes."""
        return await self._once(("lines",), tree, LineCoverage, self._tools.coverage, lambda one: one.is_known)

    async def scaling(self, probe: ScalingProbe, tree: str) -> ScalingMeasurement:
        """Measure the costs of a function for inputs of growing size."""

        async def run(path: Path) -> ScalingMeasurement:
            return await self._tools.scaling(path, probe)

        return await self._once(("scaling", probe), tree, ScalingMeasurement, run, lambda one: not one.problem)

    async def command(self, name: str, tree: str) -> CommandResult | None:
        """Run one of the project's commands; return None if it has none of that name."""

        async def run(path: Path) -> CommandResult:
            return _require_program(await self._tools.command(name, path) or _NO_SUCH)

        built = await self._once(("command", name), tree, CommandResult, run, lambda one: one.is_well)
        return None if built == _NO_SUCH else built

    async def run(self, argv: Sequence[str], tree: str) -> CommandResult:
        """Run any command."""
        words = tuple(argv)

        async def run(path: Path) -> CommandResult:
            return _require_program(await self._tools.run(words, path))

        return await self._once(("run", words), tree, CommandResult, run, lambda one: one.is_well)

    async def _require_start(self, done: ToolResult) -> ToolResult:
        """Return a test tool's result; raise `PortError` if the tool cannot even start on the run's base commit.

        In that case no agent is to blame, and nothing is cached: a person has to repair the environment.
        """
        if done.never_began:
            async with self._git.checkout(await self._git.tree(await self._git.start(self._run))) as path:
                if (await self._tools.collect(path)).never_began:
                    raise PortError(_no_tool(done, self._run), retryable=True, code="env.tests")
        return done

    async def _once(
        self,
        question: tuple[object, ...],
        tree: str,
        kind: type[T],
        run: Callable[[Path], Awaitable[T]],
        is_well: Callable[[T], bool],
        is_answer: Callable[[T], bool] = lambda _: True,
    ) -> T:
        """Return the cached answer to a question about a tree; without one, run the tool and cache its result.

        A result that is no answer, because this machine could not try, holds for this verification alone: the next one
        may find the machine repaired.
        """
        key = (*question, tree, self._tools.identity)
        if (known := await self._kept(key, kind)) is not None:
            return known
        async with self._git.checkout(tree) as path:
            value = await run(path)
        place = key if is_well(value) else (*key, self._asker)
        self._known[place] = value
        if is_answer(value):
            await self._cache.put(place, value)
        return value

    async def _kept(self, key: tuple[object, ...], kind: type[T]) -> T | None:
        """Return a cached answer that is valid for every activity, or one that this activity got before."""
        for place in (key, (*key, self._asker)):
            known = self._known.get(place) or await self._cache.get(place, kind)
            if isinstance(known, kind):
                self._known[place] = known
                return known
        return None


def untried(done: ApartRun) -> str:
    """Return why a run apart says nothing about the code: the machine cannot do it, or the judge broke off by itself.

    A subject that breaks the rules, hands over nothing or never answers is no such reason.
    """
    run = done.run
    if done.problem or run.tests or done.breaches or done.failed_to_cross or run.ended != "done":
        return done.problem
    said = "; ".join(run.problems) or run.output.strip().rpartition("\n")[2]
    return f"the judge ended with {run.exit} before any test{f': {said}' if said else ''}"


def _is_green_apart(done: ApartRun) -> bool:
    """Whether the result is good for every activity."""
    return done.run.is_green and not (done.problem or done.breaches or done.failed_to_cross or done.uncrossable)


def _require_program(built: CommandResult) -> CommandResult:
    """Return a command's result; raise a `PortError` if this machine lacks the program, which no agent can mend.

    A program by a relative path (`./gradlew`) is part of the checkout, and so of the work.
    """
    program = built.command[0] if built.command else ""
    if built.ended == "missing" and ("/" not in program or program.startswith("/")):
        raise PortError(f"the program {program} cannot be started: {_INSTALL}", retryable=True, code="env.missing")
    if module := missing_module(built):
        if module.partition(".")[0] in sys.stdlib_module_names:  # part of Python, and no package
            said = f"{program} has no module {module}, which is part of Python: make its environment again"
        else:
            said = f"{program} has no module {module}: install it ({program} -m pip install {module})"
        raise PortError(f"{said}, then answer with a retry", retryable=True, code="env.missing")
    return built


def missing_module(built: CommandResult) -> str:
    """Return the module that a `python -m` command could not find; empty if it failed for another reason."""
    if built.is_well or built.command[1:2] != ("-m",) or len(built.command) < 3:
        return ""
    module = built.command[2]
    lacks = re.compile(rf"No module named '?{re.escape(module)}'?")
    lines = [line for line in built.output.splitlines() if line.strip()]
    return module if len(lines) == 1 and lacks.search(lines[0]) else ""


def _no_tool(done: TestRun | CollectedTests, run: str) -> str:
    lines = [line for line in done.output.strip().splitlines() if line.strip()]
    reason = lines[-1].strip() if lines else "; ".join(done.problems)
    if not run:  # the baseline, before there is a run
        what, advice = "on the base commit", "repair what it needs on this machine, or `toolchain.test`, and try again"
    else:
        what = "on what there was before this run"
        advice = (
            "repair what it needs on this machine, then answer `retry`; this run keeps the settings it began with, "
            f"so for another `toolchain.test`, `treadle abort {shlex.quote(run)}` and start another run"
        )
    said = "\n".join(lines[-_SHOWN:])
    return f"the test tool cannot start, not even {what}: {reason}; {advice}\n{said}"


_NO_SUCH = CommandResult(command=(), exit=None)
