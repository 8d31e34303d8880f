"""What the checks need from the repository and from the project's tools, and no more."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from treadle.config.model import Toolchain
from treadle.git.api.reader import TreeApi
from treadle.git.record import Recorded
from treadle.git.trees import Change, Entry
from treadle.kernel.commands import RunChecks
from treadle.kernel.state import State
from treadle.toolchains.line_coverage import LineCoverage
from treadle.toolchains.results import Built, Collected, TestRun
from treadle.toolchains.scaling import Measured, Probe


class Git(Protocol):
    """Facts about commits. A commit may be given wherever a tree would do."""

    async def record(self, state: State, act: str, subject: str) -> Recorded:
        """What an activity has left in its lane, as one commit."""
        ...

    async def accept(self, state: State, job: RunChecks, commit: str) -> None:
        """All checks of a claim have passed on that commit."""
        ...

    async def head(self, state: State, inst: str, current: str = "") -> str:
        """The accepted work of an instance."""
        ...

    async def origin(self, state: State, inst: str) -> str:
        """The commit that an instance started from; it moves when the instance is rebased."""
        ...

    async def start(self, run: str) -> str:
        """The commit that the run started from."""
        ...

    async def parent_head(self, state: State, inst: str) -> str:
        """What the instance will be merged into."""
        ...

    async def tree(self, commit: str) -> str: ...

    async def entries(self, commit: str) -> dict[str, Entry]:
        """Every file by its path."""
        ...

    async def changes(self, base: str, commit: str) -> list[Change]: ...

    async def diff(self, base: str, commit: str) -> str: ...

    async def show(self, commit: str, path: str) -> bytes | None: ...

    async def shows(self, commit: str, paths: Sequence[str]) -> dict[str, bytes | None]:
        """Many files at once."""
        ...

    async def holding(self, commit: str, word: str, ending: str) -> list[str]:
        """The files whose names end so and which hold a word."""
        ...

    async def api(self, commit: str, paths: Iterable[str]) -> TreeApi:
        """What some files of a commit export."""
        ...

    async def offers(self, commit: str, name: str) -> list[tuple[str, str]]:
        """Where a commit exports something of that name: the full names, each with its file."""
        ...

    async def contains(self, commit: str, ancestor: str) -> bool:
        """Whether one commit holds another one in its history."""
        ...

    async def with_files(self, commit: str, files: dict[str, Entry | None]) -> str:
        """The tree of a commit with some files replaced or (None) removed."""
        ...

    async def blobs(self, contents: Sequence[bytes]) -> list[str]:
        """The ids of files' contents, which are kept."""
        ...

    async def amended(self, work: Recorded, files: dict[str, bytes]) -> Recorded:
        """A recorded commit with files of the orchestrator's own in it."""
        ...

    def tree_at(self, path: Path) -> str:
        """The tree of a clean checkout; empty if that is not known."""
        ...

    def checkout(self, tree: str) -> AbstractAsyncContextManager[Path]:
        """A clean folder with the files of a tree and nothing else."""
        ...


class Tools(Protocol):
    """How the project is built, tested and looked over. What a project has no command for is None."""

    @property
    def identity(self) -> str:
        """Differs wherever results could."""
        ...

    @property
    def settings(self) -> Toolchain:
        """What the project says about its tools and about how strict to be."""
        ...

    async def test(
        self,
        path: Path,
        ids: tuple[str, ...] | None = None,
        files: tuple[str, ...] | None = None,
        limit: float | None = None,
        *,
        mirrors: bool = True,
    ) -> TestRun:
        """Run the tests; with a limit in seconds, if that is less than what the project gives a run."""
        ...

    async def collect(self, path: Path, files: tuple[str, ...] | None = None) -> Collected: ...

    async def coverage(self, path: Path) -> LineCoverage:
        """The lines that the tests execute."""
        ...

    async def scaling(self, path: Path, probe: Probe) -> Measured:
        """What a function costs for inputs of growing size."""
        ...

    async def command(self, name: str, path: Path) -> Built | None:
        """Run `build`, `lint`, `format`, `contract` or `interface` in a checkout."""
        ...

    async def run(self, argv: Sequence[str], path: Path) -> Built:
        """Run a command of the project's own in a checkout."""
        ...
