"""Finds files of the work that run other code than its readers see.

Odd encodings, archives, byte code and compiled modules: Python imports all of them. An honest change has them seldom: a
wheel or a library belongs to the environment, and byte code lies beside its source, where a new checkout does not use
it. The last part finds lines of a `.gitattributes` that change files at a checkout.
"""

import io
import zipfile
from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Final

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
    return [*hidden, *await _changing_attributes(s)]


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


# Attributes of git that make a user's checkout differ from the measured files.
#
# Treadle checks out what git stores. A filter, an encoding, an expanded `$Id$` or other line ends change that on the
# user's side, so the code that runs there is not the code that was tested.

_ATTRIBUTES: Final = ".gitattributes"
_WINDOWS: Final = (".bat", ".cmd", ".ps1", ".sln", ".vbs")
"""Files that need Windows' line ends."""
_AS_STORED: Final = "files that are checked out as git stores them"


async def _changing_attributes(s: Subject) -> list[CheckProblem]:
    """Return a problem for each line of a `.gitattributes` of this step that changes files at a checkout."""
    paths = [one.path for one in s.changed_files() if one.path.rpartition("/")[2] == _ATTRIBUTES]
    if not paths:
        return []
    files = list(await s.entries())
    found: list[CheckProblem] = []
    for path in paths:
        old = (await s.text(path, s.work.base) or "").splitlines()
        for number, line in enumerate((await s.text(path) or "").splitlines(), 1):
            if line not in old and (what := next(_changes(line, path.removesuffix(_ATTRIBUTES), files), "")):
                found.append(problem(what, path, number, expected=_AS_STORED, code="green.attributes"))
    return found


def _changes(line: str, folder: str, files: Collection[str]) -> Iterator[str]:
    pattern, *attributes = line.split() or [""]
    if not pattern or pattern.startswith("#"):
        return
    macros = {"[attr]"} if pattern.startswith("[attr]") else set()
    named = [one for one in files if macros or _matches(pattern, folder, one)]
    for attribute in attributes:
        name, _, value = attribute.partition("=")
        changed = named if name in ("filter", "ident", "working-tree-encoding") else []
        if name == "eol" and value == "crlf":
            changed = [one for one in named if not one.lower().endswith(_WINDOWS)]
        if changed and value.lower() not in ("utf-8", "utf8"):
            yield f"changes files when they are checked out: {attribute}, for {changed[0]}"


def _matches(pattern: str, folder: str, path: str) -> bool:
    """Whether a pattern of a `.gitattributes` in a folder stands for a file; in doubt it does."""
    if not path.startswith(folder):
        return False
    inner, plain = path.removeprefix(folder), pattern.strip('"').removeprefix("/").replace("**/", "*")
    if "/" not in pattern.strip('"').rstrip("/"):
        return fnmatchcase(inner.rpartition("/")[2], plain)
    return fnmatchcase(inner, plain)
