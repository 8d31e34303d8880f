"""Writes the files of a run's stories after every change: below the run's folder, and in the user's checkout.

Their format is foreign, so they contain no seal; a separate record has the digests of the last written versions. A
user's change to such a file is saved and reported but never obeyed: the file is restored from the log.
"""

from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final

from treadle.errors import PortError, ReplayDivergence
from treadle.git.files import read_plain_file, write_unless_foreign
from treadle.protocol.model import Protocol
from treadle.results.intake import read_file, replace_file
from treadle.runtime.dispatch import folder_name
from treadle.runtime.placed_files import PlacedFiles
from treadle.runtime.view_files import BLOCKED, FOLDER, GrowingLog, write_all
from treadle.views.story_files import HISTORY, files_of, has_story_files, story_files
from treadle.views.work_order import difference

_TITLE: Final = "# History\n\nWhat was done, story by story; made from the logs of the runs.\n\n"
_PAYLOADS: Final = 512


class StoryFiles:
    """The files of one run's stories, always as of the last recorded event."""

    def __init__(self, log: GrowingLog, folder: Path, root: Path | None, local: Path) -> None:
        """`root` is the user's checkout; None: there is none."""
        self._log, self._folder, self._root = log, folder / FOLDER, root
        self._store, self._run = log.store, log.run
        self._placed, self._local = PlacedFiles(local), local
        self._get = lru_cache(_PAYLOADS)(self._store.payloads.get)
        self._written: dict[str, str] = {}
        self._left: dict[str, tuple[str, tuple[int, ...]]] = {}
        """Path → the text written to the checkout, and a stamp that shows later changes."""
        self._reported: set[str] = set()
        self._handed_over = False

    def show(self, protocol: Protocol) -> list[str]:
        """Update the files; return changes by others, each reported once."""
        if not has_story_files(protocol):
            return []
        with suppress(PortError, ReplayDivergence):
            texts = self.texts()
            write_all(self._folder, texts, self._written)
            if reports := self._place(protocol, texts):
                return reports
            # After the end of this run, the checkout shows another unfinished one.
            other = self._foremost()
            if self._log.state.outcome and other not in ("", self._run) and not self._handed_over:
                self._handed_over = True
                for path in texts.keys() & _histories(protocol):
                    self._store_chapter(path, texts[path])
                log = GrowingLog(self._store, other)
                files = StoryFiles(log, self._folder.parents[1] / other, self._root, self._local)
                return files.show(self._store.protocol(self._store.run(other).protocol))
        return []

    def texts(self) -> Mapping[str, str]:
        """Return path → text."""
        self._log.catch_up()
        return story_files(self._log, self._get)

    def of_instance(self, inst: str) -> Mapping[str, str]:
        """Return path → text for the agents of an instance."""
        self._log.catch_up()
        return files_of(self._log, inst, self._get)

    def changed(self, protocol: Protocol) -> list[str]:
        """Return the changes by others to the files in the checkout since they were written; read-only."""
        root = self._root
        if root is None or not has_story_files(protocol) or not self._suspects(root) or not self._is_foremost():
            return []
        shown, changes = self._checkout_texts(protocol, self.texts()), []
        for path in self._suspects(root):
            there = read_plain_file(root, path)
            if path in shown and there is not None and there != shown[path].encode():
                changes.append(_describe_change(path, difference(path, there, shown[path])))
        return changes

    def _suspects(self, root: Path) -> list[str]:
        """Return the files that differ from their last written version."""
        files = {path: read_plain_file(root, path) for path in self._placed.paths()}
        return [path for path, there in files.items() if there is not None and not self._placed.is_ours(path, there)]

    def _place(self, protocol: Protocol, texts: Mapping[str, str]) -> list[str]:
        root = self._root
        if root is None:
            return []
        due = {it: text for it, text in texts.items() if self._left.get(it) != (text, _stamp(root / it))}
        if not due or not self._is_foremost():
            return []
        for path in due.keys() & _histories(protocol):
            self._store_chapter(path, due[path])
        reports = [self._put(root, path, text) for path, text in self._checkout_texts(protocol, due).items()]
        self._left |= {path: (text, _stamp(root / path)) for path, text in due.items()}
        fresh = [one for one in dict.fromkeys(reports) if one and one not in self._reported]
        self._reported.update(fresh)
        return fresh

    def _put(self, root: Path, path: str, text: str) -> str:
        """Write a file to the checkout, after saving a foreign one in its place; return a report, if any."""
        data, report = text.encode(errors="replace"), ""
        with suppress(OSError, PortError):
            there = read_plain_file(root, path)
            if there is not None and there != data and not self._placed.is_ours(path, there):
                kept = self._placed.keep(path, there)
                near = kept.relative_to(root) if kept.is_relative_to(root) else kept
                report = f"{_describe_change(path, difference(path, there, text))}; the changed file is kept in {near}"
            # Noted before it is written: a kill in between must not make our own file look foreign.
            self._placed.note(path, data)
            if there == data or write_unless_foreign(root, path, data, lambda now: now != there):
                return report
        return f"{path} {BLOCKED}"

    def _checkout_texts(self, protocol: Protocol, texts: Mapping[str, str]) -> dict[str, str]:
        """Return the files for the checkout: its history covers all runs, the newest first."""
        shown = dict(texts)
        for path in texts.keys() & _histories(protocol):
            folder, name = self._chapter(path)
            names = [it.name for it in folder.iterdir() if it.suffix == ".md"] if folder.is_dir() else []
            chapters = {it: read_file(folder, it) for it in names} | {name: texts[path].encode(errors="replace")}
            newest_first = [chapters[it] for it in sorted(chapters, reverse=True)]
            shown[path] = _TITLE + "\n".join(
                it.decode(errors="replace") for it in newest_first if isinstance(it, bytes)
            )
        return shown

    def _store_chapter(self, path: str, own: str) -> None:
        """Store a run's chapter of the history outside the run, because the run may be removed one day."""
        folder, name = self._chapter(path)
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            replace_file(folder, name, own.encode(errors="replace"))

    def _chapter(self, path: str) -> tuple[Path, str]:
        created = self._store.run(self._run).created
        return self._local / HISTORY / folder_name(path), f"{created:015d}-{folder_name(self._run)}.md"

    def _is_foremost(self) -> bool:
        return self._foremost() == self._run

    def _foremost(self) -> str:
        """Return the run that the checkout shows: the latest with story files, unfinished runs first."""
        runs = [run for run in self._store.runs() if has_story_files(self._store.protocol(run.protocol))]
        live = [run for run in runs if not run.outcome]
        return next((run.id for run in live or runs), "")


def _histories(protocol: Protocol) -> set[str]:
    return {artifact.path for artifact in protocol.artifacts.values() if artifact.view == HISTORY}


def _stamp(path: Path) -> tuple[int, ...]:
    """Return the file attributes that change with every write."""
    try:
        about = path.lstat()
    except OSError:
        return ()
    return about.st_mtime_ns, about.st_ctime_ns, about.st_size, about.st_ino


def _describe_change(path: str, how: str) -> str:
    return f"{path} differs from what Treadle wrote{f' ({how})' if how else ''}: Treadle ignores the changes"
