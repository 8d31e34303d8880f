"""A repository and its first commit: agents start from a commit, so there has to be one. Nothing without a yes."""

import sys
from pathlib import Path

import typer

from treadle.cli.founding import Plan
from treadle.cli.programs import Said
from treadle.cli.repository import commit_only, git, has_commits, is_repository, untracked
from treadle.errors import TreadleError

MESSAGE = "Set up Treadle"


async def start(root: Path, plan: Plan, *, dry_run: bool, yes: bool) -> list[str]:
    """Makes the repository and the first commit if they are missing and wanted; what is left for the person to do."""
    if not await is_repository(root):
        if dry_run or not _agreed("There is no git repository here. Make one?", yes):
            return ["`git init`, then `git add` and `git commit`: agents work on copies of a commit"]
        _must(await git(root, "init", "--quiet"), "git init")
        typer.echo("a git repository is made")
    files = sorted(({*plan.files, *plan.kept} & {*plan.files, *await untracked(root)}) - {*plan.shown})
    commit = f"`git add {' '.join(files)} && git commit`" if files else "`git add` and `git commit` what belongs here"
    if await has_commits(root):
        return [f"{commit}: agents see only what is committed"] if files else []
    if dry_run or not files or not _agreed(f"There is no commit yet. Commit {', '.join(files)}?", yes):
        return [f"{commit}: agents work on copies of a commit, and there is none"]
    _must(await commit_only(root, files, MESSAGE), "git commit")
    typer.echo(f"committed: {', '.join(files)}")
    return _left(await untracked(root))


async def refuse_git_folder(root: Path) -> None:
    """Where git keeps its own files nobody else's belong: a bare repository, or the inside of `.git`."""
    said = await git(root, "rev-parse", "--is-bare-repository", "--is-inside-git-dir")
    if said.is_well and "true" in said.text.split():
        raise TreadleError(
            f"{root} is a bare repository or git's own folder, and has no files to work on; "
            "`git clone` it, and go on in the clone",
            code="git.bare",
        )


def _left(rest: list[str]) -> list[str]:
    """What to say about files that were there and are in no commit."""
    if not rest:
        return []
    shown = f"{rest[0]} and {len(rest) - 1} more" if len(rest) > 1 else rest[0]
    return [f"`git add` and `git commit` what else belongs here ({shown}): agents see only what is committed"]


def _agreed(question: str, yes: bool) -> bool:
    """Asks only a person who is there to answer."""
    return yes or (sys.stdin.isatty() and sys.stdout.isatty() and typer.confirm(question, default=False))


def _must(said: Said, what: str) -> None:
    if not said.is_well:
        hint = "; set `git config user.name` and `user.email`" if "user.email" in said.text else ""
        raise TreadleError(f"{what} failed: {said.first_line}{hint}", code="git.failed")
