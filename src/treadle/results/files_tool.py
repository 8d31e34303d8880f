"""Tools to read by, for agents who may not run commands: the files of their lane and of their bundle, and no others."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from treadle.git.globs import naming
from treadle.protocol.answers.paths import clean_path
from treadle.protocol.answers.schema import Schema
from treadle.protocol.findings import suggest
from treadle.results.faulty import Faulty
from treadle.results.files import look
from treadle.results.offered import Offered, Said

LIST, READ, SEARCH = "files_list", "files_read", "files_search"
BUNDLE: Final = "$TREADLE_BUNDLE"
"""How prompts call the bundle; paths that begin with it lie there."""
MOST_FILES: Final = 1_000
MOST_LINES: Final = 200
PIECE: Final = 50_000
"""Characters of a file that are given at once."""
_LARGEST: Final = 8 << 20
_SEARCHED: Final = 64 << 20
"""Bytes that one search looks at."""
_LONGEST: Final = 300
_CONTEXT: Final = "context.json"
_HIDDEN: Final = frozenset({".git"})
_READING: Final = {"readOnlyHint": True}


def _takes(*required: str, **properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required)}


_GLOB: Final[Schema] = {
    "type": "string",
    "description": f"Which files: `src/**`, `**/*.py`. Without it, all. `{BUNDLE}/**` are those of the bundle.",
}
TOOLS: Final = (
    Offered(LIST, f"The files of your working tree, at most {MOST_FILES} at once.", _takes(glob=_GLOB), hints=_READING),
    Offered(
        READ,
        "A file of your working tree or bundle; a long one in pieces.",
        _takes(
            "path",
            path={"type": "string", "description": f"From the root of the tree, or `{BUNDLE}/…`."},
            line={"type": "integer", "minimum": 1, "description": "The first line that is wanted."},
        ),
        hints=_READING,
    ),
    Offered(
        SEARCH,
        f"The lines that hold a text, at most {MOST_LINES}; capitals make no difference.",
        _takes("text", text={"type": "string", "minLength": 1}, glob=_GLOB),
        hints=_READING,
    ),
)


def is_offered(bundle: Path) -> bool:
    """Whether the bundle is that of a role that may not run commands, and so has no other way to look around."""
    data = look(bundle, _CONTEXT)
    try:
        said: Any = json.loads(data) if isinstance(data, bytes) else None
        return "run_commands" not in said["permissions"]["may"]
    except (ValueError, TypeError, LookupError, RecursionError):
        return False


def named(name: str) -> bool:
    """Whether a tool is one of these."""
    return name in _CALLS


def call(lane: Path, bundle: Path, name: str, given: Mapping[str, Any]) -> Said:
    """What a tool does; whatever it is given, the model gets words that help."""
    return _CALLS[name](lane, bundle, given)


def _list(lane: Path, bundle: Path, given: Mapping[str, Any]) -> Said:
    found = _found(lane, bundle, given)
    if isinstance(found, Said):
        return found
    files = [path for path, _, _ in found]
    more = {"left_out": len(files) - MOST_FILES} if len(files) > MOST_FILES else {}
    return _said({"files": files[:MOST_FILES], **more})


def _read(lane: Path, bundle: Path, given: Mapping[str, Any]) -> Said:
    path, first = given.get("path"), given.get("line", 1)
    if not isinstance(path, str) or not isinstance(first, int) or isinstance(first, bool) or first < 1:
        return Said("`path` is a text, `line` a whole number from 1", ok=False)
    root, inside = _placed(lane, bundle, path)
    data = look(root, inside, path[:200], _LARGEST) if _is_inside(inside) else None
    if isinstance(data, Faulty):
        return Said("; ".join(data.problems), ok=False)
    if data is None:
        known = [shown for shown, _, _ in _files(lane, bundle, path)]
        near = suggest(path, known) or f"{LIST} tells what there is"
        return Said(f"there is no file {path[:200]!r}; {near}", ok=False)
    lines = data.decode(errors="replace").splitlines()
    text, last = _piece(lines, first)
    rest = {"next_line": last + 1} if last < len(lines) else {}
    return _said({"path": path, "lines": len(lines), "line": first, "text": text, **rest})


def _search(lane: Path, bundle: Path, given: Mapping[str, Any]) -> Said:
    wanted, found = given.get("text"), _found(lane, bundle, given)
    if not isinstance(wanted, str) or not wanted:
        return Said("`text` is what to look for", ok=False)
    if isinstance(found, Said):
        return found
    hits: list[str] = []
    room = _SEARCHED
    for path, root, inside in found:
        data = look(root, inside, limit=_LARGEST)
        if not isinstance(data, bytes):
            continue
        room -= len(data)
        if room < 0 or len(hits) > MOST_LINES:
            break
        hits += _hits(path, data.decode(errors="replace"), wanted.lower())
    is_all = room >= 0 and len(hits) <= MOST_LINES
    return _said(
        {"lines": hits[:MOST_LINES], **({} if is_all else {"more": "there may be more; name a narrower glob"})}
    )


_CALLS: Final[dict[str, Callable[[Path, Path, Mapping[str, Any]], Said]]] = {LIST: _list, READ: _read, SEARCH: _search}


def _hits(path: str, text: str, wanted: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), 1):
        if wanted in line.lower():
            yield f"{path}:{number}: {line.strip()[:_LONGEST]}"


def _piece(lines: list[str], first: int) -> tuple[str, int]:
    """As many lines as there is room for, and the number of the last; a line that is too long alone is cut."""
    taken: list[str] = []
    room = PIECE
    for line in lines[first - 1 :]:
        if taken and len(line) >= room:
            break
        taken.append(line if len(line) <= PIECE else f"{line[:PIECE]}[cut: {len(line) - PIECE} more characters]")
        room -= len(line) + 1
    return "\n".join(taken), first - 1 + len(taken)


# where files are


def _found(lane: Path, bundle: Path, given: Mapping[str, Any]) -> list[tuple[str, Path, str]] | Said:
    glob = given.get("glob", "**")
    if not isinstance(glob, str) or not glob:
        return Said("`glob` is a text such as `src/**`", ok=False)
    is_named = naming((_placed(lane, bundle, glob)[1],))
    return [one for one in _files(lane, bundle, glob) if is_named(one[2])]


def _files(lane: Path, bundle: Path, like: str) -> Iterator[tuple[str, Path, str]]:
    """The files of the folder in which a path lies: as they are shown, that folder, and the way from there."""
    root, _ = _placed(lane, bundle, like)
    start = f"{BUNDLE}/" if root == bundle else ""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _HIDDEN)
        for name in sorted(names):
            path = Path(folder, name)
            if name not in _HIDDEN and path.is_file() and not path.is_symlink():
                inside = path.relative_to(root).as_posix()
                yield f"{start}{inside}", root, inside


def _placed(lane: Path, bundle: Path, path: str) -> tuple[Path, str]:
    """The folder in which a path lies, and the way from there."""
    for root, names in ((bundle, (BUNDLE, str(bundle))), (lane, (str(lane),))):
        for name in names:
            if path == name or path.startswith(f"{name}/"):
                return root, clean_path(path.removeprefix(name))
    return lane, clean_path(path)


def _is_inside(inside: str) -> bool:
    return inside.isprintable() and not {*inside.split("/")} & {"..", ".", *_HIDDEN}


def _said(data: dict[str, Any]) -> Said:
    return Said(json.dumps(data, indent=2, ensure_ascii=False), data=data)
