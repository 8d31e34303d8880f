"""Runs the project's tools in clean checkouts, each question once.

What came out well holds for its tree for ever. What did not may have had other reasons than the tree: it is kept for
the activity that asked, so that a verification that is repeated after a crash says the same, and nobody else.
"""

import re
import shlex
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from treadle.config.model import Toolchain
from treadle.errors import PortError
from treadle.evidence.cache import Cache
from treadle.evidence.needs import Git, Tools
from treadle.toolchains.line_coverage import LineCoverage
from treadle.toolchains.results import Built, Collected, TestRun
from treadle.toolchains.scaling import Measured, Probe

T = TypeVar("T", bound=msgspec.Struct)
Asked = TypeVar("Asked", TestRun, Collected)
_INSTALL: Final = "install it on this machine, then answer with a retry"
_SHOWN: Final = 30
"""Lines of what a broken tool printed; the reason is at their end."""


class Unstable(msgspec.Struct, frozen=True):
    """The tests that were seen to pass and to fail on one tree."""

    tests: tuple[str, ...] = ()


class Measure:
    """Measurements for one activity."""

    def __init__(self, git: Git, tools: Tools, cache: Cache, run: str, asker: str, papers: Sequence[str] = ()) -> None:
        """`papers` are files of the run that its result does not carry, so no test sees them."""
        self._git, self._tools, self._cache, self._run, self._asker = git, tools, cache, run, f"{run}/{asker}"
        self._papers = papers
        self._known: dict[tuple[object, ...], msgspec.Struct] = {}
        self._delivered: dict[str, str] = {}

    @property
    def settings(self) -> Toolchain:
        """What the project says about its tools."""
        return self._tools.settings

    async def known_suite(self, tree: str) -> TestRun:
        """A run of all tests on a tree of the past: whoever has run them there, and however that came out."""
        tree = await self._as_delivered(tree)
        seen = await self._cache.get(("seen", tree, self._tools.identity), TestRun)
        return seen or await self.suite(tree, mirrors=False)

    async def _as_delivered(self, tree: str) -> str:
        """A tree with the run's papers as they were on the base commit.

        Tests run on what is delivered; and the tree of a result, which carries no papers, is then one that was tested
        when the work was accepted.
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
        """A run of the tests: all of them, those with some ids, or those in some files.

        With `again`, the run of that number after the first one; what it says holds for nobody else. With `limit`, a
        run that ends after so many seconds. Without `mirrors`, one that runs no copies of tests: for questions that the
        work is not accepted by.
        """
        tree = await self._as_delivered(tree)
        chosen = None if ids is None else tuple(sorted(ids))
        wanted = None if files is None else tuple(sorted(files))

        async def run(path: Path) -> TestRun:
            return await self._begun(await self._tools.test(path, chosen, wanted, limit, mirrors=mirrors))

        question: tuple[object, ...] = ("test", chosen, wanted, *([again] if again else []))
        if not mirrors:
            full = await self._kept((*question, tree, self._tools.identity), TestRun)
            if full is not None and full.is_green:  # it ran the same tests, and copies of some besides
                return full
            question = (*question, "without mirrors")
        done = await self._once(question, tree, TestRun, run, lambda one: one.is_green and not again)
        if not again and chosen is None and wanted is None and done.is_believable:
            await self._cache.put(("seen", tree, self._tools.identity), done)
        return done

    async def unstable(self, tree: str, ids: Sequence[str], times: int) -> set[str]:
        """Those of some tests whose verdict on a tree changes from run to run. What was seen once is remembered.

        They are run `times` times by themselves. A test that always fails alone, and passed in the run of all tests,
        may need the others: it is unstable only if another run of all tests ends otherwise for it.
        """
        tree = await self._as_delivered(tree)
        place = ("unstable", tree, self._tools.identity)
        noted = set((await self._cache.get(place, Unstable) or Unstable()).tests)
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
            await self._cache.put(place, Unstable(tuple(sorted(noted | changed))))
        return {id_ for id_ in ids if id_ in noted or id_ in changed}

    async def collected(self, tree: str, files: Sequence[str] | None = None) -> Collected:
        """The tests there are."""
        tree = await self._as_delivered(tree)
        wanted = None if files is None else tuple(sorted(files))

        async def run(path: Path) -> Collected:
            return await self._begun(await self._tools.collect(path, wanted))

        return await self._once(("collect", wanted), tree, Collected, run, lambda one: one.is_complete)

    async def coverage(self, tree: str) -> LineCoverage:
        """The lines that a run of all tests executes."""
        return await self._once(("lines",), tree, LineCoverage, self._tools.coverage, lambda one: one.is_known)

    async def scaling(self, probe: Probe, tree: str) -> Measured:
        """What a function costs for inputs of growing size."""

        async def run(path: Path) -> Measured:
            return await self._tools.scaling(path, probe)

        return await self._once(("scaling", probe), tree, Measured, run, lambda one: one.exit == 0 and not one.problem)

    async def command(self, name: str, tree: str) -> Built | None:
        """One of the project's commands; None if it has none of that name."""

        async def run(path: Path) -> Built:
            return _installed(await self._tools.command(name, path) or _NO_SUCH)

        built = await self._once(("command", name), tree, Built, run, lambda one: one.is_well)
        return None if built == _NO_SUCH else built

    async def run(self, argv: Sequence[str], tree: str) -> Built:
        """Any command."""
        words = tuple(argv)

        async def run(path: Path) -> Built:
            return _installed(await self._tools.run(words, path))

        return await self._once(("run", words), tree, Built, run, lambda one: one.is_well)

    async def _begun(self, done: Asked) -> Asked:
        """What a test tool says; an error if it cannot even begin on what there was before the run.

        Then nobody who works in the run is to blame, and nothing is remembered: it is mended from outside.
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
    ) -> T:
        key = (*question, tree, self._tools.identity)
        if (known := await self._kept(key, kind)) is not None:
            return known
        async with self._git.checkout(tree) as path:
            value = await run(path)
        place = key if is_well(value) else (*key, self._asker)
        self._known[place] = value
        await self._cache.put(place, value)
        return value

    async def _kept(self, key: tuple[object, ...], kind: type[T]) -> T | None:
        """An answer that holds for everybody, or one that this activity got before."""
        for place in (key, (*key, self._asker)):
            known = self._known.get(place) or await self._cache.get(place, kind)
            if isinstance(known, kind):
                self._known[place] = known
                return known
        return None


def _installed(built: Built) -> Built:
    """A command, unless this machine lacks its program: no agent can mend that, so none is charged for it.

    A program by a relative path (`./gradlew`) is part of the checkout, and so of the work.
    """
    program = built.command[0] if built.command else ""
    if built.ended == "missing" and ("/" not in program or program.startswith("/")):
        raise PortError(f"the program {program} cannot be started: {_INSTALL}", retryable=True, code="env.missing")
    if module := missing_module(built):
        said = f"{program} has no module {module}: install it ({program} -m pip install {module})"
        raise PortError(f"{said}, then answer with a retry", retryable=True, code="env.missing")
    return built


def missing_module(built: Built) -> str:
    """The module that a `python -m` command could not find in its environment; empty if that is not why it failed."""
    if built.is_well or built.command[1:2] != ("-m",) or len(built.command) < 3:
        return ""
    module = built.command[2]
    lacks = re.compile(rf"No module named '?{re.escape(module)}'?")
    lines = [line for line in built.output.splitlines() if line.strip()]
    return module if len(lines) == 1 and lacks.search(lines[0]) else ""


def _no_tool(done: TestRun | Collected, run: str) -> str:
    lines = [line for line in done.output.strip().splitlines() if line.strip()]
    reason = lines[-1].strip() if lines else "; ".join(done.problems)
    advice = (
        "mend what it needs on this machine, then answer with a retry; this run keeps the settings it began with, so "
        f"for another `toolchain.test`, `treadle abort {shlex.quote(run)}` and start another run"
    )
    said = "\n".join(lines[-_SHOWN:])
    return f"the test tool cannot start, not even on what there was before this run: {reason}; {advice}\n{said}"


_NO_SUCH = Built(command=(), exit=None)
