"""`treadle doctor`: check everything that runs need, and explain how to repair it.

Each check returns lines and changes nothing: the machine, the project, the sandbox, and the channels for notifications.
The lines about agents, the hook and the toolchain come from their own modules.
"""

import asyncio
import os
import platform
import re
import shutil
import sqlite3
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Final
from urllib.parse import quote

import typer

from treadle.cli import library
from treadle.cli.agents import agent_lines, limit_lines, own_sandboxes
from treadle.cli.checkup import Health, Line, failed, format_checkup, missing, ok, summarize_checkup, warn
from treadle.cli.config import load_current_settings
from treadle.cli.guard import UNWELL, quote_word
from treadle.cli.hook import hook_lines
from treadle.cli.options import JsonOption
from treadle.cli.output import print_json
from treadle.cli.programs import ask_git, ask_program, belongs_to_others, find_program, has_commits, is_repository
from treadle.cli.toolchain_health import toolchain_lines
from treadle.config.detection import Folder, lane_exclusions
from treadle.config.model import Notifications, WorkspaceSettings
from treadle.config.project import Project, current_folder, find_project
from treadle.config.settings import EffectiveSettings
from treadle.enclosures.box import find_box
from treadle.enclosures.container import find_engine
from treadle.enclosures.selection import CONTAINER, INSTALL_BOX, open_box, open_container
from treadle.errors import PortError, TreadleError
from treadle.git.refs import blocking_refs, describe_blocking_ref
from treadle.git.repository import owner_trouble
from treadle.store.connection import store_version
from treadle.toolchains.sandbox import find_sandbox


def doctor(
    as_json: JsonOption = False,
) -> None:
    """Check git, SQLite, test tools, agents, sandboxes and the project.

    Exit code 0: nothing required is missing; 1: something required is missing.
    """
    lines = asyncio.run(run_checkup())
    if as_json:
        print_json(Health(lines=tuple(lines)))
    else:
        typer.echo("\n".join([*format_checkup(lines), "", summarize_checkup(lines)]))
    if any(line.is_fatal for line in lines):
        raise typer.Exit(UNWELL)


async def run_checkup() -> list[Line]:
    """Run all checks, the slow ones concurrently."""
    project = find_project()
    mistakes: list[Line] = []
    try:
        settings = load_current_settings()
    except TreadleError as error:  # the other checks go on with the defaults
        settings = EffectiveSettings({})
        mistakes.append(missing("treadle.toml", str(error), "correct the settings", code=error.code))
    config, protocol = settings.config(), None
    try:
        protocol = library.open_protocol(config.protocol).protocol
        config = settings.config(protocol.name)
    except TreadleError as error:
        fix = f"`treadle protocol check {quote_word(config.protocol)}`, or set `protocol.default`"
        mistakes.append(missing(f"protocol {config.protocol}", str(error).splitlines()[0], fix, code=error.code))

    git, tools, agents, around, sandboxes = await asyncio.gather(
        git_line(),
        toolchain_lines(config, project or Project(current_folder()), protocol if project else None),
        agent_lines(settings, project),
        project_lines(project, config.git.branch_prefix),
        asyncio.gather(
            checks_line(),
            agents_line(config.workspace, project, own_sandboxes(settings)),
            container_line(config.workspace, project),
        ),
    )
    if any(line.what == "treadle.toml" for line in mistakes):
        around = [line for line in around if line.what != "treadle.toml"]
    return [
        git,
        ok("Python", f"{platform.python_version()} ({sys.executable})"),
        sqlite_line(project),
        disk_line(project),
        *around,
        *mistakes,
        *tools,
        *agents,
        *limit_lines(config, protocol),
        *await hook_lines(project),
        *channel_lines(config.notifications),
        *sandboxes,
    ]


# The machine: git, SQLite on the project's file system, disk space.

GIT: Final = (2, 38)
"""`git merge-tree --write-tree`: merges without a worktree."""
SQLITE: Final = (3, 35, 0)
ROOM: Final = 2 * 10**9
"""Bytes below which checkouts may run out of space soon."""
_DISTANT: Final = ("nfs", "cifs", "smb", "9p", "fuse.sshfs", "afs")


async def git_line() -> Line:
    """Whether git is there, and new enough."""
    if find_program("git") is None:
        return missing("git", "not found", "install git from https://git-scm.com", code="git.missing")
    answer = await ask_program(["git", "--version"])
    version = parse_version(answer.text)
    shown = ".".join(map(str, version)) or answer.first_line
    if version[:2] < GIT:
        needed = f"{shown}, but {GIT[0]}.{GIT[1]} is needed to merge"
        return missing("git", needed, "install a newer git", code="git.too_old")
    return ok("git", shown)


def parse_version(text: str) -> tuple[int, ...]:
    """Return the first version number in a text; empty if there is none."""
    match = re.search(r"\d+(\.\d+)+", text)
    return tuple(int(part[:9]) for part in match[0].split(".")[:3]) if match else ()


def sqlite_line(project: Project | None) -> Line:
    """Whether SQLite is new enough, and can keep a write-ahead log where the store is."""
    version, needed = sqlite3.sqlite_version, ".".join(map(str, SQLITE))
    if sqlite3.sqlite_version_info < SQLITE:
        return missing("SQLite", f"{version}, but {needed} is needed", "use a newer Python", code="doctor.sqlite")
    folder = _nearest(project.local) if project else Path.cwd()
    kind = _file_system(folder)
    if kind.startswith(_DISTANT):
        fix = "work in a folder on a local disk: file locks are not reliable here"
        return warn("SQLite", f"{version}; {folder} is on {kind}", fix, code="doctor.file_system")
    try:
        with tempfile.TemporaryDirectory(prefix=".treadle-doctor-", dir=folder) as place:
            db = sqlite3.connect(Path(place) / "try.db")
            try:
                mode = db.execute("PRAGMA journal_mode = wal").fetchone()[0]
                db.execute("CREATE TABLE one (n)")
                db.commit()
            finally:
                db.close()
    except (OSError, sqlite3.Error) as error:
        return missing("SQLite", f"{version}; {folder}: {error}", "make the folder writable", code="file.unwritable")
    if mode != "wal":
        fix = "work in a folder on a local disk"
        return missing("SQLite", f"no write-ahead log in {folder}", fix, code="doctor.file_system")
    return ok("SQLite", f"{version}, write-ahead log works in {folder}")


def disk_line(project: Project | None) -> Line:
    """Check the free disk space for checkouts."""
    folder = _nearest(project.worktrees) if project else Path.cwd()
    free = shutil.disk_usage(folder).free
    shown = f"{free / 10**9:.1f} GB free in {folder}"
    if free < ROOM:
        return warn("disk", shown, "free some space: every agent has a checkout of its own", code="doctor.disk")
    return ok("disk", shown)


def _nearest(folder: Path) -> Path:
    """Return the folder, or its nearest existing parent."""
    return next(place for place in (folder, *folder.parents) if place.is_dir())


def _file_system(folder: Path) -> str:
    """Return the file system type of a folder from `/proc/self/mounts`; empty where there is no such file."""
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    place = os.path.realpath(folder)
    parted = [line.split(" ") for line in mounts.splitlines()]
    around = [it for it in parted if len(it) > 2 and (place + "/").startswith(it[1].rstrip("/") + "/")]
    return max(around, key=lambda it: len(it[1]), default=["", "", ""])[2]


# The project: repository, settings, store, and leftovers of runs.


async def project_lines(project: Project | None, prefix: str) -> list[Line]:
    """Check the project around the current folder. `prefix` is that of the branches of runs."""
    if project is None:
        return [
            warn(
                "project",
                "this folder is not in a git repository",
                "`git init`, then `treadle init`",
                code="project.missing",
            )
        ]
    if project.file.is_file():
        lines = [ok("treadle.toml", "has no mistakes")]
    else:
        lines = [warn("treadle.toml", "missing; the defaults apply", "treadle init", code="config.missing")]
    lines.append(store_line(project))
    what, _, advice = lane_exclusions(Folder(project.root)).partition(": ")
    if what:  # the user's own test runner would find the lanes of runs
        lines.append(warn("test runner", what, advice, code="doctor.test_runner"))
    if find_program("git") is None:  # another line reports it
        return lines

    root = project.root
    first = [await _repository_line(root)]
    refs = await ask_git(root, "for-each-ref", "--format=%(refname)", *blocking_refs(prefix))
    if refs.is_well and (blocking := describe_blocking_ref(refs.text.splitlines(), prefix)):
        first.append(missing("branches", *blocking, code="git.ref_taken"))

    left: list[Line] = []
    worktrees = await ask_git(root, "worktree", "list", "--porcelain")
    if gone := sum(it.startswith("prunable") for it in worktrees.text.splitlines()):
        left.append(
            warn(
                "worktrees", f"git lists {gone} whose folders are gone", "git worktree prune", code="doctor.left_behind"
            )
        )
    git_folder = await ask_git(root, "rev-parse", "--absolute-git-dir")
    if git_folder.is_well and (lock := Path(git_folder.text.strip()) / "index.lock").exists():
        left.append(warn("locks", f"{lock} is there", "remove it if no git command is running", code="git.locked"))
    return [*first, *lines, *(left or [ok("left behind", "nothing")])]


async def _repository_line(root: Path) -> Line:
    if await belongs_to_others(root):
        return missing("repository", *owner_trouble(root), code="git.owner")
    if not await is_repository(root):
        return missing("repository", f"{root} is not a git repository", "git init", code="git.no_repository")
    if not await has_commits(root):
        return missing(
            "repository", "there is no commit to start from", "git add and git commit", code="git.no_commits"
        )
    return ok("repository", str(root))


def store_line(project: Project) -> Line:
    """Whether the store can be read, and is of a version that this program knows."""
    path = project.store
    if not path.exists():
        return ok("store", "none yet; the first run creates it")
    try:
        db = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)
        try:
            seen = store_version(db)
            damage = db.execute("PRAGMA quick_check(1)").fetchone()[0]
        finally:
            db.close()
    except PortError as error:
        what, _, advice = str(error).partition("; ")
        return missing("store", f"{path}: {what}", advice, code=error.code)
    except sqlite3.Error as error:
        return missing("store", f"{path}: {error}", "move it away, or restore it from a copy", code="store.damaged")
    if damage != "ok":
        return missing("store", f"{path} is damaged: {damage}", "restore it from a copy", code="store.damaged")
    return ok("store", f"readable, version {seen}")


# The sandboxes of checks and agents: bubblewrap, user namespaces, containers. Required only if the settings ask for
# them.

_FIX: Final = "apt install bubblewrap, and `sysctl kernel.unprivileged_userns_clone=1` where that is 0"


async def checks_line() -> Line:
    """Check the sandbox that keeps checks from the network and from files."""
    found = await find_sandbox()
    if found.keeps_files or found.narrows:
        return ok("sandbox of checks", found.name)
    return warn("sandbox of checks", found.name, _FIX, code="box.missing")


async def agents_line(settings: WorkspaceSettings, project: Project | None, own: str = "") -> Line:
    """Check the sandbox that keeps agents in their write scope; the check on the diff works without it.

    `own` describes the sandboxes of the agents' own programs, for the case that there is no box.
    """
    what = "sandbox of agents"
    if settings.driver == CONTAINER:
        return ok(what, "containers")
    if project is None:
        found = await find_box()
        return (
            warn(what, f"none: {found}", INSTALL_BOX, code="box.missing")
            if isinstance(found, str)
            else ok(what, found.name)
        )
    try:
        box = await open_box(settings, project)
    except TreadleError as error:
        return failed(what, error)
    if box is not None:
        return ok(what, box.name)
    besides = "; ".join(filter(None, (own, "the check on the diff finds changes outside the scope afterwards")))
    if settings.box == "off":
        return warn(what, f"none: `workspace.box` is `off`; {besides}", "set `workspace.box` to `auto`", code="box.off")
    return warn(what, f"none: {await find_box()}; {besides}", INSTALL_BOX, code="box.missing")


async def container_line(settings: WorkspaceSettings, project: Project | None) -> Line:
    """Whether containers can be had; if the settings ask for them, whether everything that they need is there."""
    if settings.driver == CONTAINER and project is not None:
        try:
            box = await open_container(settings, project)
        except TreadleError as error:
            return failed("containers", error)
        assert box is not None
        engine = box.engine
        return ok("containers", f"{engine.kind} {engine.version} has the image {box.image} ({box.id[:19]})")
    try:
        engine = await find_engine()
    except PortError as error:
        what, _, _ = str(error).removeprefix("no containers: ").partition("; ")
        if "does not answer" in what:
            return warn("containers", what, "start it if you want agents to run in containers", code=error.code)
        fix = "install one if you want agents to run in containers"
        return missing("containers", what, fix, code=error.code, required=False)
    return ok("containers", f"{engine.kind} {engine.version}; the settings do not use it")


# The channels for notifications.

_VARIABLE = "env:"


def channel_lines(settings: Notifications) -> list[Line]:
    """Check whether notifications can be sent; no lines without channels."""
    if not settings.channels:
        return []
    if find_spec("apprise") is None:
        detail = "Apprise is not installed: notifications are not sent"
        return [warn("channels", detail, "pip install 'treadle[channels]'", code="notify.settings")]
    names = [it.removeprefix(_VARIABLE) for it in settings.channels if it.startswith(_VARIABLE)]
    if unset := [name for name in names if not os.environ.get(name)]:
        fix = "set these variables in the environment in which you start runs"
        return [warn("channels", f"not set: {', '.join(unset)}", fix, code="notify.settings")]
    return [ok("channels", f"{len(settings.channels)} named in the settings")]
