"""What is left of a run in the repository, and how it is removed."""

import asyncio
import fcntl
import os
from contextlib import suppress
from pathlib import Path

import msgspec

from treadle.git.lanes import Lanes
from treadle.git.slots import Slot, remove


async def forget(lanes: Lanes, run: str, *, keep: str = "") -> list[str]:
    """Give the lanes of a run back and delete its refs, except for one that is kept."""
    await lanes.close(run)
    names, refs = lanes.integration.names(run), lanes.integration.refs
    found = [ref for ref in await refs.below(*names.spaces) if ref != keep]
    await refs.delete(*found)
    return found


class Spare(msgspec.Struct, frozen=True):
    """Slots that no run had, and the bytes in them."""

    paths: tuple[Path, ...] = ()
    bytes: int = 0


async def remove_spare(folder: Path, *, dry: bool = False) -> Spare:
    """Delete the slots that no run has, and their files; the next lane will have to be made anew."""
    return await asyncio.to_thread(_remove_spare, folder, dry=dry)


def _remove_spare(folder: Path, *, dry: bool) -> Spare:
    removed: list[Path] = []
    size = 0
    for path in sorted(folder.glob("lane-*")) + sorted(folder.glob("check-*")):
        is_slot = path.is_dir() and not path.is_symlink() and "." not in path.name
        if is_slot and not path.with_name(f"{path.name}.json").exists() and _is_idle(path):
            slot = Slot(path)
            parts = (path, slot.index, slot.taken)
            size += sum(weight(one) for one in parts)
            removed.append(path)
            for one in () if dry else parts:
                remove(one)
    return Spare(tuple(removed), size)


def weight(path: Path) -> int:
    """Bytes of a file or a folder; links are not followed."""
    with suppress(OSError):
        if path.is_symlink() or not path.is_dir():
            return path.lstat().st_size
        return sum(weight(inner) for inner in path.iterdir())
    return 0


def _is_idle(path: Path) -> bool:
    lock = path.with_name(f"{path.name}.lock")
    if not lock.exists():
        return True
    handle = os.open(lock, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(handle)
    return True
