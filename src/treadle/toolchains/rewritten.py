"""Test files that somebody rewrites while tests run: what is collected then is not what was handed over."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from treadle.protocol.test_paths import TestPaths

Stamps = dict[str, tuple[int, int, int]]
_DECIDING: Final = (".py", ".ini", ".toml", ".cfg")
"""Of data and snapshots that tests keep beside them, they may write what they like."""
_PASSED_OVER: Final = frozenset({".git", ".treadle", "node_modules", ".venv", "__pycache__"})


def stamps(checkout: Path) -> Stamps:
    """The test files of a checkout, each with what changes whenever it is written; nobody can set the last of it."""
    paths, found = TestPaths(), Stamps()
    for folder, folders, files in os.walk(checkout):
        folders[:] = [name for name in folders if name not in _PASSED_OVER]
        for file in files:
            place = Path(folder, file)
            name = place.relative_to(checkout).as_posix() if file.endswith(_DECIDING) else ""
            if name and paths.is_test(name):
                with suppress(FileNotFoundError):
                    stat = place.lstat()
                    found[name] = (stat.st_ino, stat.st_size, stat.st_ctime_ns)
    return found


def rewritten(checkout: Path, before: Stamps) -> list[str]:
    """Test files that were there before and are not as they were."""
    after = stamps(checkout)
    return [f"{name} was rewritten while the tests ran" for name in sorted(before) if after.get(name) != before[name]]
