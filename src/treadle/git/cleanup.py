"""What is left of a run in the repository, and how it is removed."""

import asyncio
import fcntl
import os
from pathlib import Path

from treadle.git.lanes import Lanes
from treadle.git.slots import Slot, remove


async def forget(lanes: Lanes, run: str, *, keep: str = "") -> list[str]:
    """Give the lanes of a run back and delete its refs, except for one that is kept."""
    await lanes.close(run)
    names, refs = lanes.integration.names(run), lanes.integration.refs
    found = [ref for ref in await refs.below(*names.spaces) if ref != keep]
    await refs.delete(*found)
    return found


async def remove_spare(folder: Path) -> list[Path]:
    """Delete the slots that nobody has, and their files; the next lane will have to be made anew."""
    return await asyncio.to_thread(_remove_spare, folder)


def _remove_spare(folder: Path) -> list[Path]:
    removed: list[Path] = []
    for path in sorted(folder.glob("lane-*")) + sorted(folder.glob("check-*")):
        is_slot = path.is_dir() and not path.is_symlink() and "." not in path.name
        if is_slot and not path.with_name(f"{path.name}.json").exists() and _is_idle(path):
            remove(path)
            Slot(path).index.unlink(missing_ok=True)
            Slot(path).taken.unlink(missing_ok=True)
            removed.append(path)
    return removed


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
