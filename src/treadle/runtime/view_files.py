"""Writes the files that are views of a run, whenever what they show has changed. Nothing ever reads them back."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from treadle.errors import PortError
from treadle.kernel.state import Instance, State
from treadle.ports import Payloads
from treadle.protocol.model import Protocol
from treadle.results.files import replace
from treadle.views.artifact_files import artifact_files, has_views

FOLDER: Final = "files"
"""Below the folder of a run, and in the bundle of each of its agents."""


class ViewFiles:
    """The files of one run. Instances that have not changed are not looked at again."""

    def __init__(self, folder: Path, payloads: Payloads) -> None:
        self._folder, self._payloads = folder / FOLDER, payloads
        self._seen: dict[str, Instance] = {}
        self._shown: dict[str, tuple[str, str]] = {}
        """Path → the instance that shows something there, and what."""

    def show(self, protocol: Protocol, state: State) -> None:
        """Bring the files up to date; one that cannot be written can be made again at any time, and stops nothing."""
        if not has_views(protocol):
            return
        for id_, inst in state.insts.items():
            if self._seen.get(id_) is not inst:
                self._seen[id_] = inst
                with suppress(OSError, PortError):
                    for path, text in artifact_files(protocol, state, inst, self._payloads.get).items():
                        self._put(path, text, id_)

    def _put(self, path: str, text: str, owner: str) -> None:
        """An instance that has nothing to show takes away only what it has shown itself, or an earlier process has."""
        before = self._shown.get(path, (owner, ""))
        if text and before != (owner, text):
            goal = self._folder / path
            goal.parent.mkdir(parents=True, exist_ok=True)
            replace(goal.parent, goal.name, text.encode(errors="replace"))
            self._shown[path] = owner, text
        elif not text and before[0] == owner:
            (self._folder / path).unlink(missing_ok=True)
            self._shown[path] = owner, ""


def shown(protocol: Protocol, state: State, inst: Instance, payloads: Payloads) -> dict[str, bytes]:
    """The files of an instance as its agents find them in their bundle."""
    texts = artifact_files(protocol, state, inst, payloads.get)
    return {f"{FOLDER}/{path}": text.encode(errors="replace") for path, text in texts.items() if text}


def write_all(folder: Path, texts: Mapping[str, str], written: dict[str, str]) -> None:
    """Write what has changed since, and note it; what cannot be written is tried again the next time."""
    for path, text in texts.items():
        if written.get(path) != text:
            with suppress(OSError):
                goal = folder / path
                goal.parent.mkdir(parents=True, exist_ok=True)
                replace(goal.parent, goal.name, text.encode(errors="replace"))
                written[path] = text
