"""`treadle uninstall`: find every trace of Treadle in a project and around it, and remove it."""

import asyncio
import fcntl
import os
import shlex
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, nullcontext, suppress
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
import typer

from treadle.cli.options import JsonOption
from treadle.cli.output import print_json, print_text
from treadle.cli.serve import installed_unit, remove_unit
from treadle.config.project import Project, open_project
from treadle.config.projects import Projects
from treadle.engines.containers import remove_containers
from treadle.engines.result import move_older_branches, result_of
from treadle.engines.run_settings import settings_of
from treadle.engines.service import LOCK
from treadle.errors import PortError, ReplayDivergence, TreadleError
from treadle.git.files import abandoned_folders
from treadle.git.lanes import disk_size
from treadle.git.ref_names import RefNames
from treadle.git.refs import Refs
from treadle.git.repository import Repository, open_repository
from treadle.git.slots import remove_path
from treadle.hooks.installation import claude, codex, to_uninstall, users_claude, write_change
from treadle.protocol.artifacts import view_paths
from treadle.runtime.placed_files import PlacedFiles
from treadle.runtime.view_files import is_foreign
from treadle.store.leases import driver_of
from treadle.store.records import Run
from treadle.store.sqlite import Store
from treadle.views.outcomes import is_good
from treadle.views.result import Result


def uninstall(
    yes: Annotated[bool, typer.Option("--yes", help="Remove without asking.")] = False,
    config: Annotated[
        bool, typer.Option("--config", help="Also remove treadle.toml, and the protocols and overlays in .treadle.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Also remove unfinished runs and undelivered results, which are then lost.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List what Treadle would remove, and remove nothing.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Remove Treadle from this project: refs, branches, lanes, runs with their evidence, memory, hooks.

    Your commits and files stay. Treadle lists what it will remove, and asks you first.
    """
    uninstalling = Uninstalling(open_project(), config=config)
    traces = asyncio.run(uninstalling.find())
    if not as_json:
        print_text("nothing to remove" if traces.is_nothing else f"Treadle in {traces.root}:")
        for line in describe_traces(traces):
            print_text(line)
    if dry_run and not as_json and not traces.is_nothing and (refusal := find_refusal(traces, force=force)):
        print_text(f"without --dry-run, Treadle would refuse and remove nothing [{refusal.code}]:\n{refusal}")
    if not dry_run and not traces.is_nothing:
        refuse_removal(traces, force=force)
        is_person = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty() and not as_json
        if not yes and not (is_person and typer.confirm("Remove all of this?", default=False)):
            words = "nothing was removed, because you did not confirm; --yes removes everything without asking"
            raise TreadleError(words, code="uninstall.unconfirmed")
        traces = asyncio.run(uninstalling.remove(traces))
        if not as_json:
            print_text("removed")
    if as_json:
        print_json(traces)


# Find and remove everything that Treadle has left in a project and around it: `treadle uninstall`.
#
# The store goes last: it records which branches are ours, and an interrupted removal can be finished with it.

_HEADS: Final = "refs/heads/"
_OURS: Final = "refs/treadle/"
_KEPT: Final = "/root/int"
"""How the ref with a run's accepted work ends."""
_NAMED: Final = 10
"""How many obstacles a refusal names, a line each."""


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """A reason against the removal: a code of `codes.py`, the obstacle, and a sentence with advice."""

    code: str
    what: str
    text: str
    can_force: bool = True


class Traces(msgspec.Struct, frozen=True, kw_only=True):
    """The things that were, or with `--dry-run` would be, removed: `treadle uninstall --json`."""

    schema: Literal[1] = 1
    root: str
    removed: bool = False
    refs: tuple[str, ...] = ()
    """Refs below `refs/treadle/`."""
    branches: tuple[str, ...] = ()
    """Result branches of the runs of this project."""
    files: tuple[str, ...] = ()
    """Files and folders below the root."""
    bytes: int = 0
    """The size of these files."""
    hooks: tuple[str, ...] = ()
    """Settings of agents' programs in this project that call `treadle hook`."""
    names: tuple[str, ...] = ()
    """The names of the project in `treadle projects`."""
    unit: str = ""
    """The systemd unit that serves it."""
    containers: int = 0
    left: tuple[str, ...] = ()
    """The things that stay, and how to remove them."""
    reasons: tuple[Reason, ...] = ()
    """The reasons against the removal."""

    @property
    def is_nothing(self) -> bool:
        some = (self.refs, self.branches, self.files, self.hooks, self.names, self.unit, self.containers)
        return not any(some)


class Uninstalling:
    """Finds the traces of Treadle in a project, and removes them."""

    def __init__(self, project: Project, *, config: bool) -> None:
        if project.own.is_symlink() or project.local.is_symlink():
            text = f"{project.own} or a folder in it is a link; Treadle removes only what is inside the project"
            raise TreadleError(f"{text}: remove the link", code="file.link")
        self._project, self._config = project, config
        self._runs: list[Run] = []
        self._names: list[RefNames] = []
        """The names of the refs and branches of each run with settings that can be read."""
        self._views: set[str] = set()
        """The paths of the documents that Treadle makes from the logs of the runs."""

    async def find(self) -> Traces:
        """Find all traces that exist now."""
        project = self._project
        async with _opened(project) as repository:
            refs, branches, left = await self._refs(repository) if repository else ([], [], [])
            placed = await _untracked(repository, project, list(self._placed()))
            reasons = tuple([one async for one in self._reasons(repository)])
        files = [*placed, *self._files()]
        return Traces(
            root=str(project.root),
            refs=tuple(refs),
            branches=tuple(one.removeprefix(_HEADS) for one in branches),
            files=tuple(str(one.relative_to(project.root)) for one in files),
            bytes=sum(map(disk_size, files)),
            hooks=() if to_uninstall(claude(project.root)).is_none else (str(claude(project.root).file),),
            names=tuple(name for name, folder in Projects(os.environ).all().items() if _is_same(folder, project.root)),
            unit=str(installed_unit(project) or ""),
            containers=await remove_containers(project, self._runs, dry=True),
            left=(*left, *self._left()),
            reasons=reasons,
        )

    async def remove(self, traces: Traces) -> Traces:
        """Remove everything found; the store last."""
        project = self._project
        async with _opened(project) as repository:
            if repository:
                await Refs(repository).delete(*traces.refs, *(f"{_HEADS}{one}" for one in traces.branches))
                for place in ("refs/treadle", "logs/refs/treadle"):  # git leaves these folders, empty
                    _remove_if_empty(repository.folder / place)
        await remove_containers(project, self._runs, dry=False)
        for _ in traces.hooks:
            write_change(to_uninstall(claude(project.root)))
            _remove_if_empty(claude(project.root).file.parent)
        for name in traces.names:
            Projects(os.environ).remove(name)
        if traces.unit:
            remove_unit(project)
        for file in traces.files:
            path = project.root / file
            try:
                await asyncio.to_thread(remove_path, path)
            except OSError as error:
                text = f"{path} cannot be removed: {error.strerror}; check the permissions, then try again"
                raise TreadleError(text, code="file.unwritable") from None
            if path.parent != project.root:
                _remove_if_empty(path.parent)
        for folder in abandoned_folders():
            await asyncio.to_thread(remove_path, folder)
        return msgspec.structs.replace(traces, removed=True)

    async def _refs(self, repository: Repository) -> tuple[list[str], list[str], list[str]]:
        """Return refs below `refs/treadle/`, result branches, and a description of those that must stay."""
        refs = Refs(repository)
        with closing(Store(self._project.store)) if self._project.store.is_file() else nullcontext() as store:
            self._runs = store.runs() if store else []
            for run in self._runs:
                with suppress(PortError, ReplayDivergence):
                    self._views |= {*view_paths(store.protocol(run.protocol))} if store else set()
                with suppress(PortError):
                    self._names.append(RefNames(run.id, settings_of(run).config.git.branch_prefix))
            older = await move_older_branches(repository, refs, store, dry=True) if store else []
        ours, heads, checked_out = await refs.below(_OURS), await refs.below(_HEADS), await refs.checked_out()
        results = [one.result for one in self._names if one.result in heads]
        used = [ref.removeprefix(_HEADS) for ref in results if ref in checked_out]
        left = [f"the branch {name}, which a worktree has checked out" for name in used]
        if others := await _other_projects(repository, self._project):
            own = tuple(one.spaces[1] for one in self._names)
            left.append(f"refs of the runs of {', '.join(others)}, a worktree of the same repository")
            ours = {ref: value for ref, value in ours.items() if ref.startswith(own)} if own else {}
        return list(ours), [*(ref for ref in results if ref not in checked_out), *older], left

    def _placed(self) -> Iterator[Path]:
        """Yield the files in the checkout that Treadle wrote to show the state of the work, and that are unchanged."""
        placed = PlacedFiles(self._project.local)
        for name in sorted({*placed.paths(), *self._views}):
            path = self._project.root / name
            # An agent may have written the list: it must lead neither out of the project nor into git's own files.
            is_inside = path.resolve().is_relative_to(self._project.root.resolve()) and ".git" not in path.parts
            with suppress(OSError):
                if not is_inside or path.is_symlink():
                    continue
                data = path.read_bytes()
                if placed.is_ours(name, data) or (name in self._views and not is_foreign(data)):
                    yield path

    def _files(self) -> Iterator[Path]:
        project = self._project
        if self._config:
            yield from (path for path in (project.file,) if path.exists() and not path.is_symlink())
            yield from (path for path in sorted(project.own.glob("*")) if path != project.local)
        if project.local.is_dir():
            yield project.local
        elif project.own.is_dir() and (self._config or not any(project.own.iterdir())):
            yield project.own

    def _left(self) -> Iterator[str]:
        project = self._project
        if not self._config:
            there = [project.file, *(path for path in sorted(project.own.glob("*")) if path != project.local)]
            if named := [str(path.relative_to(project.root)) for path in there if path.exists()]:
                yield f"{', '.join(named)}: your settings and protocols (--config removes them)"
        for program in (users_claude(), codex()):
            with suppress(TreadleError):
                if not to_uninstall(program).is_none:
                    yield f"the hook in {program.file}, for all projects (`treadle hook uninstall --user`)"

    async def _reasons(self, repository: Repository | None) -> AsyncIterator[Reason]:
        ours = tuple(names.older for names in self._names)

        async def is_lost(commit: str) -> bool:
            """Whether no branch that stays has a commit."""
            if not commit or repository is None:
                return bool(commit)
            answer = await repository.refs("for-each-ref", f"--contains={commit}", "--format=%(refname)", _HEADS)
            return all(ref.startswith(ours) for ref in answer.text.splitlines())

        for run in self._runs:
            name = run.id
            if driver_of(run):
                text = f"run {name} has a process that drives it; `treadle pause {name}` and wait, or end that process"
                yield Reason(code="uninstall.driven", what=name, text=text, can_force=False)
            elif not run.outcome:
                text = f"run {name} has not ended; `treadle abort {name}` ends it"
                yield Reason(code="uninstall.unfinished", what=name, text=text)
            elif found := await result_of(self._project, run):
                if not found.taken and await is_lost(found.commit):
                    yield _lost(run, found)
                if await is_lost(found.tip):
                    text = f"the branch {found.branch} has commits that no other branch has"
                    way = f"`git branch NAME {shlex.quote(found.branch)}` keeps them"
                    yield Reason(code="uninstall.undelivered", what=name, text=f"{text}; {way}")
        # `treadle gc --run` forgets a run and keeps the ref of its accepted work.
        known = tuple(names.spaces[1] for names in self._names)
        kept = await Refs(repository).below(_OURS) if repository else {}
        for ref, commit in kept.items():
            if ref.endswith(_KEPT) and not ref.startswith(known) and await is_lost(commit):
                text = f"the accepted work of a forgotten run is on no branch of yours: {ref}"
                way = f"`git branch NAME {shlex.quote(ref)}` keeps it"
                yield Reason(code="uninstall.accepted", what=ref, text=f"{text}; {way}")
        if _is_served(self._project):
            text = "`treadle serve` serves this project; end it first"
            yield Reason(code="uninstall.served", what=str(self._project.root), text=text, can_force=False)


def refuse_removal(traces: Traces, *, force: bool) -> None:
    """Raise `TreadleError` if there is a reason against the removal."""
    if refusal := find_refusal(traces, force=force):
        raise refusal


def find_refusal(traces: Traces, *, force: bool) -> TreadleError | None:
    """Return the reasons against the removal as an error, with the code of the first one; None if there is none."""
    reasons = [one for one in traces.reasons if not (force and one.can_force)]
    if not reasons:
        return None
    lines = [one.text for one in reasons[:_NAMED]]
    if len(reasons) > _NAMED:
        lines.append(f"and {len(reasons) - _NAMED} more; `treadle uninstall --dry-run --json` lists all")
    if all(one.can_force for one in reasons):
        lines.append("--force removes everything anyway; the work is then lost")
    return TreadleError("\n".join(lines), code=reasons[0].code)


def _lost(run: Run, found: Result) -> Reason:
    """Explain that the work of an ended run would be lost, with a command that keeps it."""
    name, keep = shlex.quote(run.id), f"`git branch NAME {shlex.quote(found.branch)}` keeps it"
    if not is_good(run.outcome):
        text = f"run {name} has ended with {run.outcome}, and its accepted work is on no branch of yours; {keep}"
        return Reason(code="uninstall.accepted", what=run.id, text=text)
    text = f"the result of {name} is on no branch of yours"
    if found.altered:
        way = f"`git branch NAME {found.commit[:12]}` keeps it"
    elif not found.into:
        way = keep
    else:
        way = f"`treadle deliver {name}{' --rebase' if found.moved else ''}` moves {found.into} to it; {keep}"
    return Reason(code="uninstall.undelivered", what=run.id, text=f"{text}; {way}")


def describe_traces(traces: Traces) -> Iterator[str]:
    """Describe the removed and the remaining things, one per line."""
    if traces.refs:
        yield f"  {len(traces.refs)} refs below {_OURS} (`git for-each-ref {_OURS}` lists them)"
    yield from (f"  the branch {branch}" for branch in traces.branches)
    yield from (f"  {file}" for file in traces.files)
    yield from (f"  the hook in {file}" for file in traces.hooks)
    yield from (f"  the name {name} in `treadle projects`" for name in traces.names)
    if traces.unit:
        yield f"  {traces.unit} (then `systemctl --user daemon-reload`)"
    if traces.containers:
        yield f"  {traces.containers} containers"
    yield from (f"kept: {what}" for what in traces.left)


@asynccontextmanager
async def _opened(project: Project) -> AsyncIterator[Repository | None]:
    """Open the repository; None without commits, as no run has ever begun there. Leaves no new folder behind."""
    new = next((path for path in (project.own, project.local) if not path.exists()), None)
    try:
        repository = await open_repository(project)
    except PortError as error:
        if project.store.is_file():  # there were runs, and their refs must not be overlooked
            raise TreadleError(str(error), code="uninstall.repository") from None
        repository = None
    try:
        yield repository
    finally:
        if new:
            remove_path(new)


async def _untracked(repository: Repository | None, project: Project, paths: list[Path]) -> list[Path]:
    """Return those of the files that git does not track."""
    if repository is None or not paths:
        return paths
    names = [str(path.relative_to(project.root)) for path in paths]
    answer = await repository.users("ls-files", "-z", "--", *(f":(literal){name}" for name in names))
    tracked = set(os.fsdecode(answer.out).split("\0"))
    return [path for path, name in zip(paths, names, strict=True) if name not in tracked]


async def _other_projects(repository: Repository, project: Project) -> list[str]:
    """Return other worktrees of the repository that have runs of their own; all of them share the refs."""
    answer = await repository.refs("worktree", "list", "--porcelain", "-z")
    lines = os.fsdecode(answer.out).split("\0")
    roots = [Path(line.removeprefix("worktree ")) for line in lines if line.startswith("worktree ")]
    return [str(root) for root in roots if not _is_same(root, project.root) and Project(root).store.is_file()]


def _is_same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


def _is_served(project: Project) -> bool:
    try:
        file = os.open(project.local / LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()
