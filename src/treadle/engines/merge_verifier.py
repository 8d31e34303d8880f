"""What a merge or a rebase has to pass before anybody sees it, measured with the project's own tools."""

from pathlib import Path
from typing import Final

from treadle.evidence.needs import Tools
from treadle.git.verifier import Tried
from treadle.toolchains.results import TestRun

_TOLD: Final = 4000
"""Characters of a command's output that go into a report: its end."""


class MergeVerifier:
    """Looks at clean checkouts. A command that the project does not have cannot fail; a run without tests does."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    async def build(self, path: Path) -> Tried:
        return await self._command("build", path)

    async def contract(self, path: Path) -> Tried:
        """The project's own command for it, if there is one; contract tests are among all tests otherwise."""
        return await self._command("contract", path)

    async def suite(self, path: Path) -> Tried:
        run = await self._tools.test(path)
        if run.is_green:
            return Tried(ok=True)
        return Tried(ok=False, details=_why(run), failing=_red(run))

    async def same_colour(self, before: Path, after: Path) -> Tried:
        earlier, later = await self._tools.test(before), await self._tools.test(after)
        for run in (earlier, later):
            if not run.is_believable:
                return Tried(ok=False, details=_why(run))
        if not (earlier.tests and later.tests):  # only the exit code is known
            same = earlier.is_green == later.is_green
            return Tried(ok=same, details="" if same else _why(later))
        was, is_ = set(_red(earlier)), set(_red(later))
        changed = tuple(sorted(id_ for id_ in earlier.tests if id_ not in later.tests or (id_ in was) != (id_ in is_)))
        return Tried(ok=not changed, failing=changed)

    async def _command(self, name: str, path: Path) -> Tried:
        built = await self._tools.command(name, path)
        if built is None or built.is_well:
            return Tried(ok=True)
        return Tried(ok=False, details=f"{name} ended with {built.exit} ({built.ended})\n{built.output[-_TOLD:]}")


def _red(run: TestRun) -> tuple[str, ...]:
    return run.with_verdict("failed", "error", "xpassed")


def _why(run: TestRun) -> str:
    reasons = [*run.bent, *run.problems] or [f"the tests ended with {run.exit} ({run.ended})"]
    return "\n".join([*reasons, run.output[-_TOLD:]])
