"""Writes the files that are views of a run, its memory bank among them, after every change of the run.

The files are below the run's folder; the bank is also in the user's checkout. Nothing reads them back. `GrowingLog` is
the log that they are made from; checks, merges and status read it, too.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from treadle.errors import PortError, ReplayDivergence
from treadle.git.files import read_plain_file, write_unless_foreign
from treadle.kernel.replay import GENESIS, Move, verify_chain
from treadle.kernel.state import Instance, State
from treadle.ports import Payloads
from treadle.protocol.artifacts import has_bank
from treadle.protocol.model import Protocol
from treadle.results.intake import replace_file
from treadle.store.records import Run
from treadle.store.sqlite import Store
from treadle.views.bank import bank, run_of
from treadle.views.chronicle import Chronicle
from treadle.views.story_files import artifact_files, has_views

_MEND: Final = "restore a backup of .treadle/local; it does not affect other runs"
FOLDER: Final = "files"
"""The folder of these files, in a run's folder and in the bundle of each of its agents."""


class GrowingLog(Chronicle):
    """The evidence log of a run that may continue: each call reads the events since the last one."""

    def __init__(self, store: Store, run: str) -> None:
        super().__init__(cache(store.protocol))
        self.store, self.run, self.record = store, run, store.run(run)
        self._last = GENESIS

    def moves(self) -> Iterator[Move]:
        """Yield the events since the last call; raise an error if the log differs from the recorded one.

        Nothing else may read this log between two of them: it would take the rest of the batch twice.
        """
        seq = self.state.seq
        self.record, rows = self.store.tail(self.run, seq)
        try:
            for body, link in verify_chain(rows, seq, self._last):
                self._last = link
                yield self.take(body)
        except ReplayDivergence as error:
            raise ReplayDivergence(f"run {self.run}: {error}; {_MEND}", code=error.code) from None
        if seq + len(rows) != self.record.seq:
            recorded = f"{self.record.seq} events were recorded, {seq + len(rows)} are in the store"
            raise ReplayDivergence(f"run {self.run}: {recorded}; {_MEND}", code="log.incomplete")

    def catch_up(self) -> Run:
        """Read the events since the last call, and return the run's record."""
        for _ in self.moves():
            pass
        return self.record


class ViewFiles:
    """The view files of one run. Unchanged instances are skipped."""

    def __init__(self, folder: Path, payloads: Payloads) -> None:
        self._folder, self._payloads = folder / FOLDER, payloads
        self._seen: dict[str, Instance] = {}
        self._shown: dict[str, tuple[str, str]] = {}
        """Path → the instance with a view there, and its text."""

    def show(self, protocol: Protocol, state: State) -> None:
        """Update the files; a failed write stops nothing, because a view can be made again at any time."""
        if not has_views(protocol):
            return
        for id_, inst in state.insts.items():
            if self._seen.get(id_) is not inst:
                self._seen[id_] = inst
                with suppress(OSError, PortError):
                    for path, text in artifact_files(protocol, inst, self._payloads.get).items():
                        self._put(path, text, id_)

    def _put(self, path: str, text: str, owner: str) -> None:
        """Write a view, or remove an empty one; an instance removes only its own or an earlier process's views."""
        before = self._shown.get(path, (owner, ""))
        if text and before != (owner, text):
            _write(self._folder / path, text)
            self._shown[path] = owner, text
        elif not text and before[0] == owner:
            (self._folder / path).unlink(missing_ok=True)
            self._shown[path] = owner, ""


def bundle_files(texts: Mapping[str, str]) -> dict[str, bytes]:
    """Return files (path → text) for the bundle of an agent; empty ones are left out."""
    return {f"{FOLDER}/{path}": text.encode(errors="replace") for path, text in texts.items() if text}


def write_all(folder: Path, texts: Mapping[str, str], written: dict[str, str]) -> None:
    """Write the changed files and record them; a failed write is retried the next time."""
    for path, text in texts.items():
        if written.get(path) != text:
            with suppress(OSError):
                _write(folder / path, text)
                written[path] = text


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path.parent, path.name, text.encode(errors="replace"))


# Writes the memory bank of a run after every change: below the run's folder, and in the user's checkout.
#
# Nothing ever reads these files back. A user's change in the checkout stays as it is, and is reported.

_LEFT: Final = "differs from what Treadle wrote: Treadle neither reads nor overwrites it"
BLOCKED: Final = "cannot be written: a link or something else stands in its way"


class BankFiles:
    """The memory bank of one run, always as of the last recorded event."""

    def __init__(self, log: GrowingLog, folder: Path, root: Path | None) -> None:
        """`root` is the user's checkout; None: there is none."""
        self._log, self._folder, self._root = log, folder / FOLDER, root
        self._written: dict[str, str] = {}
        self._placed: dict[str, str] = {}
        self._reported: set[tuple[str, str]] = set()

    def show(self, protocol: Protocol) -> list[str]:
        """Update the files; return the user's own files in their place, each reported once."""
        if not has_bank(protocol):
            return []
        with suppress(PortError, ReplayDivergence):
            texts = self.texts()
            write_all(self._folder, texts, self._written)
            return self._place(texts)
        return []

    def texts(self) -> Mapping[str, str]:
        """Return path → text."""
        self._log.catch_up()
        return bank(self._log, self._log.store.payloads.get)

    def _place(self, texts: Mapping[str, str]) -> list[str]:
        """Write the changed files to the user's checkout, which shows the bank of the latest run that has one."""
        changed = {path: text for path, text in texts.items() if self._placed.get(path) != text}
        if self._root is None or not changed:
            return []
        for run in self._log.store.runs():  # the latest first
            if run.id == self._log.run:
                break
            if has_bank(self._log.store.protocol(run.protocol)):
                return []
        reports: list[str] = []
        for path, text in changed.items():
            with suppress(OSError, PortError):
                if write_unless_foreign(self._root, path, text.encode(errors="replace"), is_foreign):
                    self._placed[path] = text
                    continue
            there = read_plain_file(self._root, path)
            mark = path, sha256(there or b"").hexdigest()
            if mark not in self._reported:
                self._reported.add(mark)
                reports.append(f"{path} {BLOCKED if there is None else _LEFT}")
        return reports


def is_foreign(data: bytes) -> bool:
    """Whether a file was not made from the log of a run, or was changed since."""
    return not run_of(data.decode(errors="replace"))
