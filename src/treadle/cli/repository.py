"""What `treadle init` and `treadle doctor` ask git about the project."""

import os
from pathlib import Path
from typing import Final

from treadle.cli.programs import Said, ask

_ELSEWHERE: Final = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")
"""Set by git for hooks; they would point our questions at another repository."""


async def git(root: Path, *arguments: str) -> Said:
    """A git command in a folder, as the user would give it there."""
    env = {name: value for name, value in os.environ.items() if name not in _ELSEWHERE} | {"GIT_TERMINAL_PROMPT": "0"}
    return await ask(["git", *arguments], cwd=root, env=env)


async def is_repository(root: Path) -> bool:
    return (await git(root, "rev-parse", "--git-dir")).is_well


async def has_commits(root: Path) -> bool:
    return (await git(root, "rev-parse", "--verify", "--quiet", "HEAD")).is_well


async def untracked(root: Path) -> list[str]:
    """Files that git does not know and does not ignore."""
    said = await git(root, "ls-files", "--others", "--exclude-standard", "-z")
    return [name for name in said.text.split("\0") if name] if said.is_well else []


async def commit_only(root: Path, files: list[str], message: str) -> Said:
    """Commits some new files and nothing else."""
    added = await git(root, "add", "--", *files)
    return await git(root, "commit", "--quiet", "-m", message, "--only", "--", *files) if added.is_well else added
