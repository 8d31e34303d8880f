"""The project as the checks see it: its repository (`RepositoryFacts`) and its toolchain (`ProjectTools`)."""

import hashlib
import math
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from treadle.config.model import ToolchainSettings
from treadle.git.api.reader import ApiReader, TreeApi
from treadle.git.checkpoint import Checkpoint
from treadle.git.lanes import Lanes
from treadle.git.slots import Checkouts
from treadle.git.trees import PathChange, TreeEntry, Trees
from treadle.kernel.state import State
from treadle.toolchains.command import PlainCommand
from treadle.toolchains.gotest import GoTest
from treadle.toolchains.junit import Junit
from treadle.toolchains.line_coverage import LineCoverage
from treadle.toolchains.pytest import Pytest
from treadle.toolchains.replay import Again
from treadle.toolchains.results import ApartRun, CallRecord, CallReplay, CollectedTests, CommandResult, TestRun
from treadle.toolchains.scaling import ScalingMeasurement, ScalingProbe
from treadle.toolchains.toolchain import ProjectToolchain, build, environment_fingerprint


class RepositoryFacts:
    """Facts about commits, and checkouts of them. Methods that expect a tree accept a commit, too.

    `blobs`, `with_files` and `amended` add objects to the repository. No method moves a ref, except that the
    head and the origin of an instance are those after `Integration.integrate`.
    """

    def __init__(self, lanes: Lanes, checkouts: Checkouts) -> None:
        self.lanes, self.integration = lanes, lanes.integration
        self._checkouts = checkouts
        self._repository = lanes.integration.repository
        self._trees = Trees(self._repository)
        self._reader = ApiReader(self._repository)

    async def head(self, state: State, inst: str, current: str = "") -> str:
        """Return the commit with the accepted work of an instance; `current` is the activity that asks."""
        return (await self.integration.integrate(state, inst, current)).commit

    async def origin(self, state: State, inst: str) -> str:
        """Return the commit that an instance is based on; it moves when the instance is rebased."""
        return (await self.integration.integrate(state, inst)).base

    async def start(self, run: str) -> str:
        """Return the commit that the run started from."""
        return (await self.integration.trunk(run)).commit

    async def parent_head(self, state: State, inst: str) -> str:
        """Return the commit that the instance will be merged into."""
        return await self.integration.parent_head(state, inst)

    async def tree(self, commit: str) -> str:
        return await self._repository.tree(commit)

    async def entries(self, commit: str) -> dict[str, TreeEntry]:
        """Return all files by their paths."""
        return (await self._trees.listing(commit)).by_path

    async def changes(self, base: str, commit: str) -> list[PathChange]:
        return await self._trees.changes(base, commit)

    async def diff(self, base: str, commit: str) -> str:
        return await self._trees.diff(base, commit)

    async def show(self, commit: str, path: str) -> bytes | None:
        return await self._repository.show(commit, path)

    async def shows(self, commit: str, paths: Sequence[str]) -> dict[str, bytes | None]:
        """Return the contents of many files at once."""
        return await self._trees.shows(commit, paths)

    async def holding(self, commit: str, word: str, ending: str) -> list[str]:
        """Return the files with this ending that contain a word."""
        return await self._trees.holding(commit, word, ending)

    async def api(self, commit: str, paths: Iterable[str]) -> TreeApi:
        """Return the exported names of some files of a commit."""
        return await self._reader.api(commit, paths)

    async def offers(self, commit: str, name: str) -> list[tuple[str, str]]:
        """Return the full names under which a commit exports a name, each with its file."""
        return await self._reader.where(commit, name)

    async def contains(self, commit: str, ancestor: str) -> bool:
        """Whether a commit has another one in its history."""
        return await self._repository.is_ancestor(ancestor, commit)

    async def with_files(self, commit: str, files: dict[str, TreeEntry | None]) -> str:
        """Return the tree of a commit with some files replaced or (None) removed."""
        return await self._trees.changed(commit, files)

    async def blobs(self, contents: Sequence[bytes]) -> list[str]:
        """Store the contents of files, and return their ids."""
        return await self._repository.keep(contents)

    async def amended(self, work: Checkpoint, files: dict[str, bytes]) -> Checkpoint:
        """Return a recorded commit with files of the orchestrator's own added."""
        ids = await self.blobs(list(files.values()))
        entries: dict[str, TreeEntry | None] = {
            path: TreeEntry("100644", id_, path) for path, id_ in zip(files, ids, strict=True)
        }
        tree = await self.with_files(work.commit, entries)
        if tree == work.tree:
            return work
        parents = tuple(await self._repository.parents(work.commit))
        message, at = await self._repository.message(work.commit), await self._repository.time(work.commit)
        commit = await self._repository.commit(tree, parents, message, at)
        changed = tuple(await self.changes(work.base, commit))
        return Checkpoint(commit=commit, tree=tree, base=work.base, changed=changed, findings=work.findings)

    @asynccontextmanager
    async def checkout(self, tree: str) -> AsyncIterator[Path]:
        """Open a clean folder with the files of a tree and nothing else."""
        # A commit of its own: what runs in the checkout may ask git for the head, and finds no history to learn from.
        commit = await self._repository.commit(await self._repository.tree(tree), (), "under examination\n", 0)
        async with self._checkouts.clean(commit) as path:
            yield path


# The project's toolchain, as the checks use it.


class ProjectTools:
    """The project's commands to build, test and lint; a missing command gives None."""

    def __init__(self, toolchain: ProjectToolchain, generated: str = "") -> None:
        """`generated`: the tree of generated files that lie in every checkout; tests may end otherwise with others."""
        self._toolchain = toolchain
        where = toolchain.sandbox.name if toolchain.sandbox else ""  # in another image, tests may end otherwise
        facts = [toolchain.settings, str(toolchain.root), where, *([generated] if generated else [])]
        self.base = hashlib.sha256(msgspec.json.encode(facts, order="deterministic")).hexdigest()
        """Differs wherever the settings do."""

    @property
    def settings(self) -> ToolchainSettings:
        """The project's settings for its tools and for strictness."""
        return self._toolchain.settings

    @property
    def identity(self) -> str:
        """Differs wherever results could; computed anew each time, since packages may change while a run goes on."""
        facts = [self.base, *environment_fingerprint(self.settings, self._toolchain.root)]
        return hashlib.sha256("\n".join(facts).encode(errors="surrogateescape")).hexdigest()

    async def test(
        self,
        path: Path,
        ids: tuple[str, ...] | None = None,
        files: tuple[str, ...] | None = None,
        limit: float | None = None,
        *,
        test_limit: float | None = None,
        mirrors: bool = True,
    ) -> TestRun:
        """Run the tests; `limit` shortens the project's timeout, and `test_limit` that of one test, in seconds."""
        return await _adapted(self._toolchain, limit, test_limit, mirrors=mirrors).test(path, ids, files)

    async def test_apart(
        self,
        path: Path,
        ids: tuple[str, ...],
        *,
        subject: Path,
        is_subject: Callable[[str], bool],
        sample: str = "",
        ask: tuple[str, ...] = (),
    ) -> ApartRun:
        """Run some tests of one checkout against the code of another one, in a process of its own."""
        chain = self._toolchain
        return await chain.test_apart(path, ids, subject=subject, is_subject=is_subject, sample=sample, ask=ask)

    async def replay(
        self, code: Path, record: CallRecord, again: Again, sample: str, passed: Collection[str]
    ) -> CallReplay:
        """Repeat calls that tests made apart, in plain interpreters, on a checkout without tests."""
        return await self._toolchain.replay(code, record, again, sample, passed)

    async def collect(self, path: Path, files: tuple[str, ...] | None = None) -> CollectedTests:
        return await self._toolchain.collect(path, files)

    async def test_plainly(self, path: Path, ids: tuple[str, ...]) -> TestRun | None:
        """Run some tests without our instrumentation; return None if the test tool runs without it anyway."""
        tests = self._toolchain.tests
        return (
            await msgspec.structs.replace(tests, is_plain=True).test(path, ids) if isinstance(tests, Pytest) else None
        )

    async def coverage(self, path: Path) -> LineCoverage:
        """Measure the lines that the tests execute."""
        return await self._toolchain.coverage(path)

    async def scaling(self, path: Path, probe: ScalingProbe) -> ScalingMeasurement:
        """Measure the costs of a function for inputs of growing size."""
        return await self._toolchain.scaling(path, probe)

    async def command(self, name: str, path: Path) -> CommandResult | None:
        """Run `build`, `lint`, `format`, `contract` or `interface` in a checkout."""
        return await self._toolchain.run(name, path)

    async def run(self, argv: Sequence[str], path: Path) -> CommandResult:
        """Run a command of the project's own in a checkout."""
        settings = self._toolchain.settings
        return await build(tuple(argv), path, timeout=settings.timeout, sandbox=self._toolchain.sandbox)


def _adapted(
    chain: ProjectToolchain, limit: float | None, test_limit: float | None, *, mirrors: bool
) -> ProjectToolchain:
    """Return the toolchain with shorter timeouts, and without mirrors if they are not wanted."""
    tests = chain.tests
    if not isinstance(tests, Pytest | Junit | GoTest | PlainCommand):
        return chain
    if limit is not None:
        tests = msgspec.structs.replace(tests, timeout=min(tests.timeout, math.ceil(limit)))
    if isinstance(tests, Pytest):
        if test_limit is not None:
            tests = msgspec.structs.replace(tests, test_timeout=min(test_limit, tests.timeout / 2))
        tests = msgspec.structs.replace(tests, mirrors=tests.mirrors if mirrors else 0)
    return msgspec.structs.replace(chain, tests=tests)
