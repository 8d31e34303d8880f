"""Writes the memory bank of a run whenever it has moved: below the run's folder, and in the user's checkout.

Nothing ever reads these files back. What somebody has changed in the checkout is left as it is, and told.
"""

from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from treadle.errors import PortError, ReplayDivergence
from treadle.git.users_files import look_at, put_unless
from treadle.kernel.replay import Row
from treadle.protocol.memory_bank import has_bank
from treadle.protocol.model import Protocol
from treadle.runtime.view_files import FOLDER, write_all
from treadle.store.sqlite import Store
from treadle.views.bank.course import Course
from treadle.views.bank.files import bank, run_of

_LEFT: Final = "was changed by somebody, or is somebody's own: it is not read, and left as it is"
_ODD: Final = "cannot be written: a link or something else stands in its way"


class BankFiles:
    """The bank of one run, always as of the last event that was recorded."""

    def __init__(self, store: Store, run: str, folder: Path, root: Path | None) -> None:
        """`root` is the user's checkout; None: there is none."""
        self._store, self._run, self._folder, self._root = store, run, folder / FOLDER, root
        self._course = Course(cache(store.protocol))
        self._written: dict[str, str] = {}
        self._placed: dict[str, str] = {}
        self._told: set[tuple[str, str]] = set()

    def show(self, protocol: Protocol) -> list[str]:
        """Bring the files up to date; what of the user's own stands in their place, told once."""
        if not has_bank(protocol):
            return []
        with suppress(PortError, ReplayDivergence):
            texts = self.texts()
            write_all(self._folder, texts, self._written)
            return self._place(texts)
        return []

    def texts(self) -> Mapping[str, str]:
        """Path → text."""
        rows: list[Row] = self._store.tail(self._run, self._course.state.seq)[1]
        for body, _ in rows:
            self._course.take(body)
        return bank(self._course, self._store.payloads.get)

    def _place(self, texts: Mapping[str, str]) -> list[str]:
        changed = {path: text for path, text in texts.items() if self._placed.get(path) != text}
        if self._root is None or not changed or not self._is_latest():
            return []
        found = [self._put(self._root, path, text) for path, text in changed.items()]
        return [told for told in found if told]

    def _put(self, root: Path, path: str, text: str) -> str:
        with suppress(OSError, PortError):
            if put_unless(root, path, text.encode(errors="replace"), is_foreign):
                self._placed[path] = text
                return ""
        there = look_at(root, path)
        mark = path, sha256(there or b"").hexdigest()
        if mark in self._told:
            return ""
        self._told.add(mark)
        return f"{path} {_ODD if there is None else _LEFT}"

    def _is_latest(self) -> bool:
        """Whether no later run has a bank: the checkout shows one run's."""
        for run in self._store.runs():
            if run.id == self._run:
                return True
            if has_bank(self._store.protocol(run.protocol)):
                return False
        return True


def is_foreign(data: bytes) -> bool:
    """Whether something was not made from the log of a run, or was changed since."""
    return not run_of(data.decode(errors="replace"))


def in_bundle(texts: Mapping[str, str]) -> dict[str, bytes]:
    """The bank as agents find it in their bundle."""
    return {f"{FOLDER}/{path}": text.encode(errors="replace") for path, text in texts.items()}
