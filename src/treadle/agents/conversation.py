"""A HOME for each conversation: parallel agents cannot meet in it, and whoever resumes finds the transcript there.

A conversation is known by the folder that it has beside its activities' folders, and by the program's own name for it.
A fork gets a copy of the folder. The user's login is lent to it: copied in, and handed back if the program renewed it.
"""

import os
import shutil
from pathlib import Path
from typing import Final, Self

import msgspec

from treadle.agents.answer import put_file
from treadle.errors import PortError
from treadle.kernel.events import Usage
from treadle.ports import Work
from treadle.results.files import look

_PLACE: Final = "conversations"
_TOTAL: Final = "used.json"
_BEFORE: Final = "used-before.json"


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    """Where a conversation lives, and how its program calls it."""

    folder: Path
    name: str = ""
    """Empty: it has not begun."""

    @classmethod
    def of(cls, work: Work) -> Self:
        """The conversation that an activity takes part in: one that it continues, or its own."""
        known, _, name = work.session.partition("/")
        own = work.home.absolute().parent / _PLACE
        if work.session and not work.fork and _is_plain(known):
            return cls(folder=own / known, name=name)
        return cls(folder=own / work.home.name)

    @property
    def home(self) -> Path:
        """The HOME of its programs."""
        return self.folder / "home"

    def called(self, name: str) -> str:
        """The conversation as a session that can be continued; empty if its program has not named it."""
        return f"{self.folder.name}/{name}" if name else ""

    def open(self, work: Work) -> str:
        """Make its folder; what is to be continued or (`fork`) branched off from, as the program calls it."""
        source, _, name = work.session.partition("/")
        try:
            if work.session and work.fork and _is_plain(source):
                _copy(self.folder.parent / source, self.folder)
            self.home.mkdir(parents=True, exist_ok=True)
            self.folder.chmod(0o700)
        except (OSError, shutil.Error) as error:
            raise PortError(
                f"the folder {self.folder} of a conversation cannot be made: {error}", code="file.unwritable"
            ) from None
        return name

    # what a program counts from the beginning of a conversation

    def begin_count(self, work: Work) -> None:
        """Note what the conversation had used before this activity joined it."""
        found = look(self.folder, _TOTAL)
        put_file(work.home, f"{work.round}-{_BEFORE}", found if isinstance(found, bytes) else b"{}")

    def counted_before(self, work: Work) -> Usage:
        """What the conversation had used before this activity joined it."""
        return _usage(look(work.home, f"{work.round}-{_BEFORE}"))

    def end_count(self, total: Usage) -> None:
        """Note what the conversation has used in all."""
        put_file(self.folder, _TOTAL, msgspec.json.encode(total))

    # the user's login

    def lend(self, files: tuple[str, ...], owner: Path) -> None:
        """Copy the user's login into its HOME."""
        for name in files:
            source, target = owner / name, self.home / name
            if source.is_file():
                self._clear(target)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)
                target.chmod(0o600)

    def _clear(self, target: Path) -> None:
        """Remove what stands in the way of a file: a link that an agent has left would lead the login elsewhere."""
        below = [*reversed(target.relative_to(self.home).parents), target.relative_to(self.home)]
        for path in (self.home / part for part in below):
            if path.is_symlink():
                path.unlink()

    def hand_back(self, files: tuple[str, ...], owner: Path) -> None:
        """Give a login that the program has renewed back to the user, unless the user's own is newer.

        An agent may write this HOME: a file that is not the same login with other values is left where it is.
        """
        for name in files:
            source, target = self.home / name, owner / name
            if source.is_symlink() or not source.is_file() or not target.is_file():
                continue
            new, old = look(source.parent, source.name), target.read_bytes()
            is_newer = source.stat().st_mtime_ns > target.stat().st_mtime_ns
            if isinstance(new, bytes) and is_newer and new != old and _shape(new) == _shape(old) is not None:
                part = target.with_name(f".{target.name}.treadle")
                part.write_bytes(new)
                part.chmod(0o600)
                part.replace(target)


def _shape(data: bytes) -> object:
    """What a login is made of, without its values; None if it is no JSON."""
    try:
        return _kinds(msgspec.json.decode(data))
    except msgspec.DecodeError:
        return None


def _kinds(value: object) -> object:
    return {key: _kinds(each) for key, each in value.items()} if isinstance(value, dict) else type(value).__name__


def _copy(source: Path, target: Path) -> None:
    """All of it, or nothing; links stay links, and what is no file (a socket) is left out."""
    part = target.with_name(f"{target.name}.part")
    for old in (part, target):
        shutil.rmtree(old, ignore_errors=True)
    shutil.copytree(source, part, symlinks=True, ignore=_odd)
    part.rename(target)


def _odd(folder: str, names: list[str]) -> list[str]:
    paths = ((Path(folder) / name, name) for name in names)
    return [name for path, name in paths if not (path.is_symlink() or path.is_file() or path.is_dir())]


def _is_plain(name: str) -> bool:
    return bool(name) and name not in (".", "..") and os.sep not in name


def _usage(data: object) -> Usage:
    try:
        return msgspec.json.decode(data, type=Usage) if isinstance(data, bytes) else Usage()
    except msgspec.DecodeError:
        return Usage()
