"""The project: repository, settings, store, and what runs may have left behind."""

import sqlite3
from pathlib import Path
from urllib.parse import quote

from treadle.cli.health.line import Line, missing, ok, warn
from treadle.cli.programs import find_program
from treadle.cli.repository import git, has_commits, is_repository
from treadle.config.detect.folder import Folder
from treadle.config.detect.worktrees import strays
from treadle.config.project import Project
from treadle.errors import PortError
from treadle.git.in_the_way import advice, first_of, places, told


async def project_lines(project: Project | None, prefix: str) -> list[Line]:
    """How the project is; only that there is none, outside of one. `prefix`: of the branches of runs."""
    if project is None:
        return [warn("project", "this folder is in none", "`git init`, then `treadle init`", code="project.missing")]
    lines = [_settings(project), store_line(project), *_strays(project)]
    if find_program("git") is None:  # which another line says, and nobody else can tell more
        return lines
    return [await _repository(project), *await _in_the_way(project, prefix), *lines, *await _left_behind(project)]


def _strays(project: Project) -> list[Line]:
    """Whether the user's own test runner would find the lanes of runs."""
    what, _, advice = strays(Folder(project.root)).partition(": ")
    return [warn("test runner", what, advice, code="doctor.test_runner")] if what else []


async def _repository(project: Project) -> Line:
    if not await is_repository(project.root):
        return missing(
            "repository", f"{project.root} is not a git repository", "git init", required=True, code="git.no_repository"
        )
    if not await has_commits(project.root):
        return missing(
            "repository",
            "there is no commit to start from",
            "git add and git commit",
            required=True,
            code="git.no_commits",
        )
    return ok("repository", str(project.root))


async def _in_the_way(project: Project, prefix: str) -> list[Line]:
    said = await git(project.root, "for-each-ref", "--format=%(refname)", *places(prefix))
    ref = first_of(said.text.splitlines(), prefix) if said.is_well else ""
    return [missing("branches", told(ref, prefix), advice(ref), required=True, code="git.ref_taken")] if ref else []


def _settings(project: Project) -> Line:
    if not project.file.is_file():
        return warn("treadle.toml", "not there: defaults hold", "treadle init", code="config.missing")
    return ok("treadle.toml", "has no mistakes")


def store_line(project: Project) -> Line:
    """Whether the store can be read, and is of a version that this program knows."""
    from treadle.store.migrations import version

    if not project.store.exists():
        return ok("store", "there is none yet: the first run makes it")
    try:
        db = sqlite3.connect(f"file:{quote(str(project.store))}?mode=ro", uri=True)
        try:
            seen = version(db)
            damage = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
        finally:
            db.close()
    except PortError as error:
        what, _, advice = str(error).partition("; ")
        return missing("store", f"{project.store}: {what}", advice, required=True, code=error.code)
    except sqlite3.Error as error:
        return missing(
            "store",
            f"{project.store}: {error}",
            "move it away, or restore it from a copy",
            required=True,
            code="store.damaged",
        )
    if damage != "ok":
        return missing(
            "store",
            f"{project.store} is damaged: {damage}",
            "restore it from a copy",
            required=True,
            code="store.damaged",
        )
    return ok("store", f"readable, version {seen}")


async def _left_behind(project: Project) -> list[Line]:
    lines = []
    said = await git(project.root, "worktree", "list", "--porcelain")
    gone = sum(it.startswith("prunable") for it in said.text.splitlines())
    if gone:
        lines.append(
            warn("worktrees", f"{gone} that git knows are gone", "git worktree prune", code="doctor.left_behind")
        )
    lines += await _locks(project)
    return lines or [ok("left behind", "nothing")]


async def _locks(project: Project) -> list[Line]:
    said = await git(project.root, "rev-parse", "--absolute-git-dir")
    if not said.is_well:
        return []
    lock = Path(said.text.strip()) / "index.lock"
    if not lock.exists():
        return []
    return [warn("locks", f"{lock} is there", "if no git command is at work, remove it", code="git.locked")]
