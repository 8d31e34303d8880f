"""Finds attributes of git that make a user's checkout differ from the measured files.

Treadle checks out what git stores. A filter, an encoding, an expanded `$Id$` or other line ends change that on the
user's side, so the code that runs there is not the code that was tested.
"""

from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase
from typing import Final

from treadle.evidence.findings import CheckProblem, problem
from treadle.evidence.subject import Subject

_NAME: Final = ".gitattributes"
_WINDOWS: Final = (".bat", ".cmd", ".ps1", ".sln", ".vbs")
"""Files that need Windows' line ends."""
_WANTED: Final = "files that are checked out as git stores them"


async def changing_attributes(s: Subject) -> list[CheckProblem]:
    """Return a problem for each line of a `.gitattributes` of this step that changes files at a checkout."""
    paths = [one.path for one in s.changed_files() if one.path.rpartition("/")[2] == _NAME]
    if not paths:
        return []
    files = list(await s.entries())
    found: list[CheckProblem] = []
    for path in paths:
        old = (await s.text(path, s.work.base) or "").splitlines()
        for number, line in enumerate((await s.text(path) or "").splitlines(), 1):
            if line not in old and (what := next(_changes(line, path.removesuffix(_NAME), files), "")):
                found.append(problem(what, path, number, expected=_WANTED, code="green.attributes"))
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
