"""Writes the files of a run's stories whenever it has moved: below the run's folder, and in the user's checkout.

They are in a form that is somebody else's, so they bear no seal: what Treadle has written last is noted apart. What
somebody has made of one of them is kept, told, and never obeyed; the file itself says again what the log says.
"""

from collections.abc import Mapping
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from treadle.errors import PortError, ReplayDivergence
from treadle.git.users_files import look_at, put_unless
from treadle.kernel.replay import Row
from treadle.protocol.items import Json
from treadle.protocol.model import Protocol
from treadle.results.files import look, replace
from treadle.runtime.dispatch import folder_name
from treadle.runtime.placed import Placed
from treadle.runtime.view_files import FOLDER, write_all
from treadle.store.sqlite import Store
from treadle.views.bank.course import Course
from treadle.views.story_files import HISTORY, files_of, has_story_files, story_files
from treadle.views.tampering import difference

_ODD: Final = "cannot be written: a link or something else stands in its way"
_TITLE: Final = "# History\n\nWhat was done, story by story; made from the logs of the runs.\n\n"
_PAYLOADS: Final = 512
_Stamp = tuple[int, ...]


class StoryFiles:
    """The files of one run's stories, always as of the last event that was recorded."""

    def __init__(self, store: Store, run: str, folder: Path, root: Path | None, local: Path) -> None:
        """`root` is the user's checkout; None: there is none."""
        self._store, self._run, self._folder, self._root = store, run, folder / FOLDER, root
        self._placed, self._local = Placed(local), local
        self._course = Course(cache(store.protocol))
        self._get = lru_cache(_PAYLOADS)(self._payload)
        self._written: dict[str, str] = {}
        self._left: dict[str, tuple[str, _Stamp]] = {}
        """Path → what was put there in the checkout, and what tells whether it has been touched since."""
        self._told: set[str] = set()
        self._handed_over = False

    def show(self, protocol: Protocol) -> list[str]:
        """Bring the files up to date; what somebody else has made of them, told once."""
        if not has_story_files(protocol):
            return []
        with suppress(PortError, ReplayDivergence):
            texts = self.texts()
            write_all(self._folder, texts, self._written)
            return self._place(protocol, texts) or self._hand_over(protocol, texts)
        return []

    def _hand_over(self, protocol: Protocol, texts: Mapping[str, str]) -> list[str]:
        """Let the checkout show another run from now on, if this one has ended and that one goes on."""
        other = self._foremost()
        if not self._course.state.outcome or other in ("", self._run) or self._handed_over:
            return []
        self._handed_over = True
        for path in texts.keys() & _histories(protocol):
            self._keep(path, texts[path])
        files = StoryFiles(self._store, other, self._folder.parents[1] / other, self._root, self._local)
        return files.show(self._store.protocol(self._store.run(other).protocol))

    def texts(self) -> Mapping[str, str]:
        """Path → text."""
        self._catch_up()
        return story_files(self._course, self._get)

    def of_instance(self, inst: str) -> Mapping[str, str]:
        """Path → text, for whoever works in an instance."""
        self._catch_up()
        return files_of(self._course, inst, self._get)

    def changed(self, protocol: Protocol) -> list[str]:
        """What somebody has made of the files in the checkout since they were written; nothing is changed by it."""
        root = self._root
        if root is None or not has_story_files(protocol) or not self._suspects(root) or not self._is_foremost():
            return []
        shown, found = self._shown(protocol, self.texts()), []
        for path in self._suspects(root):
            there = look_at(root, path)
            if path in shown and there is not None and there != shown[path].encode():
                found.append(_words(path, difference(path, there, shown[path])))
        return found

    def _suspects(self, root: Path) -> list[str]:
        """Files that are not as they were written."""
        files = {path: look_at(root, path) for path in self._placed.paths()}
        return [path for path, there in files.items() if there is not None and not self._placed.is_ours(path, there)]

    def _payload(self, ref: str) -> Json:
        return self._store.payloads.get(ref)

    def _catch_up(self) -> None:
        rows: list[Row] = self._store.tail(self._run, self._course.state.seq)[1]
        for body, _ in rows:
            self._course.take(body)

    def _place(self, protocol: Protocol, texts: Mapping[str, str]) -> list[str]:
        root = self._root
        if root is None:
            return []
        due = {it: text for it, text in texts.items() if self._left.get(it) != (text, _stamp(root / it))}
        if not due or not self._is_foremost():
            return []
        for path in due.keys() & _histories(protocol):
            self._keep(path, due[path])
        told = [self._put(root, path, text) for path, text in self._shown(protocol, due).items()]
        self._left |= {path: (text, _stamp(root / path)) for path, text in due.items()}
        return [one for one in told if one]

    def _put(self, root: Path, path: str, text: str) -> str:
        data, told = text.encode(errors="replace"), ""
        with suppress(OSError, PortError):
            there = look_at(root, path)
            if there is not None and there != data and not self._placed.is_ours(path, there):
                kept = self._placed.keep(path, there)
                told = f"{_words(path, difference(path, there, text))}; what was there is kept in {self._near(kept)}"
            self._placed.note(path, data)
            if there == data or put_unless(root, path, data, lambda now: now != there):
                return self._once(told)
        return self._once(f"{path} {_ODD}")

    def _near(self, path: Path) -> str:
        return str(path.relative_to(self._root)) if self._root and path.is_relative_to(self._root) else str(path)

    def _once(self, told: str) -> str:
        if told in self._told:
            return ""
        self._told.add(told)
        return told

    def _shown(self, protocol: Protocol, texts: Mapping[str, str]) -> dict[str, str]:
        """The files as the checkout has them: the history is that of all runs."""
        paths = _histories(protocol)
        return {path: self._whole(path, text) if path in paths else text for path, text in texts.items()}

    def _whole(self, path: str, own: str) -> str:
        """The newest run first."""
        folder, name = self._chapter(path)
        names = [it.name for it in folder.iterdir() if it.suffix == ".md"] if folder.is_dir() else []
        found = {it: look(folder, it) for it in names} | {name: own.encode(errors="replace")}
        texts = [found[it] for it in sorted(found, reverse=True)]
        return _TITLE + "\n".join(it.decode(errors="replace") for it in texts if isinstance(it, bytes))

    def _keep(self, path: str, own: str) -> None:
        """Keep what a run has to tell apart from it, for it may be forgotten one day."""
        folder, name = self._chapter(path)
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            replace(folder, name, own.encode(errors="replace"))

    def _chapter(self, path: str) -> tuple[Path, str]:
        created = self._store.run(self._run).created
        return self._local / HISTORY / folder_name(path), f"{created:015d}-{folder_name(self._run)}.md"

    def _is_foremost(self) -> bool:
        return self._foremost() == self._run

    def _foremost(self) -> str:
        """The run that the checkout shows: the latest with such files, one that has not ended before the others."""
        runs = [run for run in self._store.runs() if has_story_files(self._store.protocol(run.protocol))]
        live = [run for run in runs if not run.outcome]
        return next((run.id for run in live or runs), "")


def _histories(protocol: Protocol) -> set[str]:
    return {artifact.path for artifact in protocol.artifacts.values() if artifact.view == HISTORY}


def _stamp(path: Path) -> "_Stamp":
    """What changes whenever a file is written."""
    try:
        about = path.lstat()
    except OSError:
        return ()
    return about.st_mtime_ns, about.st_ctime_ns, about.st_size, about.st_ino


def _words(path: str, how: str) -> str:
    return f"{path} was changed by somebody, or is somebody's own{f' ({how})' if how else ''}: nothing obeys it"
