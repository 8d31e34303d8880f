"""Who has which slot: a note beside each one, taken by nobody else while it is there."""

import os
from contextlib import suppress
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


class Leases:
    """The slots of a project's lanes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def all(self) -> list[tuple[Slot, Lease]]:
        """Every slot that somebody has."""
        found: list[tuple[Slot, Lease]] = []
        for path in sorted(self._folder.glob("lane-*.json")):
            with suppress(OSError, msgspec.DecodeError):
                lease = msgspec.json.decode(path.read_bytes(), type=Lease)
                found.append((Slot(path.with_suffix("")), lease))
        return found

    def find(self, run: str, act: str) -> tuple[Slot, Lease] | None:
        """The slot that an activity was given."""
        return next(((slot, one) for slot, one in self.all() if one.run == run and one.act == act), None)

    def take(self, run: str, inst: str, lane: str) -> tuple[Slot, Lease]:
        """The slot of a lane: the one it has, or one that nobody has."""
        for slot, lease in self.all():
            if lease.key == (run, inst, lane):
                return slot, lease
        lease = Lease(run=run, inst=inst, lane=lane)
        with writing(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            for n in range(1, _MOST):
                slot = Slot(self._folder / f"lane-{n}")
                if self._taken(slot, lease):
                    return slot, lease
        raise PortError(f"{self._folder} has no room for another lane; end some runs")

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
        with writing(_note(slot)):
            put(_note(slot), msgspec.json.encode(lease).decode())

    def give_back(self, slot: Slot) -> None:
        """The slot is anybody's."""
        with writing(_note(slot)):
            _note(slot).unlink(missing_ok=True)


def _note(slot: Slot) -> Path:
    return slot.path.with_name(f"{slot.path.name}.json")
