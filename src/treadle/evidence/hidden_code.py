"""Finds files of the work with code that no reader sees: odd encodings, archives, byte code and compiled modules.

Python imports all of them. An honest change has them seldom: a wheel or a library belongs to the environment, and
byte code lies beside its source, where a new checkout does not use it.
"""

import io
import zipfile
from collections.abc import Collection
from pathlib import PurePosixPath
from typing import Final

from treadle.evidence.attributes import changing_attributes
from treadle.evidence.findings import CheckProblem, problem
from treadle.evidence.source_text import encoding_fault, is_python
from treadle.evidence.subject import Subject
from treadle.git.api.languages import is_understood

_COMPILED: Final = frozenset({".so", ".pyd", ".dylib", ".dll"})
_BYTE_CODE: Final = frozenset({".pyc", ".pyo"})
_IMPORTABLE: Final = (".py", ".pyc", ".pyo", ".so", ".pyd")
_LARGEST: Final = 50_000_000
_ENCODING: Final = "UTF-8 or Latin-1"
_BINARY: Final = "the source of this code; if a tool has made the file, name it in .gitignore and remove it"


async def hidden_code(s: Subject) -> list[CheckProblem]:
    """Return a problem for each file of this step that runs other code than its readers see."""
    before = {one.id for one in (await s.entries(s.work.base)).values()}
    now = await s.entries()
    paths = [one.path for one in s.changed_files() if one.path in now and now[one.path].id not in before]
    found = await s.git.shows(s.work.commit, paths)
    named = {path: (data or b"")[:_LARGEST] for path, data in found.items()}
    hidden = [one for path, data in named.items() if (one := _hidden(path, data, now.keys())) is not None]
    return [*hidden, *await changing_attributes(s)]


def _hidden(path: str, data: bytes, paths: Collection[str]) -> CheckProblem | None:
    suffix = PurePosixPath(path).suffix
    if suffix in _COMPILED:
        return problem("is a compiled module, which no reviewer can read", path, expected=_BINARY, code="source.binary")
    if suffix in _BYTE_CODE and not _is_beside_its_source(path, data, paths):
        what = "is byte code that Python imports without its source"
        return problem(what, path, expected=_BINARY, code="source.binary")
    if name := _importable_member(data):
        what = f"is an archive from which Python can import ({name})"
        return problem(what, path, expected="its content as files", code="source.archive")
    if (is_python(path) or is_understood(path)) and (what := encoding_fault(path, data)):
        return problem(what, path, expected=_ENCODING, code="source.encoding")
    return None


def _is_beside_its_source(path: str, data: bytes, paths: Collection[str]) -> bool:
    """Whether byte code is the leftover of a run of its source; a new checkout ignores it because of its time stamp."""
    place = PurePosixPath(path)
    source = place.parent.parent / f"{place.name.partition('.')[0]}.py"
    return place.parent.name == "__pycache__" and str(source) in paths and data[4:8] == b"\0\0\0\0"


def _importable_member(data: bytes) -> str:
    """Return a file in an archive that Python could import; empty if there is none, or if it is no archive."""
    file = io.BytesIO(data)
    if b"PK" not in data[-70_000:] or not zipfile.is_zipfile(file):
        return ""
    try:
        names = zipfile.ZipFile(file).namelist()
    except (zipfile.BadZipFile, OSError, ValueError):
        return ""
    return next((name[:80] for name in names if name.endswith(_IMPORTABLE)), "")
