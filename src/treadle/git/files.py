"""Files on disk, in lanes and in the user's own tree; no link is ever followed.

`scan` inspects a lane without opening a file, `list_folder` reads a folder again only if it changed, and
`write_unless_foreign` never replaces a person's file.
"""

import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from operator import attrgetter
from pathlib import Path
from threading import Lock
from typing import Final, Literal

import msgspec

from treadle.errors import writing

FindingKind = Literal["link", "repository", "submodule", "large", "special", "name"]

LARGE: Final = 50 * 1024 * 1024
"""The size limit in bytes; a larger new file is not recorded."""
_OURS: Final = frozenset({".git", "git~1"})
_SHORTEST: Final = 4
_FIRST: Final = ".gG"
_LOOKED_AT: Final = 0o170000 | stat.S_IRUSR  # of a mode: the kind, and whether its owner may read it
_PLAIN: Final = stat.S_IFREG | stat.S_IRUSR
_NAME: Final = attrgetter("name")
_STEPS: Final = 1000
"""The limit on path parts when resolving a link."""


class LaneFinding(msgspec.Struct, frozen=True):
    """An irregular file in a lane that is not recorded as it is; data for the scope check."""

    kind: FindingKind
    path: str
    detail: str


class LaneContents(msgspec.Struct, frozen=True):
    """A lane's contents: regular files and links, and findings."""

    files: dict[str, int]
    """Path → size; a link has the length of its target, and a known file 0."""
    findings: tuple[LaneFinding, ...]


def scan(root: Path, known: Collection[str] = frozenset()) -> LaneContents:
    """List everything below a folder except its own `.git`.

    Known plain files count without a `stat` for size and mode: one call for each file of a large tree takes longer than
    all the rest.
    """
    files: dict[str, int] = {}
    links: dict[str, str] = {}
    findings: list[LaneFinding] = []
    for path, entry in _walk(str(root), ""):
        if path in known and entry.is_file(follow_symlinks=False) and path.isascii() and entry.name[0] not in _FIRST:
            files[path] = 0
            continue
        state = entry.stat(follow_symlinks=False)
        mode = state.st_mode
        if mode & _LOOKED_AT == _PLAIN and path.isascii() and entry.name[0] not in _FIRST:  # as nearly all are
            files[path] = state.st_size
        elif is_reserved(entry.name):
            findings.append(LaneFinding("repository", path, "a git folder inside of the lane"))
        elif not _is_utf8(path):
            findings.append(LaneFinding("name", path, "a name that is not UTF-8"))
        elif stat.S_ISLNK(mode):
            links[path] = str(Path(entry.path).readlink())
            files[path] = len(links[path])
        elif stat.S_ISREG(mode) and not mode & stat.S_IRUSR:
            findings.append(LaneFinding("special", path, "a file that may not be read"))
        elif stat.S_ISREG(mode):
            files[path] = state.st_size
        elif not stat.S_ISDIR(mode):
            findings.append(LaneFinding("special", path, "neither a file nor a folder nor a link"))
    findings += [
        LaneFinding("link", path, f"points out of the lane: {to}")
        for path, to in links.items()
        if _leaves(path, to, links)
    ]
    return LaneContents(files, tuple(findings))


def has_files(root: Path) -> bool:
    """Whether a folder contains anything but folders."""
    return any(not entry.is_dir(follow_symlinks=False) for _, entry in _walk(str(root), ""))


def is_reserved(name: str) -> bool:
    """Whether git, on some file system, treats a name as its own folder."""
    return len(name) >= _SHORTEST and name[0] in _FIRST and name.lower().rstrip(". ") in _OURS


def _walk(root: str, below: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    waiting = [(root, below)]
    while waiting:
        folder, prefix = waiting.pop()
        try:
            entries = sorted(os.scandir(folder), key=_NAME)
        except OSError:  # an unreadable folder: nothing in it can be recorded
            continue
        for entry in entries:
            path = f"{prefix}{entry.name}"
            if path == ".git":
                continue
            yield path, entry
            if entry.is_dir(follow_symlinks=False) and not is_reserved(entry.name):
                waiting.append((entry.path, f"{path}/"))


def _is_utf8(path: str) -> bool:
    if path.isascii():
        return True
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _leaves(path: str, to: str, links: Mapping[str, str]) -> bool:
    """Whether a link leads out of its lane; resolves other links on the way as text, and opens nothing."""
    here = path.split("/")[:-1]
    waiting = [to]
    for _ in range(_STEPS):
        if not waiting:
            return False
        step, more, rest = waiting.pop().partition("/")
        if more and not step:
            return True
        waiting += [rest.lstrip("/")] if more else []
        if step == ".." and not here:
            return True
        here = here[:-1] if step == ".." else here if step in ("", ".") else [*here, step]
        if here and is_reserved(here[0]):
            return True
        if step not in ("", ".", "..") and (target := links.get("/".join(here))) is not None:
            here.pop()
            waiting.append(target)
    return True  # a cycle, or too many steps to tell


# A cache of folder listings; a folder is read again only after a file in it was created, removed or renamed.
#
# The system records that in the folder's change time, which no program can set. A folder changed just before it was
# read is not cached: another change at the same moment would leave the same time.

_SETTLED: Final = 2_000_000_000
"""Nanoseconds after which a further change gets another timestamp on any file system."""
_REMEMBERED: Final = 300_000
"""The number of files in all cached folders, which use tens of megabytes."""


class FolderListing(msgspec.Struct, frozen=True):
    """The names in a folder, with the folder's own path as the prefix; links are no folders."""

    prefix: str
    stamp: tuple[int, ...]
    files: frozenset[str]
    """With the prefix."""
    folders: tuple[str, ...]
    """Without it."""


class _ListingCache:
    """A cache of listings, shared by threads; it is emptied when it is full."""

    def __init__(self) -> None:
        self.known: dict[str, FolderListing] = {}
        self._files = 0
        self._lock = Lock()

    def add(self, folder: str, found: FolderListing) -> None:
        with self._lock:
            before = self.known.get(folder)
            self._files += len(found.files) - (len(before.files) if before else 0)
            if self._files > _REMEMBERED:
                self.known.clear()
                self._files = len(found.files)
            self.known[folder] = found


_cache = _ListingCache()


def list_folder(folder: str, prefix: str) -> FolderListing:
    """List a folder; raise `OSError` if it cannot be read."""
    state, now = os.lstat(folder), time.time_ns()
    stamp = (state.st_dev, state.st_ino, state.st_mtime_ns, state.st_ctime_ns)
    known = _cache.known.get(folder)
    if known is not None and (known.prefix, known.stamp) == (prefix, stamp):
        return known
    with os.scandir(folder) as entries:
        kinds = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    files = frozenset(prefix + name for name, is_folder in kinds if not is_folder)
    found = FolderListing(prefix, stamp, files, tuple(name for name, is_folder in kinds if is_folder))
    if 0 < state.st_ctime_ns < now - _SETTLED:
        _cache.add(folder, found)
    return found


# Files in the user's own tree: follow no link, write each file atomically, and replace nothing that a person wrote.

_LARGEST: Final = 10_000_000


def write_unless_foreign(
    root: Path, path: str, data: bytes, is_foreign: Callable[[bytes], bool], mode: int = 0o644
) -> bool:
    """Write a file below a folder unless a foreign file is there; return whether it now has these contents."""
    folder, name = _open_folder(root, path)
    if folder is None:
        return False
    try:
        there = _read_in(folder, name)
        if there is not None and there != data and is_foreign(there):
            return False
        if there != data:
            with writing(root / path):
                _write_in(folder, name, data, mode)
        return True
    except OSError:  # a link, a folder, or something that may not be read stands in its place
        return False
    finally:
        os.close(folder)


def read_plain_file(root: Path, path: str, most: int = _LARGEST) -> bytes | None:
    """Return the contents of a file below a folder, or its beginning; None if there is no readable regular file."""
    *folders, name = path.split("/")
    if not root.joinpath(*folders).is_dir():
        return None
    folder, _ = _open_folder(root, path)
    if folder is None:
        return None
    try:
        return _read_in(folder, name, most)
    except OSError:
        return None
    finally:
        os.close(folder)


def _open_folder(root: Path, path: str) -> tuple[int | None, str]:
    """Open the folder of a file, and create it if missing; follow no link on the way."""
    *folders, name = path.split("/")
    if any(part in ("", ".", "..") or is_reserved(part) for part in (*folders, name)):
        return None, name
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for part in folders:
        try:
            with suppress(FileExistsError):
                os.mkdir(part, dir_fd=handle)
            inner = os.open(part, flags, dir_fd=handle)
        except OSError:
            os.close(handle)
            return None, name
        os.close(handle)
        handle = inner
    return handle, name


def _read_in(folder: int, name: str, most: int = _LARGEST) -> bytes | None:
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        return None
    with os.fdopen(handle, "rb") as file:
        return file.read(most)


def _write_in(folder: int, name: str, data: bytes, mode: int) -> None:
    draft = f".{name}.{os.getpid()}.{os.urandom(4).hex()}"
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode, dir_fd=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with suppress(OSError):
            os.unlink(draft, dir_fd=folder)
        raise


# Temporary folders outside every checkout. Their names contain the process that made them, so that the leftovers of a
# killed process can be removed at once.

_SCRATCH: Final = re.compile(r"treadle-[a-z]+-(\d+)-(\d+)-[^/]+")
"""A name with the process and its pid namespace: a container with pids of its own may share the folder."""
_OLDER_SCRATCH: Final = re.compile(r"treadle-(?:(?:index|objects|box)-)?[a-z0-9_]{8}")
"""Names of earlier versions, without a process."""
_DAY: Final = 86400


@contextmanager
def temporary_folder(kind: str) -> Iterator[Path]:
    """Create a temporary folder, and remove it afterwards."""
    folder = Path(tempfile.mkdtemp(prefix=f"treadle-{kind}-{os.getpid()}-{_namespace()}-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _namespace() -> int:
    """Return the namespace of process numbers; 0 where the system has none."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino  # noqa: PTH116
    except OSError:
        return 0


def abandoned_folders() -> Iterator[Path]:
    """Yield this user's temporary folders that have no living process; if that is unknown, those older than a day."""
    here = _namespace()
    for path in sorted(Path(tempfile.gettempdir()).glob("treadle-*")):
        named = _SCRATCH.fullmatch(path.name)
        if named is None and _OLDER_SCRATCH.fullmatch(path.name) is None:
            continue
        with suppress(OSError):  # its owner may remove it meanwhile
            state = path.lstat()
            if named is not None and here == int(named[2]) != 0:
                is_gone = not Path(f"/proc/{named[1]}").exists()
            else:
                is_gone = time.time() - state.st_mtime > _DAY
            if is_gone and state.st_uid == os.getuid():
                yield path
