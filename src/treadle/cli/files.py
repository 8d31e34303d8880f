"""What commands write: whole or not at all, never over somebody's work, never into a folder that is not there."""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from treadle.errors import TreadleError

STDOUT: Final = ("-", "/dev/stdout")
"""The names under which a command writes to standard output."""
_RECOGNISED: Final = 40
"""How many characters of a name are enough to know it by."""


def write_new(path: Path, text: str) -> None:
    """Writes a file that must not be there yet."""
    if os.path.lexists(path):
        raise TreadleError(f"{path} is already there; give another name, or remove it first", code="file.exists")
    with _reported(path):
        _write(path, text)


def write_again(path: Path, text: str, is_ours: Callable[[str], bool]) -> None:
    """Writes a file, also in place of one that an earlier command wrote; anybody else's is left alone."""
    with _reported(path):
        if path.is_file() and path.stat().st_size and not is_ours(_beginning(path)):
            raise TreadleError(f"{path} is something else; give another name, or remove it first", code="file.exists")
        _write(path.resolve() if path.is_symlink() else path, text)


def write_folder(folder: Path, texts: Mapping[str, str]) -> None:
    """Writes a folder that must not be there yet, or must be empty."""
    with _reported(folder):
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise TreadleError(
                f"{folder} is already there and is no folder; give another name, or remove it first", code="file.exists"
            )
        if folder.is_dir() and any(folder.iterdir()):
            raise TreadleError(
                f"{folder} is already there and is not empty; give another name, or remove it first", code="file.exists"
            )
        _fill(folder, texts)


def _fill(folder: Path, texts: Mapping[str, str]) -> None:
    unfinished = _beside(folder)
    unfinished.mkdir()
    try:
        for name, text in texts.items():
            (unfinished / name).parent.mkdir(parents=True, exist_ok=True)
            (unfinished / name).write_text(text, encoding="utf-8")
        unfinished.replace(folder)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def _write(path: Path, text: str) -> None:
    if path.is_dir():
        raise TreadleError(f"{path} is a folder; give the name of a file", code="file.exists")
    if path.exists() and not path.is_file():  # a device or a pipe takes what it is given
        _pour(path, text)
        return
    unfinished = _beside(path)
    try:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _pour(path: Path, text: str) -> None:
    """Into something that is no file: if nobody reads from a pipe, that is an error at once, and no waiting."""
    file = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    os.set_blocking(file, True)
    with os.fdopen(file, "w", encoding="utf-8") as opened:
        opened.write(text)


def _beside(path: Path) -> Path:
    """A name for what is not finished, in the same folder: renaming it is one step, and it is no longer."""
    return path.with_name(f".{path.name[:_RECOGNISED]}.{os.getpid()}")


@contextmanager
def _reported(path: Path) -> Iterator[None]:
    try:
        if not path.absolute().parent.is_dir():
            raise TreadleError(
                f"{path} cannot be written: there is no folder {path.parent}; create it first", code="file.unwritable"
            )
        yield
    except OSError as error:
        raise TreadleError(f"{path} cannot be written: {error.strerror}", code="file.unwritable") from None


def _beginning(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(1000)
    except OSError as error:
        raise TreadleError(f"{path} cannot be read: {error.strerror}", code="file.unreadable") from None
