"""Runs the project's tools in clean checkouts, each question once.

What came out well holds for its tree for ever. What did not may have had other reasons than the tree: it is kept for
the activity that asked, so that a verification that is repeated after a crash says the same, and nobody else.
"""

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
_SHOWN: Final = 30
"""Lines of what a broken tool printed; the reason is at their end."""


class Measure:
    """Measurements for one activity."""

    def __init__(self, git: Git, tools: Tools, cache: Cache, run: str, asker: str) -> None:
        self._git, self._tools, self._cache, self._run, self._asker = git, tools, cache, run, f"{run}/{asker}"
        self._known: dict[tuple[object, ...], msgspec.Struct] = {}

    @property
    def settings(self) -> Toolchain:
        """What the project says about its tools."""
        return self._tools.settings

    async def known_suite(self, tree: str) -> TestRun:
        """A run of all tests on a tree of the past: whoever has run them there, and however that came out."""
        seen = await self._cache.get(("seen", tree, self._tools.identity), TestRun)
        return seen or await self.suite(tree, mirrors=False)

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
        chosen = None if ids is None else tuple(sorted(ids))
        wanted = None if files is None else tuple(sorted(files))

        async def run(path: Path) -> TestRun:
            return await self._begun(await self._tools.test(path, chosen, wanted, limit, mirrors=mirrors))

        question = ("test", chosen, wanted, *([again] if again else []), *([] if mirrors else ["without mirrors"]))
        done = await self._once(question, tree, TestRun, run, lambda one: one.is_green and not again)
        if not again and chosen is None and wanted is None and done.is_believable:
            await self._cache.put(("seen", tree, self._tools.identity), done)
        return done

    async def collected(self, tree: str, files: Sequence[str] | None = None) -> Collected:
        """The tests there are."""
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
                    raise PortError(_no_tool(done, self._run), retryable=True)
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
        for place in (key, (*key, self._asker)):
            known = self._known.get(place) or await self._cache.get(place, kind)
            if isinstance(known, kind):
                self._known[place] = known
                return known
        async with self._git.checkout(tree) as path:
            value = await run(path)
        place = key if is_well(value) else (*key, self._asker)
        self._known[place] = value
        await self._cache.put(place, value)
        return value


def _installed(built: Built) -> Built:
    """A command, unless its program is not on this machine: nobody who works in the run is to blame for that."""
    if built.ended == "missing" and "/" not in built.command[0]:
        advice = "install it on this machine, then answer with a retry"
        raise PortError(f"the program {built.command[0]} cannot be started: {advice}", retryable=True)
    return built


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
