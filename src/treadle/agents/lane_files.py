"""Changes to the files of a lane that Treadle makes for an agent, such as a script; no path can lead out of it."""

import os
import stat
from pathlib import Path

from treadle.errors import PortError
from treadle.protocol.paths import clean_path, path_fault


class LaneFiles:
    """The files of one lane. Every change is idempotent, except `append`."""

    def __init__(self, lane: Path) -> None:
        self.lane = lane

    def write(self, path: str, text: str) -> None:
        """Replace a file, or make one with the folders above it; it stays executable if it was."""
        self._put(path, text, os.O_TRUNC)

    def append(self, path: str, text: str) -> None:
        """Add to the end of a file."""
        self._put(path, text, os.O_APPEND)

    def rename(self, path: str, to: str) -> None:
        """Give a file another name; nothing happens if that has been done."""
        old, new = self._place(path), self._place(to)
        if not os.path.lexists(old):
            if os.path.lexists(new):
                return
            raise PortError(f"'{path}' cannot be renamed: it does not exist", code="agent.path")
        new.parent.mkdir(parents=True, exist_ok=True)
        old.replace(new)

    def delete(self, path: str) -> None:
        """Remove a file, if it is there."""
        self._place(path).unlink(missing_ok=True)

    def make_executable(self, path: str) -> None:
        """Set the executable bits of a file that is there."""
        place = self._place(path)
        if place.is_symlink() or not place.is_file():
            raise PortError(f"'{path}' cannot be made executable: it is not a file", code="agent.path")
        place.chmod(stat.S_IMODE(place.stat().st_mode) | 0o111)

    def _put(self, path: str, text: str, how: int) -> None:
        place = self._place(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.is_symlink():
            place.unlink()
        file = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | how, 0o666)
        with os.fdopen(file, "wb") as opened:
            opened.write(text.encode())

    def _place(self, path: str) -> Path:
        if fault := path_fault(path):
            raise PortError(f"the path '{path[:80]}' {fault}", code="agent.path")
        place = self.lane / clean_path(path)
        lane = self.lane.resolve()
        if not place.parent.resolve().is_relative_to(lane):
            raise PortError(f"the path '{path}' leads out of the lane through a link", code="agent.path")
        return place
