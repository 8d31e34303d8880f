"""The project as the checks see it: its repository (`RepositoryFacts`) and its toolchain (`ProjectTools`)."""

import hashlib
import math
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from treadle.config.model import ToolchainSettings
from treadle.evidence.measurements import CheckRepository, CheckTools
from treadle.git.api.reader import ApiReader, TreeApi
from treadle.git.checkpoint import Checkpoint
from treadle.git.lanes import Lanes
from treadle.git.slots import Checkouts
from treadle.git.trees import PathChange, TreeEntry, Trees
from treadle.kernel.commands import RunChecks
from treadle.kernel.state import State
from treadle.toolchains.line_coverage import LineCoverage
from treadle.toolchains.results import CollectedTests, CommandResult, TestRun
from treadle.toolchains.scaling import ScalingMeasurement, ScalingProbe
from treadle.toolchains.toolchain import ProjectToolchain, build, environment_fingerprint, tests_of


class RepositoryFacts(CheckRepository):
    """`CheckRepository` over the lanes and checkouts of a project."""

    def __init__(self, lanes: Lanes, checkouts: Checkouts) -> None:
        self._lanes, self._checkouts = lanes, checkouts
        self._integration = lanes.integration
        self._repository = lanes.integration.repository
        self._trees = Trees(self._repository)
        self._reader = ApiReader(self._repository)

    async def record(self, state: State, act: str, subject: str) -> Checkpoint:
        return await self._lanes.record(state.run, act, state.started, subject)

    async def note_pending(self, state: State, job: RunChecks, commit: str) -> None:
        await self._integration.note_pending(state, job, commit)

    async def head(self, state: State, inst: str, current: str = "") -> str:
        return (await self._integration.head(state, inst, current)).commit

    async def origin(self, state: State, inst: str) -> str:
        return (await self._integration.head(state, inst)).base

    async def start(self, run: str) -> str:
        return (await self._integration.begin(run)).commit

    async def parent_head(self, state: State, inst: str) -> str:
        return await self._integration.parent_head(state, inst)

    async def tree(self, commit: str) -> str:
        return await self._repository.tree(commit)

    async def entries(self, commit: str) -> dict[str, TreeEntry]:
        return (await self._trees.listing(commit)).by_path

    async def changes(self, base: str, commit: str) -> list[PathChange]:
        return await self._trees.changes(base, commit)

    async def diff(self, base: str, commit: str) -> str:
        return await self._trees.diff(base, commit)

    async def show(self, commit: str, path: str) -> bytes | None:
        return await self._repository.show(commit, path)

    async def shows(self, commit: str, paths: Sequence[str]) -> dict[str, bytes | None]:
        return await self._trees.shows(commit, paths)

    async def holding(self, commit: str, word: str, ending: str) -> list[str]:
        return await self._trees.holding(commit, word, ending)

    async def api(self, commit: str, paths: Iterable[str]) -> TreeApi:
        return await self._reader.api(commit, paths)

    async def offers(self, commit: str, name: str) -> list[tuple[str, str]]:
        return await self._reader.where(commit, name)

    async def contains(self, commit: str, ancestor: str) -> bool:
        return await self._repository.is_ancestor(ancestor, commit)

    async def with_files(self, commit: str, files: dict[str, TreeEntry | None]) -> str:
        return await self._trees.changed(commit, files)

    async def blobs(self, contents: Sequence[bytes]) -> list[str]:
        return await self._repository.keep(contents)

    async def amended(self, work: Checkpoint, files: dict[str, bytes]) -> Checkpoint:
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
        # A commit of its own: what runs in the checkout may ask git for the head, and finds no history to learn from.
        commit = await self._repository.commit(await self._repository.tree(tree), (), "under examination\n", 0)
        async with self._checkouts.clean(commit) as path:
            yield path


# The project's toolchain, as the checks use it.


class ProjectTools(CheckTools):
    """`CheckTools` over a toolchain."""

    def __init__(self, toolchain: ProjectToolchain, generated: str = "") -> None:
        """`generated`: the tree of generated files that lie in every checkout; tests may end otherwise with others."""
        self._toolchain = toolchain
        where = toolchain.sandbox.name if toolchain.sandbox else ""  # in another image, tests may end otherwise
        facts = [toolchain.settings, str(toolchain.root), where, *([generated] if generated else [])]
        self.base = hashlib.sha256(msgspec.json.encode(facts, order="deterministic")).hexdigest()
        """Differs wherever the settings do."""

    @property
    def settings(self) -> ToolchainSettings:
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
        mirrors: bool = True,
    ) -> TestRun:
        return await _adapted(self._toolchain, limit, mirrors).test(path, ids, files)

    async def collect(self, path: Path, files: tuple[str, ...] | None = None) -> CollectedTests:
        return await self._toolchain.collect(path, files)

    async def coverage(self, path: Path) -> LineCoverage:
        return await self._toolchain.coverage(path)

    async def scaling(self, path: Path, probe: ScalingProbe) -> ScalingMeasurement:
        return await self._toolchain.scaling(path, probe)

    async def command(self, name: str, path: Path) -> CommandResult | None:
        return await self._toolchain.run(name, path)

    async def run(self, argv: Sequence[str], path: Path) -> CommandResult:
        settings = self._toolchain.settings
        return await build(tuple(argv), path, timeout=settings.timeout, sandbox=self._toolchain.sandbox)


def _adapted(chain: ProjectToolchain, limit: float | None, mirrors: bool) -> ProjectToolchain:
    """Return the toolchain with a timeout of at most `limit` seconds, and without mirrors if they are not wanted."""
    given = chain.settings
    timeout = given.timeout if limit is None else min(given.timeout, math.ceil(limit))
    settings = msgspec.structs.replace(given, timeout=timeout, mirrors=given.mirrors if mirrors else 0)
    if chain.tests is None or settings == given:
        return chain
    tests = tests_of(settings, chain.root, chain.sandbox)
    return msgspec.structs.replace(chain, settings=settings, tests=tests)
