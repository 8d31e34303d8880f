"""The user's repository, and how it is asked.

Two ways, and only these. *Refs* are read and moved in the user's git folder. Everything else (trees, indexes, merges,
checkouts) runs in a git folder of our own that shares the user's objects: it has no hooks, no filters, no drivers and
attributes that switch every conversion off, so neither a repository nor an agent can make git run anything, and files
are recorded byte for byte.
"""

import asyncio
import os
import re
import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal

import msgspec

from treadle.config.project import Project
from treadle.errors import PortError
from treadle.git.objects import Object, Objects
from treadle.git.own_folder import make_own_folder
from treadle.git.process import OUTPUT, PATIENCE, Said, run_git, shorten
from treadle.git.servant import BrokenError

OLDEST: Final = (2, 38)
_REMEMBERED: Final = 1000
_BUSY: Final = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase or `git am`",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisection",
}


class Person(msgspec.Struct, frozen=True):
    """Who commits: the orchestrator, never the user and never an agent."""

    name: str = "Treadle"
    email: str = "treadle@localhost"


class CommitInfo(msgspec.Struct, frozen=True):
    """What a commit says of itself; of a tree, only that."""

    tree: str
    parents: tuple[str, ...] = ()
    time: int = 0
    message: str = ""


class Repository:
    """A repository that runs can work with."""

    def __init__(self, root: Path, folder: Path, work_folder: Path, own: Path, form: str, person: Person) -> None:
        self.root = root
        self.folder = folder
        """Its git folder, shared by all its worktrees."""
        self.work_folder = work_folder
        """The git folder of the user's own checkout."""
        self.own = own
        self.form = form
        """How objects are named: sha1 or sha256."""
        self._person = person
        self._infos: dict[str, CommitInfo] = {}
        self._made: dict[tuple[str, tuple[str, ...], str, int], str] = {}
        self._objects = Objects(own, self.objects)
        self.named = Objects(folder, self.objects)
        """Objects by the names that the user's git folder has for them: refs."""

    @property
    def objects(self) -> Path:
        return self.folder / "objects"

    async def refs(self, *arguments: str, stdin: bytes = b"", ok: tuple[int, ...] = (0,)) -> Said:
        """Ask or tell the user's repository about refs."""
        return await self._run([f"--git-dir={self.folder}", *arguments], {}, stdin, ok)

    async def git(
        self,
        *arguments: str,
        stdin: bytes = b"",
        ok: tuple[int, ...] = (0,),
        index: Path | None = None,
        files: Path | None = None,
        at: int = 0,
        most: int = OUTPUT,
    ) -> Said:
        """Work with objects, and with the files in a folder (`files`) through an index of ours (`index`).

        `at` is the time of a commit that is made, in milliseconds.
        """
        date = f"@{at // 1000} +0000"
        env = {
            "GIT_DIR": str(self.own),
            "GIT_OBJECT_DIRECTORY": str(self.objects),
            "GIT_AUTHOR_NAME": self._person.name,
            "GIT_AUTHOR_EMAIL": self._person.email,
            "GIT_AUTHOR_DATE": date,
            "GIT_COMMITTER_NAME": self._person.name,
            "GIT_COMMITTER_EMAIL": self._person.email,
            "GIT_COMMITTER_DATE": date,
        }
        if index is not None:
            env["GIT_INDEX_FILE"] = str(index)
        if files is not None:
            env["GIT_WORK_TREE"] = str(files)
        return await self._run(arguments, env, stdin, ok, cwd=files, most=most)

    async def users(self, *arguments: str, ok: tuple[int, ...] = (0,)) -> Said:
        """A command in the user's checkout with the user's own settings (filters, line endings), but without hooks."""
        env = _WITH_SETTINGS | {"GIT_COMMITTER_NAME": self._person.name, "GIT_COMMITTER_EMAIL": self._person.email}
        return await _said(["-c", "core.logAllRefUpdates=true", *arguments], self.root, env, b"", ok)

    async def mend(self) -> None:
        """Make our own folder as it has to be, whatever somebody has done to it."""
        await asyncio.to_thread(make_own_folder, self.own, self.folder, self.form)

    def busy(self) -> str:
        """What the user's checkout is in the middle of; empty if nothing."""
        return next((what for mark, what in _BUSY.items() if (self.work_folder / mark).exists()), "")

    async def _run(
        self,
        arguments: list[str] | tuple[str, ...],
        env: dict[str, str],
        stdin: bytes,
        ok: tuple[int, ...],
        cwd: Path | None = None,
        most: int = OUTPUT,
    ) -> Said:
        return await _said(arguments, cwd or self.own, env, stdin, ok, most)

    # objects

    async def _info(self, commit: str) -> CommitInfo:
        """What a commit says; asked once, for it never says anything else."""
        known = self._infos.get(commit)
        if known is None:
            known = _parsed(commit, (await self._objects.read([commit]))[0])
            self._infos[commit] = known
            if len(self._infos) > _REMEMBERED:
                del self._infos[next(iter(self._infos))]
        return known

    async def tree(self, commit: str) -> str:
        """The tree of a commit (or of a tree)."""
        return (await self._info(commit)).tree

    async def commit(self, tree: str, parents: tuple[str, ...], message: str, at: int) -> str:
        """A commit of the orchestrator's own; equal for equal arguments, and then made only once."""
        key = (tree, parents, message, at)
        if key not in self._made:
            self._made[key] = await self._committed(tree, tuple(dict.fromkeys(parents)), message or "\n", at)
            if len(self._made) > _REMEMBERED:
                del self._made[next(iter(self._made))]
        return self._made[key]

    async def _committed(self, tree: str, parents: tuple[str, ...], message: str, at: int) -> str:
        said = message.encode(errors="replace")
        person = f"{self._person.name} <{self._person.email}> {at // 1000} +0000"
        lines = [f"tree {tree}", *(f"parent {it}" for it in parents), f"author {person}", f"committer {person}", "", ""]
        if "\0" not in message:
            with suppress(BrokenError):
                return (await self._objects.write("commit", ["\n".join(lines).encode() + said]))[0]
        words = [word for parent in parents for word in ("-p", parent)]
        return (await self.git("commit-tree", *words, tree, stdin=said, at=at)).text  # asked alone, git tells why

    async def parents(self, commit: str) -> list[str]:
        """The parents of a commit."""
        return list((await self._info(commit)).parents)

    async def message(self, commit: str) -> str:
        """What a commit says."""
        return (await self._info(commit)).message

    async def time(self, commit: str) -> int:
        """When a commit was made, in milliseconds."""
        return (await self._info(commit)).time

    async def is_ancestor(self, old: str, new: str) -> bool:
        """Whether `new` holds `old`."""
        return (await self.git("merge-base", "--is-ancestor", old, new, ok=(0, 1))).code == 0

    async def keep(self, contents: Sequence[bytes], kind: Literal["blob", "tree"] = "blob") -> list[str]:
        """Files' contents (or folders, as git writes them) among the objects, all at once; their ids."""
        with suppress(BrokenError):
            return await self._objects.write(kind, contents)
        words = ("hash-object", "-w", "-t", kind, "--stdin")
        return [(await self.git(*words, stdin=data)).text for data in contents]  # asked alone, git tells why

    async def blobs(self, ids: list[str]) -> list[bytes]:
        """The contents of files by their ids, all at once."""
        found: list[bytes] = []
        for id_, one in zip(ids, await self._objects.read(ids), strict=True):
            if one is None or one.kind != "blob":
                raise PortError(f"git has no file {shorten(id_)}", code="git.no_object")
            found.append(one.data)
        return found

    async def raw_tree(self, tree: str) -> bytes:
        """A folder by its id, as git writes it."""
        found = (await self._objects.read([tree]))[0]
        if found is None or found.kind != "tree":
            raise PortError(f"git has no folder {shorten(tree)}", code="git.no_object")
        return found.data

    async def show(self, commit: str, path: str) -> bytes | None:
        """A file as a commit has it; None if there is none."""
        if "\n" in path or path.startswith(("./", "../")):  # two lines, or what git takes to be relative to a folder
            said = await self.git("cat-file", "blob", f"{commit}:{path}", ok=(0, 128))
            return said.out if said.code == 0 else None
        found = (await self._objects.read([f"{commit}:{path}"]))[0]
        return found.data if found is not None and found.kind == "blob" else None

    async def texts(self, commit: str, paths: Sequence[str], most: int) -> dict[str, str]:
        """Those of some files that a commit has as plain files of at most so many bytes; links are not followed."""
        said = await self.git("ls-tree", "-z", "-l", commit, "--", *paths) if paths else None
        found: dict[str, str] = {}
        for line in said.out.decode(errors="replace").split("\0") if said else ():
            facts, _, path = line.partition("\t")
            words = facts.split()
            if len(words) == 4 and words[0].startswith("100") and words[3].isdecimal() and int(words[3]) <= most:
                found[path] = words[2]
        contents = await self.blobs(list(found.values()))
        texts = {path: data.decode(errors="replace") for path, data in zip(found, contents, strict=True)}
        return {path: texts[path] for path in paths if path in texts}


# The user's own settings count where the repository is found: it may belong to somebody else, by the user's leave.
_WITH_SETTINGS: Final = {"GIT_CONFIG_GLOBAL": "", "GIT_CONFIG_NOSYSTEM": ""}


async def open_repository(project: Project, person: Person = Person()) -> Repository:  # noqa: B008 (frozen)
    """The repository of a project, or a `PortError` that says why no run can work with it."""
    await check_version(project.root)
    words = ("rev-parse", "--path-format=absolute", "--git-common-dir", "--git-dir", "--show-object-format")
    said = await _said([*words, "--is-bare-repository"], project.root, _WITH_SETTINGS, b"", (0, 128))
    if said.code and "dubious ownership" in said.words:
        leave = f"git config --global --add safe.directory {shlex.quote(str(project.root))}"
        raise PortError(
            f"{project.root} belongs to somebody else, so git refuses it; `{leave}` if you trust it", code="git.owner"
        )
    if said.code:
        raise PortError(
            f"{project.root} is not a git repository ({shorten(said.words)}); `git init` makes one",
            code="git.no_repository",
        )
    common, folder, form, bare = said.text.splitlines()
    repository = Repository(project.root, Path(common), Path(folder), project.local / "git", form, person)
    if bare == "false":
        await _is_its_root(project.root)
    await _has_commits(repository)
    if busy := repository.busy():
        raise PortError(f"{project.root} is in the middle of {busy}; finish or abort it first", code="git.busy")
    await repository.mend()
    return repository


async def check_version(cwd: Path) -> tuple[int, ...]:
    """Git's version; a `PortError` if it is too old."""
    said = await run_git(["version"], cwd=cwd, env={})
    found = re.search(r"(\d+)\.(\d+)", said.text)
    version = tuple(int(part) for part in found.groups()) if found else (0, 0)
    if version < OLDEST:
        raise PortError(
            f"{said.text or 'this git'} is too old; install git {'.'.join(map(str, OLDEST))} or newer",
            code="git.too_old",
        )
    return version


async def _said(
    arguments: list[str] | tuple[str, ...],
    cwd: Path,
    env: dict[str, str],
    stdin: bytes,
    ok: tuple[int, ...],
    most: int = OUTPUT,
) -> Said:
    said = await run_git(arguments, cwd=cwd, env=env, stdin=stdin, patience=PATIENCE, most=most)
    if said.code not in ok:
        shown = shorten(f"git {' '.join(arguments)}")
        locked = ".lock" in said.words and "exists" in said.words.lower()
        words = shorten(said.words or f"exit code {said.code}", 1000)
        raise PortError(f"`{shown}` failed: {words}", retryable=locked, code="git.failed")
    return said


async def _is_its_root(root: Path) -> None:
    top = Path((await _said(["rev-parse", "--show-toplevel"], root, _WITH_SETTINGS, b"", (0,))).text)
    if not await asyncio.to_thread(os.path.samefile, top, root):
        raise PortError(
            f"{root} is a folder inside of the repository {top}; move treadle.toml and .treadle there",
            code="git.inside",
        )


async def _has_commits(repository: Repository) -> None:
    said = await run_git(
        [f"--git-dir={repository.work_folder}", "rev-parse", "--verify", "--quiet", "HEAD^{commit}"],
        cwd=repository.root,
        env={},
    )
    if said.code:
        raise PortError(
            f"{repository.root} has no commits yet; agents work on copies of a commit: make a first one",
            code="git.no_commits",
        )


def _parsed(name: str, said: Object | None) -> CommitInfo:
    """An object, if it is a commit or a tree."""
    if said is None or said.kind not in ("commit", "tree"):
        what = f"it is a {said.kind}" if said else "there is no such object"
        raise PortError(f"{shorten(name)} is no commit of this repository: {what}", code="git.no_commit")
    if said.kind == "tree":
        return CommitInfo(said.id)
    head, _, message = said.data.partition(b"\n\n")
    lines = [line.decode(errors="replace").partition(" ") for line in head.split(b"\n")]
    parents = tuple(value for key, _, value in lines if key == "parent")
    tree = next(value for key, _, value in lines if key == "tree")
    time = next(value for key, _, value in lines if key == "committer").rsplit(" ", 2)[1]
    return CommitInfo(tree, parents, int(time) * 1000, message.decode(errors="replace").removesuffix("\n"))
