"""The files that a protocol brings into a project: what lies in the folder `project/` beside its `protocol.yaml`.

They are data: copied as they are, to the same places below the project's root, and never over a file that is there.
"""

import re
from pathlib import Path
from typing import Final

from treadle.errors import ProtocolError

FOLDER: Final = "project"
_MAX_FILES: Final = 100
_MAX_FILE: Final = 200_000
_NAME: Final = re.compile(r"\.?[A-Za-z0-9_][A-Za-z0-9_.-]*")
_NEVER: Final = frozenset({".git", ".treadle", "treadle.toml"})


def own_files(protocol: Path) -> dict[str, str]:
    """Path below the project's root → text, of a protocol's folder."""
    home = protocol / FOLDER
    files = [path for path in sorted(home.rglob("*")) if path.is_symlink() or not path.is_dir()]
    if len(files) > _MAX_FILES:
        raise ProtocolError(
            f"{home} has {len(files)} files; a protocol may bring {_MAX_FILES} at most", code="protocol.own_files"
        )
    return {path.relative_to(home).as_posix(): _text(path, home) for path in files}


def _text(path: Path, home: Path) -> str:
    parts = path.relative_to(home).parts
    if not all(_NAME.fullmatch(part) for part in parts) or parts[0] in _NEVER:
        raise ProtocolError(
            f"{str(path)!a}: a protocol may not bring a file of this name into a project", code="protocol.own_files"
        )
    if path.is_symlink() or not path.is_file() or path.stat().st_size > _MAX_FILE:
        raise ProtocolError(
            f"{path}: a protocol may bring only plain files of {_MAX_FILE} bytes at most", code="protocol.own_files"
        )
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ProtocolError(f"{path} is not UTF-8; save it as UTF-8", code="file.encoding") from None
