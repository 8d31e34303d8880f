"""Intake of untrusted input: plain files only, strict JSON, and faults in words that the agent can act on."""

import errno
import hashlib
import json
import os
import stat
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from treadle.protocol.answers.values import quote_text


class Faulty(msgspec.Struct, frozen=True):
    """An answer that is present but cannot be accepted."""

    problems: tuple[str, ...]


class Stale(msgspec.Struct, frozen=True):
    """Something is there that does not belong to this activity; it counts as absent and is recorded."""

    why: str


def faulty(*problems: str) -> Faulty:
    """Build a fault from one or a few sentences."""
    return Faulty(problems)


# Strict JSON from untrusted writers: any bytes become data or a `Faulty`; duplicate names and NaN are refused.

MAX_ANSWER: Final = 1_000_000
"""Bytes of an answer; the setting `limits.answer` overrides it."""
MAX_DEPTH: Final = 64


def decode(data: bytes, what: str, limit: int = MAX_ANSWER) -> object | Faulty:
    """Decode JSON bytes, or return the problem; `what` is the subject of the problem's sentence."""
    if len(data) > limit:
        return too_large(what, len(data), limit)
    text = decode_text(data, what)
    return text if isinstance(text, Faulty) else parse(text, what)


def decode_text(data: bytes, what: str) -> str | Faulty:
    """Decode bytes as UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return faulty(f"{what} is not UTF-8 (byte {error.start}); write it as UTF-8")


def parse(text: str, what: str) -> object | Faulty:
    """Parse a JSON text."""
    try:
        value: object = json.loads(text, object_pairs_hook=_unique_names, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        return faulty(f"{what} is not JSON: {error.msg[:1].lower()}{error.msg[1:]} ({where}); check quotes and commas")
    except RecursionError:
        return _too_deep(what)
    except ValueError as error:  # a name twice, NaN, a number of thousands of digits
        return faulty(f"{what} is not acceptable JSON: {error}")
    return _too_deep(what) if _is_deeper(value, MAX_DEPTH) else value


def too_large(what: str, size: int, limit: int) -> Faulty:
    """Refuse something because of its size."""
    return faulty(f"{what} has {size} bytes, the limit is {limit}; shorten it")


def _unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"{quote_text(twice)} appears twice in the same object; give it once")
    return found


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number; write null or leave it out")


def _is_deeper(value: object, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        inner: list[object] = []
        for outer in level:
            values = outer.values() if isinstance(outer, dict) else outer if isinstance(outer, list) else ()
            inner += [one for one in values if isinstance(one, dict | list)]
        level = inner
        if not level:
            return False
    return True


def _too_deep(what: str) -> Faulty:
    return faulty(f"{what} is nested more than {MAX_DEPTH} levels deep; flatten it")


# Files from untrusted writers: only plain files, no links on the way, bounded sizes, and no open that waits.
#
# All functions here block for a moment; an event loop calls them in a thread.

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_ABSENT: Final = (errno.ENOENT, errno.ENOTDIR)
LARGEST: Final = 64 * 1024 * 1024
"""Bytes of the largest file that is read, where no limit for answers applies."""


def read_file(root: Path, name: str, what: str = "", limit: int = LARGEST) -> bytes | Faulty | None:
    """Return the contents of a plain file below a folder; None if it does not exist."""
    what = what or name
    try:
        with _parent(root, name) as (folder, last):
            if odd := _wrong_kind(os.stat(last, dir_fd=folder, follow_symlinks=False).st_mode):
                return faulty(f"{what} is {odd}; write a plain file there")
            with os.fdopen(os.open(last, _FILE, dir_fd=folder), "rb") as file:
                about = os.fstat(file.fileno())
                if odd := _wrong_kind(about.st_mode):  # it was replaced since the first look
                    return faulty(f"{what} is {odd}; write a plain file there")
                if about.st_size > limit:
                    return too_large(what, about.st_size, limit)
                data = file.read(limit + 1)  # it may have grown meanwhile
            return data if len(data) <= limit else too_large(what, len(data), limit)
    except OSError as error:
        if error.errno in _ABSENT:
            return None
        if error.errno == errno.ELOOP:
            return faulty(f"{what} is reached through a symbolic link; write a plain file in a plain folder")
        return faulty(f"{what} cannot be read: {(error.strerror or str(error)).lower()}")


def file_mark(root: Path, name: str) -> str:
    """Return a mark that changes when the file changes, also for links and folders; empty if it does not exist."""
    try:
        with _parent(root, name) as (folder, last):
            about = os.stat(last, dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        return "" if error.errno in _ABSENT else f"error {error.errno}"
    found = read_file(root, name)
    if isinstance(found, bytes):
        return f"sha256:{hashlib.sha256(found).hexdigest()}"
    return f"{stat.filemode(about.st_mode)} {about.st_ino} {about.st_size} {about.st_mtime_ns}"


def remove_file(root: Path, name: str) -> None:
    """Delete a file or link below a folder, if possible."""
    with suppress(OSError), _parent(root, name) as (folder, last):
        os.unlink(last, dir_fd=folder)


def replace_file(root: Path, name: str, data: bytes, mode: int = 0o644) -> None:
    """Write a file atomically and durably, in place of any file or link of its name."""
    with _parent(root, name) as (folder, last):
        draft = f".{last}.{os.getpid()}.{os.urandom(4).hex()}"
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode, dir_fd=folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.rename(draft, last, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(draft, dir_fd=folder)
            raise
        os.fsync(folder)  # the new name is part of the folder, and must survive a power cut, too


@contextmanager
def _parent(root: Path, name: str) -> Iterator[tuple[int, str]]:
    """Open the parent folder of a file without following links below the root; yield it and the file's base name."""
    *folders, last = name.split("/")
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for folder in folders:
            inner = os.open(folder, _FOLDER, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        yield descriptor, last
    finally:
        os.close(descriptor)


def _wrong_kind(mode: int) -> str:
    """Describe a file that is not a plain file; empty if it is one."""
    if stat.S_ISREG(mode):
        return ""
    if stat.S_ISLNK(mode):
        return "a symbolic link"
    return "a folder" if stat.S_ISDIR(mode) else "no plain file (a pipe, socket or device)"
