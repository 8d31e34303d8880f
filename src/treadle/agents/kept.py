"""What the keeper of an activity leaves on disk, and whether it lives."""

import fcntl
import os
import re
from pathlib import Path
from typing import Final

import msgspec

from treadle.agents.environment import MARK
from treadle.agents.processes import Process, holds, look
from treadle.agents.tail import end_of, open_regular, text_of
from treadle.ports import Work

_MAX_RECORD: Final = 10_000
_CODE: Final = re.compile(r"-?[0-9]{1,9}", re.ASCII)


class Kept(msgspec.Struct, frozen=True):
    """The files of one session of an activity; each time it is issued again or goes on, it has the next folder."""

    root: Path
    retry: int

    @classmethod
    def of(cls, work: Work) -> "Kept":
        return cls(work.home.absolute() / "agent", work.retry + work.round)

    @property
    def mark(self) -> str:
        """The variable by which all processes of this session are known."""
        return f"{MARK}={self.folder}"

    @property
    def folder(self) -> Path:
        return self.root / str(self.retry)

    @property
    def lock(self) -> Path:
        return self.root / "lock"

    @property
    def stdout(self) -> Path:
        return self.folder / "stdout"

    @property
    def stderr(self) -> Path:
        return self.folder / "stderr"

    @property
    def log(self) -> Path:
        """What keepers complain about; empty if all is well."""
        return self.root / "keeper.log"

    @property
    def farewell(self) -> Path:
        """The words of the command that ends what runs elsewhere for this session; not there if nothing does."""
        return self.root / f"{self.retry}.farewell"

    @property
    def place(self) -> Path:
        """What the program of this session runs in, in words; not there if it is nothing."""
        return self.root / f"{self.retry}.place"

    def is_enclosed(self) -> bool:
        """Whether a program stands between the keeper and this one, and tells its end in numbers of its own."""
        return bool(self._record(self.place) or self.farewell_words())

    def farewell_words(self) -> tuple[str, ...]:
        """The command that ends what runs elsewhere; empty if nothing does."""
        words = self._record(self.farewell).split("\0")
        return tuple(words) if words[0] else ()

    def ended(self) -> tuple[str, int | None, str]:
        """How the program ended, in the keeper's words (`code`, `stopped`, `error`, or nothing), and its exit code."""
        how, _, detail = self._record(self.folder / "ended").partition(" ")
        return how, int(detail) if how == "code" and _CODE.fullmatch(detail) else None, detail

    def keeper(self) -> Process | None:
        """The living keeper of exactly this session."""
        return self._proven(self.folder / "keeper")

    def keepers(self) -> list[Process]:
        """The living keepers of this activity; there is at most one, unless somebody meddled with the lock."""
        return [found for each in self.up_to_this() if (found := each.keeper())]

    def up_to_this(self) -> "list[Kept]":
        """The sessions of this activity, this one and those before."""
        return [Kept(self.root, retry) for retry in range(self.retry + 1)]

    def taken(self) -> bool:
        """Whether a keeper of this activity lives, even one that has not written down yet who it is."""
        file = open_regular(self.lock)
        if file is None:
            return False
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(file)
        return False

    def _proven(self, path: Path) -> Process | None:
        """The process that a file names, if start time and mark prove that it is still the same one and ours."""
        words = self._record(path).split()
        if len(words) != 2 or not all(word.isdecimal() and len(word) < 20 for word in words):
            return None
        process = look(int(words[0]))
        return process if process and process.start == int(words[1]) and holds(process, self.mark) else None

    def _record(self, path: Path) -> str:
        return text_of(end_of(path, _MAX_RECORD)).strip()
