"""Test files that somebody rewrites while tests run: what is collected then is not what was handed over."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from treadle.git.folders import held
from treadle.protocol.test_paths import is_test

Stamps = dict[str, tuple[int, int, int]]
_DECIDING: Final = (".py", ".ini", ".toml", ".cfg")
"""Of data and snapshots that tests keep beside them, they may write what they like."""
_PASSED_OVER: Final = frozenset({".git", ".treadle", "node_modules", ".venv", "__pycache__"})


def stamps(checkout: Path) -> Stamps:
    """The test files of a checkout, each with what changes whenever it is written; nobody can set the last of it."""
    return _stamped(str(checkout), _test_files(str(checkout)))


def rewritten(checkout: Path, before: Stamps) -> list[str]:
    """Test files that were there before and are not as they were."""
    after = _stamped(str(checkout), before)
    return [f"{name} was rewritten while the tests ran" for name in sorted(before) if after.get(name) != before[name]]


def _test_files(root: str) -> Iterator[str]:
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        with suppress(OSError):  # a folder that may not be read
            found = held(f"{root}/{prefix}".rstrip("/"), prefix)
            waiting += [f"{prefix}{name}/" for name in found.folders if name not in _PASSED_OVER]
            yield from (path for path in found.files if path.endswith(_DECIDING) and is_test(path))


def _stamped(root: str, names: Iterable[str]) -> Stamps:
    found = Stamps()
    for name in names:
        with suppress(OSError):  # it is gone, or what was a folder is none now
            stat = os.lstat(f"{root}/{name}")
            found[name] = (stat.st_ino, stat.st_size, stat.st_ctime_ns)
    return found
