"""Files in the user's own tree: no link is followed, each is written at once, and nothing of a person's is replaced."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from treadle.errors import writing
from treadle.git.scan import is_reserved

_LARGEST: Final = 10_000_000


def put_unless(root: Path, path: str, data: bytes, is_foreign: Callable[[bytes], bool]) -> bool:
    """Write a file below a folder unless what is there is somebody else's; whether it is as wanted."""
    folder, name = _folder(root, path)
    if folder is None:
        return False
    try:
        there = _read(folder, name)
        if there is not None and there != data and is_foreign(there):
            return False
        if there != data:
            with writing(root / path):
                _write(folder, name, data)
        return True
    except OSError:  # a link, a folder, or something that may not be read stands in its place
        return False
    finally:
        os.close(folder)


def look_at(root: Path, path: str) -> bytes | None:
    """What a file below a folder holds; None if there is no plain file that can be read."""
    *folders, name = path.split("/")
    if not root.joinpath(*folders).is_dir():
        return None
    folder, _ = _folder(root, path)
    if folder is None:
        return None
    try:
        return _read(folder, name)
    except OSError:
        return None
    finally:
        os.close(folder)


def _folder(root: Path, path: str) -> tuple[int | None, str]:
    """The opened folder of a file, made where it is missing; no link on the way is followed."""
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


def _read(folder: int, name: str) -> bytes | None:
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        return None
    with os.fdopen(handle, "rb") as file:
        return file.read(_LARGEST)


def _write(folder: int, name: str, data: bytes) -> None:
    draft = f".{name}.{os.getpid()}.{os.urandom(4).hex()}"
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644, dir_fd=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with suppress(OSError):
            os.unlink(draft, dir_fd=folder)
        raise
