"""The repository as the checks ask it: lanes recorded as commits, trees read once, clean checkouts."""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from treadle.git.api.reader import ApiReader, TreeApi
from treadle.git.checkout import Checkouts
from treadle.git.lanes import Lanes
from treadle.git.record import Recorded
from treadle.git.trees import Change, Entry, Trees
from treadle.kernel.commands import RunChecks
from treadle.kernel.state import State


class RepositoryFacts:
    """`needs.Git` over the lanes and checkouts of a project."""

    def __init__(self, lanes: Lanes, checkouts: Checkouts) -> None:
        self._lanes, self._checkouts = lanes, checkouts
        self._integration = lanes.integration
        self._repository = lanes.integration.repository
        self._trees = Trees(self._repository)
        self._reader = ApiReader(self._repository)

    async def record(self, state: State, act: str, subject: str) -> Recorded:
        return await self._lanes.record(state.run, act, state.started, subject)

    async def accept(self, state: State, job: RunChecks, commit: str) -> None:
        await self._integration.accept(state, job, commit)

    async def head(self, state: State, inst: str, current: str = "") -> str:
        return (await self._integration.head(state, inst, current)).commit

    async def origin(self, state: State, inst: str) -> str:
        return (await self._integration.head(state, inst)).base

    async def start(self, run: str) -> str:
        return (await self._integration.begin(run)).commit

    def tree_at(self, path: Path) -> str:
        return self._checkouts.tree_at(path)

    async def parent_head(self, state: State, inst: str) -> str:
        return await self._integration.parent_head(state, inst)

    async def tree(self, commit: str) -> str:
        return await self._repository.tree(commit)

    async def entries(self, commit: str) -> dict[str, Entry]:
        return (await self._trees.listing(commit)).by_path

    async def changes(self, base: str, commit: str) -> list[Change]:
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

    async def with_files(self, commit: str, files: dict[str, Entry | None]) -> str:
        return await self._trees.changed(commit, files)

    async def blobs(self, contents: Sequence[bytes]) -> list[str]:
        return await self._repository.keep(contents)

    async def amended(self, work: Recorded, files: dict[str, bytes]) -> Recorded:
        ids = await self.blobs(list(files.values()))
        entries: dict[str, Entry | None] = {
            path: Entry("100644", id_, path) for path, id_ in zip(files, ids, strict=True)
        }
        tree = await self.with_files(work.commit, entries)
        if tree == work.tree:
            return work
        parents = tuple(await self._repository.parents(work.commit))
        message, at = await self._repository.message(work.commit), await self._repository.time(work.commit)
        commit = await self._repository.commit(tree, parents, message, at)
        changed = tuple(await self.changes(work.base, commit))
        return Recorded(commit=commit, tree=tree, base=work.base, changed=changed, findings=work.findings)

    @asynccontextmanager
    async def checkout(self, tree: str) -> AsyncIterator[Path]:
        # A commit of its own: what runs in the checkout may ask git for the head, and finds no history to learn from.
        commit = await self._repository.commit(await self._repository.tree(tree), (), "under examination\n", 0)
        async with self._checkouts.clean(commit) as path:
            yield path
