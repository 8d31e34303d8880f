"""Who has which slot: a note beside each one, taken by nobody else while it is there."""

import os
from collections.abc import Callable
from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from typing import Final

import msgspec

from treadle.errors import PortError, writing
from treadle.git.own_folder import put
from treadle.git.slots import Slot

_MOST: Final = 4096


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """Whose lane a slot is, and what was handed out last. Without an activity, its contents are nobody's."""

    run: str
    inst: str
    lane: str
    act: str = ""
    step: str = ""
    base: str = ""
    """The commit that the lane was at when it was handed out."""
    onto: str = ""
    """The commit that its work will stand on; another one than the base while a conflict is being resolved."""
    hidden: tuple[str, ...] = ()
    alone: bool = False

    @property
    def key(self) -> tuple[str, str, str]:
        return self.run, self.inst, self.lane


_Note = tuple[tuple[int, ...], tuple[Slot, Lease]]
"""What a note says, and what tells whether it is still the same."""


class Leases:
    """The slots of a project's lanes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[str, _Note] = {}

    def all(self) -> list[tuple[Slot, Lease]]:
        """Every slot that somebody has; only notes that were written since the last look are read."""
        try:
            with os.scandir(self._folder) as entries:
                notes = [entry for entry in entries if entry.name.startswith("lane-") and entry.name.endswith(".json")]
        except FileNotFoundError:
            return []
        read: dict[str, _Note] = {}
        for entry in sorted(notes, key=attrgetter("name")):
            with suppress(OSError, msgspec.DecodeError):
                stamp, known = _stamp(entry.stat(follow_symlinks=False)), self._read.get(entry.name)
                read[entry.name] = known if known and known[0] == stamp else (stamp, _held(Path(entry.path)))
        self._read = read
        return [held for _, held in read.values()]

    def find(self, run: str, act: str) -> tuple[Slot, Lease] | None:
        """The slot that an activity was given."""
        return self._look(lambda one: one.run == run and one.act == act)

    def take(self, run: str, inst: str, lane: str) -> tuple[Slot, Lease]:
        """The slot of a lane: the one it has, or one that nobody has."""
        if found := self._look(lambda one: one.key == (run, inst, lane)):
            return found
        lease = Lease(run=run, inst=inst, lane=lane)
        with writing(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            for n in range(1, _MOST):
                slot = Slot(self._folder / f"lane-{n}")
                if _note(slot).name not in self._read and self._taken(slot, lease):
                    return slot, lease
        raise PortError(f"{self._folder} has no room for another lane; end some runs", code="git.no_room")

    def _look(self, is_wanted: Callable[[Lease], bool]) -> tuple[Slot, Lease] | None:
        """The slot whose note says something: the note that said it last, if it is still the same, or any."""
        for name, (stamp, held) in list(self._read.items()):
            if is_wanted(held[1]):
                with suppress(OSError):
                    if _stamp((self._folder / name).lstat()) == stamp:
                        return held
        return next((held for held in self.all() if is_wanted(held[1])), None)

    def _taken(self, slot: Slot, lease: Lease) -> bool:
        note = _note(slot)
        if note.exists():
            return False
        draft = note.with_name(f".{note.name}.{os.getpid()}.{os.urandom(4).hex()}")
        try:
            draft.write_bytes(msgspec.json.encode(lease))
            os.link(draft, note)  # fails if another process was faster
        except FileExistsError:
            return False
        finally:
            draft.unlink(missing_ok=True)
        return True

    def write(self, slot: Slot, lease: Lease) -> None:
        """Note what a slot was handed out for."""
        note = _note(slot)
        with writing(note):
            put(note, msgspec.json.encode(lease).decode())
        with suppress(OSError, msgspec.DecodeError):
            self._read[note.name] = _stamp(note.lstat()), _held(note)

    def give_back(self, slot: Slot) -> None:
        """The slot is anybody's."""
        with writing(_note(slot)):
            _note(slot).unlink(missing_ok=True)


def _stamp(state: os.stat_result) -> tuple[int, ...]:
    """What tells whether a note was written anew: each time, it is another file."""
    return state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns


def _held(note: Path) -> tuple[Slot, Lease]:
    return Slot(note.with_suffix("")), msgspec.json.decode(note.read_bytes(), type=Lease)


def _note(slot: Slot) -> Path:
    return slot.path.with_name(f"{slot.path.name}.json")
