"""The machine: git, Python, SQLite on the project's file system, disk space."""

import os
import platform
import re
import shutil
import sqlite3
import sys
import tempfile
from pathlib import Path
from typing import Final

from treadle.cli.health.line import Line, missing, ok, warn
from treadle.cli.programs import ask, find_program
from treadle.config.project import Project

GIT: Final = (2, 38)
"""`git merge-tree --write-tree`: merges without a worktree."""
SQLITE: Final = (3, 35, 0)
ROOM: Final = 2 * 10**9
"""Bytes below which worktrees may run out of space soon."""
_DISTANT: Final = ("nfs", "cifs", "smb", "9p", "fuse.sshfs", "afs")


async def git_line() -> Line:
    """Whether git is there, and new enough."""
    if find_program("git") is None:
        return missing("git", "not found", "install git from https://git-scm.com", required=True, code="git.missing")
    said = await ask(["git", "--version"])
    version = version_in(said.text)
    shown = ".".join(map(str, version)) or said.first_line
    if version[:2] < GIT:
        return missing(
            "git",
            f"{shown}, but {GIT[0]}.{GIT[1]} is needed to merge",
            "install a newer git",
            required=True,
            code="git.too_old",
        )
    return ok("git", shown)


def version_in(text: str) -> tuple[int, ...]:
    """The first thing in a text that looks like a version."""
    match = re.search(r"\d+(\.\d+)+", text)
    return tuple(int(part[:9]) for part in match[0].split(".")[:3]) if match else ()


def python_line() -> Line:
    """Which Python this is; an older one than needed does not get here."""
    return ok("Python", f"{platform.python_version()} ({sys.executable})")


def sqlite_line(project: Project | None) -> Line:
    """Whether SQLite is new enough, and can keep a write-ahead log where the store is."""
    version = sqlite3.sqlite_version
    if sqlite3.sqlite_version_info < SQLITE:
        needed = ".".join(map(str, SQLITE))
        return missing(
            "SQLite", f"{version}, but {needed} is needed", "use a newer Python", required=True, code="doctor.sqlite"
        )
    folder = _nearest(project.local) if project else Path.cwd()
    kind = _file_system(folder)
    if kind.startswith(_DISTANT):
        return warn(
            "SQLite",
            f"{version}; {folder} is on {kind}",
            "work in a folder on a local disk: locks may lie there",
            code="doctor.file_system",
        )
    try:
        mode = _journal_mode(folder)
    except (OSError, sqlite3.Error) as error:
        return missing(
            "SQLite", f"{version}; {folder}: {error}", "make the folder writable", required=True, code="file.unwritable"
        )
    if mode != "wal":
        return missing(
            "SQLite",
            f"no write-ahead log in {folder}",
            "work in a folder on a local disk",
            required=True,
            code="doctor.file_system",
        )
    return ok("SQLite", f"{version}, write-ahead log works in {folder}")


def _journal_mode(folder: Path) -> str:
    """What a fresh database in a folder makes of the wish for a write-ahead log; nothing stays behind."""
    with tempfile.TemporaryDirectory(prefix=".treadle-doctor-", dir=folder) as place:
        db = sqlite3.connect(Path(place) / "try.db")
        try:
            mode = str(db.execute("PRAGMA journal_mode = wal").fetchone()[0])
            db.execute("CREATE TABLE one (n)")
            db.commit()
        finally:
            db.close()
    return mode


def disk_line(project: Project | None) -> Line:
    """How much space is left where worktrees go."""
    folder = _nearest(project.worktrees) if project else Path.cwd()
    free = shutil.disk_usage(folder).free
    shown = f"{free / 10**9:.1f} GB free in {folder}"
    return (
        ok("disk", shown)
        if free >= ROOM
        else warn("disk", shown, "make room: every agent has a worktree of its own", code="doctor.disk")
    )


def _nearest(folder: Path) -> Path:
    """The folder, or the nearest above it that is there."""
    return next(place for place in (folder, *folder.parents) if place.is_dir())


def _file_system(folder: Path) -> str:
    """The type of the file system that a folder is on, where the system tells."""
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    place = os.path.realpath(folder)
    parted = [line.split(" ") for line in mounts.splitlines()]
    around = [it for it in parted if len(it) > 2 and (place + "/").startswith(it[1].rstrip("/") + "/")]
    return max(around, key=lambda it: len(it[1]), default=["", "", ""])[2]
