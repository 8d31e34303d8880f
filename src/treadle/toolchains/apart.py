"""Start the subject of a run: the code under test in a process of its own, where no test can be read.

The judge is the test runner with the frozen tests (`pytest.py` and `seam/`, `node_apart.py` and `seam_js/`). The
subject is a plain interpreter of the project's environment in namespaces of its own. Bubblewrap covers everything that
tests or Treadle have there: the user's project, the judge's checkout, temporary folders, and the repositories. At the
judge's path stands the subject's checkout, so that both sides mean the same by a path. A socket is all that joins both.
"""

import asyncio
import json
import os
import shutil
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from treadle.enclosures.box import secret_places
from treadle.git.files import list_folder
from treadle.toolchains.process import BoundedOutput, command_environment, read_text

SEAM: Final = Path(__file__).with_name("seam")
_PARTS: Final = ("clock", "wire", "twins", "lane", "ambient", "subject")
"""The modules of a Python subject, in the order in which they import each other."""
_BOOT: Final = """\
import sys, json, types
with open(int(sys.argv[1]), "rb") as file: parts = json.load(file)
name, number = parts.pop("name"), int(sys.argv[2])
sys.argv[:] = [""]
package = sys.modules[name] = types.ModuleType(name)
package.__path__ = []
for part, text in parts.items():
    module = sys.modules[f"{name}.{part}"] = types.ModuleType(f"{name}.{part}")
    module.__package__ = name
    exec(compile(text, f"<{part}>", "exec", dont_inherit=True), vars(module))
for word in ("package", "part", "text", "parts", "file", "json", "types"): del globals()[word]
module.main(number)
"""
PYTHON_BOOT: Final = ("-s", "-c", _BOOT)
_NAMESPACES: Final = (
    "--die-with-parent --new-session --as-pid-1 --unshare-pid --unshare-ipc --unshare-net --unshare-uts".split()
)
_MEASURING: Final = ("CI", "PYTHONDONTWRITEBYTECODE", "PYTHONNOUSERSITE")
"""Variables that no user's shell has; the subject must not learn from them that a measurement runs."""
_ENVIRONMENTS: Final = (".venv", "venv", ".tox", ".nox", ".pixi", ".conda", "node_modules")
_SKIPPED_FOLDERS: Final = frozenset({".git", ".treadle", "node_modules", ".venv", "__pycache__"})
_END_TIMEOUT: Final = 5.0
NO_NAMESPACE: Final = (
    "there is no mount namespace (bubblewrap does not work here): the code under test could read its tests"
)


class SubjectSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The interpreter of a subject, the folders that it sees, and those that stay hidden from it."""

    program: tuple[str, ...]
    """The words that start the interpreter."""
    boot: tuple[str, ...]
    """Its options, up to the program that reads `sources` and serves; the numbers of both descriptors follow."""
    sources: dict[str, str]
    """The texts of that program's modules: they reach the subject in memory, not as files."""
    root: Path
    """The user's own checkout."""
    checkout: Path
    """The judge's checkout, with the tests."""
    subject: Path
    """The checkout without tests, which stands at the path of the judge's."""
    shared: Path
    """The folder that both sides may read and write."""
    hidden: tuple[Path, ...] = ()
    """More folders of Treadle."""


def own_files(checkout: Path, is_subject: Callable[[str], bool]) -> list[str]:
    """Return the files of a checkout that the judge may import."""
    found, waiting = [], [""]
    while waiting:
        prefix = waiting.pop()
        with suppress(OSError):
            listed = list_folder(f"{checkout}/{prefix}".rstrip("/"), prefix)
            waiting += [f"{prefix}{name}/" for name in listed.folders if name not in _SKIPPED_FOLDERS]
            found += [path for path in listed.files if not is_subject(path)]
    return sorted(found)


def subject_command(program: str, settings: SubjectSettings, sources: int, line: int) -> tuple[str, ...]:
    """Return bubblewrap's command line for a subject."""
    words = [*walled_off(program, settings)]
    words += ("--ro-bind", settings.subject, settings.checkout, "--bind", settings.shared, settings.shared)
    words += ("--chdir", settings.checkout, "--")
    words += (*settings.program, *settings.boot, str(sources), str(line))
    return tuple(map(str, words))


def walled_off(program: str, settings: SubjectSettings) -> list[str | Path]:
    """Return the beginning of a command line of bubblewrap: namespaces, and covers over what tests or Treadle have."""
    covers = sorted({path for path in _covered(settings) if path.exists()}, key=lambda one: len(one.parts))
    words: list[str | Path] = [program, *_NAMESPACES, "--cap-drop", "ALL", "--ro-bind", "/", "/"]
    words += ["--dev", "/dev", "--proc", "/proc"]
    for name in ("/proc/sys", "/proc/sysrq-trigger") if os.getuid() == 0 else ():
        words += ("--ro-bind", name, name) if Path(name).exists() else ()
    kept: list[Path] = []
    for path in covers:
        if not any(path.is_relative_to(one) and path != one for one in kept) or path.is_relative_to("/tmp"):
            kept.append(path)
            words += ("--tmpfs", path) if path.is_dir() else ("--ro-bind", "/dev/null", path)
    for path in _environment(settings, kept):
        words += ("--ro-bind", path, path)
    return words


def _covered(settings: SubjectSettings) -> Iterator[Path]:
    yield from (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"))
    yield from (settings.root, settings.checkout, settings.subject, *settings.hidden)
    yield from secret_places()
    for checkout in (settings.root, settings.checkout):
        yield from _repositories(checkout)


def _repositories(checkout: Path) -> Iterator[Path]:
    """Yield where git keeps the files of a checkout, tests included: a linked worktree has its repository elsewhere."""
    link = checkout / ".git"
    git = link if link.is_dir() else Path(read_text(link).removeprefix("gitdir:").strip() or "/nonexistent")
    if not git.is_absolute() or not git.is_dir():
        return
    common = git / read_text(git / "commondir").strip()
    for folder in {git.resolve(), common.resolve()}:
        yield folder
        if folder.name == ".git":
            yield folder.parent  # the main checkout
        for line in read_text(folder / "objects" / "info" / "alternates").splitlines():
            if line.startswith("/"):
                yield Path(line.strip())


def _environment(settings: SubjectSettings, covers: list[Path]) -> Iterator[Path]:
    """Yield the folders of the interpreter's environment that lie below a cover."""
    program = shutil.which(settings.program[0]) or settings.program[0]
    places = [settings.root / name for name in _ENVIRONMENTS]
    for path in (Path(program), Path(os.path.realpath(program))):
        prefix = path.parent.parent
        places += [prefix] if (prefix / "pyvenv.cfg").is_file() or (prefix / "lib").is_dir() else [path]
    for place in dict.fromkeys(places):
        if place.exists() and place not in covers and any(place.is_relative_to(one) for one in covers):
            yield place


def subject_environment(scratch: Path) -> dict[str, str]:
    """Return the environment of a subject, as a user's shell would give it."""
    env = command_environment(scratch)
    return {name: text for name, text in env.items() if name not in (*_MEASURING, "TMPDIR")}


class RunningSubject:
    """A subject that has been started, and the judge's end of the line to it."""

    def __init__(self, process: asyncio.subprocess.Process, line: socket.socket) -> None:
        self.process, self.line = process, line
        self.output = BoundedOutput(20_000)


@asynccontextmanager
async def running_subject(
    program: str, settings: SubjectSettings, env: dict[str, str]
) -> AsyncIterator[RunningSubject]:
    """Run a subject; at the end, kill it with everything that it started."""
    ours, theirs = socket.socketpair()
    sources = os.memfd_create("sources")
    try:
        os.write(sources, json.dumps(settings.sources).encode())
        os.lseek(sources, 0, os.SEEK_SET)
        command = subject_command(program, settings, sources, theirs.fileno())
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd="/",
            env=env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            pass_fds=(sources, theirs.fileno()),
            start_new_session=True,
        )
    except BaseException:
        ours.close()
        raise
    finally:
        os.close(sources)
        theirs.close()
    running = RunningSubject(process, ours)
    reading = asyncio.create_task(_read(running))
    try:
        yield running
    finally:
        ours.close()
        if process.returncode is None:
            # Not `process.kill()`: that may reap a process which has ended, before asyncio's watcher does.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _END_TIMEOUT)
        with suppress(TimeoutError):
            await asyncio.wait_for(reading, _END_TIMEOUT)


async def _read(running: RunningSubject) -> None:
    assert running.process.stdout is not None
    while chunk := await running.process.stdout.read(1 << 16):
        running.output.add(chunk)


def python_sources() -> dict[str, str]:
    """Return the modules of a Python subject."""
    parts = {name: (SEAM / "treadle_seam" / f"{name}.py").read_text(encoding="utf-8") for name in _PARTS}
    return {"name": "_service", **parts}


_mounting: dict[tuple[str, ...], bool] = {}


async def mounting_program(*more: str) -> str:
    """Return bubblewrap if it works here, with more of its options, tried once; empty if it does not."""
    program = shutil.which("bwrap")
    if program is None:
        return ""
    if (program, *more) not in _mounting:
        nowhere = asyncio.subprocess.DEVNULL
        words = (*_NAMESPACES, "--cap-drop", "ALL", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
        trial = (program, *words, *more, "--tmpfs", "/tmp", "--", shutil.which("true") or "/bin/true")
        try:
            process = await asyncio.create_subprocess_exec(*trial, stdin=nowhere, stdout=nowhere, stderr=nowhere)
        except OSError:
            return ""
        _mounting[program, *more] = await process.wait() == 0
    return program if _mounting[program, *more] else ""
