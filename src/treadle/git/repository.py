"""The user's repository, and Treadle's access to it.

Treadle works through a git folder of its own: it shares the user's objects, and its settings convert nothing and run
nothing.
"""

import asyncio
import os
import re
import shlex
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal

import msgspec

from treadle.config.project import Project
from treadle.errors import PortError, writing
from treadle.git.process import BrokenError, GitAnswer, Objects, run_git, shorten

# Treadle's own git folder: the user's objects, with settings that no other configuration can override.

NOT_RECORDED: Final = (".ai/executor-result", ".ai/HANDOFF.md", "HANDOFF.md", ".ai/STATE.json", ".treadle/local")
"""Answers, work orders and our own files; they are never part of an agent's work."""

# In `info/attributes`, which overrides every `.gitattributes` of the tree: these could start filters and convert line
# endings, but a commit of a lane must equal its files byte for byte.
_ATTRIBUTES: Final = "* -text -eol -filter -ident -working-tree-encoding !diff !merge -export-subst\n"
_CONFIG: Final = """\
[core]
\trepositoryformatversion = {version}
\tbare = false
\tfilemode = true
\tsymlinks = true
\tignorecase = false
\tautocrlf = false
\tsafecrlf = false
\tprotectHFS = false
\tprotectNTFS = false
\ttrustctime = true
\tcheckStat = default
\tattributesFile = /dev/null
\texcludesFile = /dev/null
[index]
\tsparse = false
[merge]
\trenames = true
\tconflictStyle = merge
"""
_SHA256: Final = "[extensions]\n\tobjectFormat = sha256\n"
_MOST: Final = 1_000_000


def make_own_folder(own: Path, users: Path, form: str) -> None:
    """Create or update Treadle's git folder: settings, the user's excludes, and the boundary of a shallow history."""
    try:
        with (users / "info" / "exclude").open(encoding="utf-8", errors="surrogateescape") as file:
            excluded = file.read(_MOST)
    except OSError:
        excluded = ""
    with writing(own):
        write_git_folder(own, own_config(form), "ref: refs/heads/none\n")
        (own / "info").mkdir(exist_ok=True)
        write_at_once(own / "info" / "attributes", _ATTRIBUTES)
        write_at_once(own / "info" / "exclude", f"{excluded}\n" + "".join(f"/{name}\n" for name in NOT_RECORDED))
        if (users / "shallow").is_file():
            shutil.copyfile(users / "shallow", own / "shallow")
        else:
            (own / "shallow").unlink(missing_ok=True)


def own_config(form: str) -> str:
    """Return settings under which git converts nothing and runs nothing."""
    return _CONFIG.format(version=1 if form == "sha256" else 0) + (_SHA256 if form == "sha256" else "")


def write_git_folder(folder: Path, config: str, head: str) -> None:
    """Create the minimal git folder that git accepts as a repository."""
    if folder.is_symlink():
        raise PortError(
            f"{folder} is a link; remove it: Treadle writes only to folders inside the project", code="file.link"
        )
    for part in ("objects/info", "refs/heads"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    write_at_once(folder / "config", config)
    write_at_once(folder / "HEAD", head)


def write_at_once(path: Path, text: str) -> None:
    """Write a file atomically; another process may be reading it."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        draft.write_text(text, encoding="utf-8", errors="surrogateescape")
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


OLDEST: Final = (2, 38)
_AUTHOR, _EMAIL = "Treadle", "treadle@localhost"
"""The author of commits: Treadle, never the user and never an agent."""
_REMEMBERED: Final = 1000
_BUSY: Final = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase or `git am`",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisection",
}


class CommitInfo(msgspec.Struct, frozen=True):
    """The fields of a commit; for a tree, only its id."""

    tree: str
    parents: tuple[str, ...] = ()
    time: int = 0
    message: str = ""


class Repository:
    """A repository that runs can work with."""

    def __init__(self, root: Path, folder: Path, work_folder: Path, own: Path, form: str) -> None:
        self.root = root
        self.folder = folder
        """Its git folder, shared by all its worktrees."""
        self.work_folder = work_folder
        """The git folder of the user's own checkout."""
        self.own = own
        self.form = form
        """How objects are named: sha1 or sha256."""
        self._infos: dict[str, CommitInfo] = {}
        self._made: dict[tuple[str, tuple[str, ...], str, int], str] = {}
        self._objects = Objects(own, self.objects)
        self.named = Objects(folder, self.objects)
        """Objects by the names that the user's git folder has for them: refs."""

    @property
    def objects(self) -> Path:
        return self.folder / "objects"

    async def refs(self, *arguments: str, stdin: bytes = b"", ok: tuple[int, ...] = (0,)) -> GitAnswer:
        """Run a git command on the refs of the user's repository."""
        return await _checked_answer([f"--git-dir={self.folder}", *arguments], self.own, {}, stdin, ok)

    async def git(
        self,
        *arguments: str,
        stdin: bytes = b"",
        ok: tuple[int, ...] = (0,),
        index: Path | None = None,
        files: Path | None = None,
        at: int = 0,
    ) -> GitAnswer:
        """Work with objects, and with the files in a folder (`files`) through an index of ours (`index`).

        `at` is the time of a new commit, in milliseconds.
        """
        date = f"@{at // 1000} +0000"
        env = {
            "GIT_DIR": str(self.own),
            "GIT_OBJECT_DIRECTORY": str(self.objects),
            "GIT_AUTHOR_NAME": _AUTHOR,
            "GIT_AUTHOR_EMAIL": _EMAIL,
            "GIT_AUTHOR_DATE": date,
            "GIT_COMMITTER_NAME": _AUTHOR,
            "GIT_COMMITTER_EMAIL": _EMAIL,
            "GIT_COMMITTER_DATE": date,
        }
        if index is not None:
            env["GIT_INDEX_FILE"] = str(index)
        if files is not None:
            env["GIT_WORK_TREE"] = str(files)
        return await _checked_answer(arguments, files or self.own, env, stdin, ok)

    async def users(self, *arguments: str, ok: tuple[int, ...] = (0,)) -> GitAnswer:
        """Run a command in the user's checkout with the user's own settings (filters, line endings), but without
        hooks.
        """
        env = USERS_SETTINGS | {"GIT_COMMITTER_NAME": _AUTHOR, "GIT_COMMITTER_EMAIL": _EMAIL}
        return await _checked_answer(["-c", "core.logAllRefUpdates=true", *arguments], self.root, env, b"", ok)

    async def mend(self) -> None:
        """Restore Treadle's own git folder, in case another program has changed it."""
        await asyncio.to_thread(make_own_folder, self.own, self.folder, self.form)

    def busy(self) -> str:
        """Return the unfinished operation of the user's checkout, such as a rebase; empty if there is none."""
        return next((what for mark, what in _BUSY.items() if (self.work_folder / mark).exists()), "")

    # objects

    async def _info(self, commit: str) -> CommitInfo:
        """Return the fields of a commit or a tree, cached because they never change."""
        if known := self._infos.get(commit):
            return known
        [found] = await self._objects.read([commit])
        if found is None or found.kind not in ("commit", "tree"):
            what = f"it is a {found.kind}" if found else "there is no such object"
            raise PortError(f"{shorten(commit)} is not a commit of this repository: {what}", code="git.no_commit")
        if found.kind == "tree":
            info = CommitInfo(found.id)
        else:
            head, _, message = found.data.partition(b"\n\n")
            lines = [line.decode(errors="replace").partition(" ") for line in head.split(b"\n")]
            parents = tuple(value for key, _, value in lines if key == "parent")
            tree = next(value for key, _, value in lines if key == "tree")
            time = next(value for key, _, value in lines if key == "committer").rsplit(" ", 2)[1]
            text = message.decode(errors="replace").removesuffix("\n")
            info = CommitInfo(tree, parents, int(time) * 1000, text)
        self._infos[commit] = info
        if len(self._infos) > _REMEMBERED:
            del self._infos[next(iter(self._infos))]
        return info

    async def tree(self, commit: str) -> str:
        """Return the tree of a commit (or of a tree)."""
        return (await self._info(commit)).tree

    async def commit(self, tree: str, parents: tuple[str, ...], message: str, at: int) -> str:
        """Create a commit of Treadle's own; equal arguments give the same commit, which is created only once."""
        key = (tree, parents, message, at)
        if key in self._made:
            return self._made[key]
        parents, text = tuple(dict.fromkeys(parents)), (message or "\n").encode(errors="replace")
        person = f"{_AUTHOR} <{_EMAIL}> {at // 1000} +0000"
        lines = [f"tree {tree}", *(f"parent {it}" for it in parents), f"author {person}", f"committer {person}", "", ""]
        commit = ""
        if "\0" not in message:
            with suppress(BrokenError):
                [commit] = await self._objects.write("commit", ["\n".join(lines).encode() + text])
        if not commit:  # asked alone, git says why it refuses the commit
            words = [word for parent in parents for word in ("-p", parent)]
            commit = (await self.git("commit-tree", *words, tree, stdin=text, at=at)).text
        self._made[key] = commit
        if len(self._made) > _REMEMBERED:
            del self._made[next(iter(self._made))]
        return commit

    async def recommit(self, commit: str, tree: str, parent: str) -> str:
        """Create a commit with another tree and parent, and the message and time of an existing one."""
        info = await self._info(commit)
        return await self.commit(tree, (parent,), info.message, info.time)

    async def note(self, commit: str, message: str) -> str:
        """Create a commit with a message on top of another one, with the same tree and time."""
        info = await self._info(commit)
        return await self.commit(info.tree, (commit,), message, info.time)

    async def parents(self, commit: str) -> list[str]:
        """Return the parents of a commit."""
        return list((await self._info(commit)).parents)

    async def message(self, commit: str) -> str:
        """Return the message of a commit."""
        return (await self._info(commit)).message

    async def time(self, commit: str) -> int:
        """Return the time of a commit, in milliseconds."""
        return (await self._info(commit)).time

    async def is_ancestor(self, old: str, new: str) -> bool:
        """Whether `old` is an ancestor of `new`."""
        return (await self.git("merge-base", "--is-ancestor", old, new, ok=(0, 1))).code == 0

    async def keep(self, contents: Sequence[bytes], kind: Literal["blob", "tree"] = "blob") -> list[str]:
        """Store file contents (or trees in git's format) as objects, all at once; return their ids."""
        with suppress(BrokenError):
            return await self._objects.write(kind, contents)
        words = ("hash-object", "-w", "-t", kind, "--stdin")
        return [(await self.git(*words, stdin=data)).text for data in contents]  # asked alone, git says why

    async def blobs(self, ids: list[str]) -> list[bytes]:
        """Return the contents of files by id, all at once."""
        found: list[bytes] = []
        for id_, one in zip(ids, await self._objects.read(ids), strict=True):
            if one is None or one.kind != "blob":
                raise PortError(f"git has no file {shorten(id_)}", code="git.no_object")
            found.append(one.data)
        return found

    async def raw_tree(self, tree: str) -> bytes:
        """Return a tree by id, in git's format."""
        found = (await self._objects.read([tree]))[0]
        if found is None or found.kind != "tree":
            raise PortError(f"git has no folder {shorten(tree)}", code="git.no_object")
        return found.data

    async def show(self, commit: str, path: str) -> bytes | None:
        """Return a file of a commit; None if it does not exist."""
        if "\n" in path or path.startswith(("./", "../")):  # two lines, or what git takes to be relative to a folder
            answer = await self.git("cat-file", "blob", f"{commit}:{path}", ok=(0, 128))
            return answer.out if answer.code == 0 else None
        found = (await self._objects.read([f"{commit}:{path}"]))[0]
        return found.data if found is not None and found.kind == "blob" else None

    async def texts(self, commit: str, paths: Sequence[str], most: int) -> dict[str, str]:
        """Return those of some files that are regular files of at most `most` bytes in a commit; follow no link."""
        answer = await self.git("ls-tree", "-z", "-l", commit, "--", *paths) if paths else None
        found: dict[str, str] = {}
        for line in answer.out.decode(errors="replace").split("\0") if answer else ():
            facts, _, path = line.partition("\t")
            words = facts.split()
            if len(words) == 4 and words[0].startswith("100") and words[3].isdecimal() and int(words[3]) <= most:
                found[path] = words[2]
        contents = await self.blobs(list(found.values()))
        texts = {path: data.decode(errors="replace") for path, data in zip(found, contents, strict=True)}
        return {path: texts[path] for path in paths if path in texts}


# The user's own settings apply when git opens the repository: with `safe.directory`, it may belong to another user.
USERS_SETTINGS: Final = {"GIT_CONFIG_GLOBAL": "", "GIT_CONFIG_NOSYSTEM": ""}


def is_refused_for_owner(words: str) -> bool:
    """Whether git's English message refuses a repository because another user owns it."""
    return "dubious ownership" in words


def owner_trouble(root: Path) -> tuple[str, str]:
    """Return the problem with a repository that another user owns, and the remedy."""
    leave = f"git config --global --add safe.directory {shlex.quote(str(root))}"
    own = f"chown -R {os.geteuid()} {shlex.quote(str(root))}"
    return (
        f"another user owns {root}, so git refuses it",
        f"`{leave}` if you trust it, or `{own}` if it should be yours",
    )


async def open_repository(project: Project) -> Repository:
    """Open the repository of a project; raise a `PortError` with the reason if no run can work with it."""
    root = project.root
    answer = await run_git(["version"], cwd=root, env={})
    version = re.search(r"(\d+)\.(\d+)", answer.text)
    if not version or (int(version[1]), int(version[2])) < OLDEST:
        raise PortError(
            f"{answer.text or 'this git'} is too old; install git {'.'.join(map(str, OLDEST))} or newer",
            code="git.too_old",
        )
    words = ("rev-parse", "--path-format=absolute", "--git-common-dir", "--git-dir", "--show-object-format")
    answer = await _checked_answer([*words, "--is-bare-repository"], root, USERS_SETTINGS, b"", (0, 128))
    if answer.code and is_refused_for_owner(answer.stderr):
        what, fix = owner_trouble(root)
        raise PortError(f"{what}; {fix}", code="git.owner")
    if answer.code:
        raise PortError(
            f"{root} is not a git repository ({shorten(answer.stderr)}); `git init` makes one", code="git.no_repository"
        )
    common, folder, form, bare = answer.text.splitlines()
    repository = Repository(root, Path(common), Path(folder), project.local / "git", form)
    if bare == "false":
        top = Path((await _checked_answer(["rev-parse", "--show-toplevel"], root, USERS_SETTINGS, b"", (0,))).text)
        if not await asyncio.to_thread(os.path.samefile, top, root):
            raise PortError(
                f"{root} is a folder inside of the repository {top}; move treadle.toml and .treadle there",
                code="git.inside",
            )
    words = (f"--git-dir={repository.work_folder}", "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if (await run_git(words, cwd=root, env={})).code:
        raise PortError(
            f"{root} has no commits yet; agents work on copies of a commit: make a first one", code="git.no_commits"
        )
    if busy := repository.busy():
        raise PortError(f"{root} is in the middle of {busy}; finish or abort it first", code="git.busy")
    await repository.mend()
    return repository


async def _checked_answer(
    arguments: list[str] | tuple[str, ...],
    cwd: Path,
    env: dict[str, str],
    stdin: bytes,
    ok: tuple[int, ...],
) -> GitAnswer:
    answer = await run_git(arguments, cwd=cwd, env=env, stdin=stdin)
    if answer.code not in ok:
        shown = shorten(f"git {' '.join(arguments)}")
        locked = ".lock" in answer.stderr and "exists" in answer.stderr.lower()
        words = shorten(answer.stderr or f"exit code {answer.code}", 1000)
        raise PortError(f"`{shown}` failed: {words}", retryable=locked, code="git.failed")
    return answer
