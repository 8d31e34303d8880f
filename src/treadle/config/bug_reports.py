"""Reports of bugs in Treadle: the traceback goes into a file of the project, and a message names that file."""

import hashlib
import platform
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Final

from treadle import __version__

_ADDRESSEE: Final = "the maintainers of Treadle"
_MOST: Final = 200_000
"""Characters of a traceback; that of an endless recursion is cut by Python itself."""


class BugReports:
    """A folder of reports. The same bug, met again by a retry, is one report."""

    def __init__(self, folder: Path | None = None) -> None:
        """Without a folder, no report is written, and messages name none."""
        self._folder = folder

    def describe(self, error: Exception, where: str) -> str:
        """Write a report of an unexpected exception, and return the message about it for people."""
        what = f"this is a bug in Treadle, in {where}: {type(error).__name__}: {error}"
        trace = "".join(traceback.format_exception(error))[-_MOST:]
        told = f"{what}\nTreadle {__version__}, Python {platform.python_version()}, {platform.platform()}\n\n{trace}"
        file = self._write(told, trace)
        place = f"; its details are in {file}" if file else ""
        return f"{what}{place}. No attempt was charged: report it to {_ADDRESSEE}{', with that file' if file else ''}"

    def _write(self, text: str, trace: str) -> Path | None:
        if self._folder is None:
            return None
        file = self._folder / f"{hashlib.sha256(trace.encode(errors='replace')).hexdigest()[:12]}.txt"
        with suppress(OSError):  # a full disk must not hide the bug itself
            self._folder.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", errors="replace")
            return file
        return None


NO_REPORTS: Final = BugReports()
