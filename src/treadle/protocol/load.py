"""Protocol folders on disk: found by name or path, read within limits, never outside of themselves."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Final, NoReturn

from treadle.errors import ProtocolError
from treadle.protocol.digest import digest
from treadle.protocol.dump import dump
from treadle.protocol.findings import Place, suggest
from treadle.protocol.model import Protocol
from treadle.protocol.reading.assembly import (
    MAIN,
    TEMPLATES,
    Changes,
    Files,
    Loaded,
    Sources,
    assemble,
    extends_itself,
    load_files,
)
from treadle.protocol.reading.fragments import FragmentLibrary
from treadle.protocol.reading.part import NAME, quote_name
from treadle.protocol.reading.yaml import MAX_TEXT, Node, fail, read_yaml

__all__ = [
    "Loaded",
    "available",
    "digest",
    "dump",
    "find",
    "load",
    "load_files",
    "load_source",
    "read_stream",
    "read_text",
    "read_tree",
    "starting_folder",
]

BUILT_IN: Final = Path(__file__).parents[1] / "protocols"
START: Final = "new"
"""The built-in folder that `treadle protocol new` copies; a protocol like the others, but not offered as one."""
MAX_TEMPLATE: Final = 256_000
MAX_TEMPLATES: Final = 500
_FOLDER: Final = "a protocol is a folder: `treadle protocol new NAME` writes one"
_NOWHERE: Final = ("this link leads nowhere", "remove it")
_FILE = re.compile(r"[A-Za-z0-9_.@ /-]{1,200}")


def load(source: str | Path, *, search: Sequence[Path] = ()) -> Protocol:
    """Load a protocol: a folder, or the name of one in the search folders or among the built-in ones."""
    return load_source(source, search=search).protocol


def load_source(
    source: str | Path,
    *,
    search: Sequence[Path] = (),
    overlays: Sequence[Path] = (),
    templates: Mapping[str, Path] | None = None,
    rules: Path | None = None,
) -> Loaded:
    """Load a protocol with a project's changes, and with the places of its parts."""
    folder = find(source, search=search)
    changes = Changes(
        overlays=tuple(read_tree(path) for path in overlays),
        templates={name: read_text(path, MAX_TEMPLATE) for name, path in (templates or {}).items()},
        shown={name: str(path) for name, path in (templates or {}).items()},
        rules=read_tree(rules) if rules else None,
    )
    return assemble(_folder_files(folder, name=_name(folder)), _sources(folder, search), changes)


def available(search: Sequence[Path] = ()) -> dict[str, Path]:
    """Every protocol that can be named, with its folder; the search folders come before the built-in ones."""
    found: dict[str, Path] = {}
    for place in (*search, BUILT_IN):
        try:
            folders = sorted(place.iterdir()) if place.is_dir() else []
        except OSError as error:
            _refuse(place, f"the folder cannot be read: {error.strerror}", "check its permissions")
        for folder in folders:
            if (folder / MAIN).is_file() and folder != BUILT_IN / START:
                found.setdefault(folder.name, folder)
    return found


def find(source: str | Path, *, search: Sequence[Path] = ()) -> Path:
    """Return the folder of a protocol, from its path or its name."""
    if isinstance(source, str) and NAME.fullmatch(source):
        return _named(source, search, Place(source))
    path = Path(source)
    try:
        if path.name == MAIN and not path.is_dir():
            path = path.parent
        if not path.is_dir():
            _refuse(path, "this is a file, not a folder" if path.exists() else "there is no such folder", _FOLDER)
        if not ((path / MAIN).is_symlink() or (path / MAIN).exists()):
            _refuse(path, f"there is no {MAIN} in this folder", _FOLDER)
    except OSError as error:
        _refuse(str(source)[:200], f"this cannot be a path: {error.strerror}", _FOLDER)
    return path


def _refuse(path: Path | str, message: str, hint: str = "") -> NoReturn:
    fail(Place(str(path)), message, hint, code="protocol.unreadable")


def _named(name: str, search: Sequence[Path], place: Place) -> Path:
    known = available(search)
    if name in known:
        return known[name]
    if not (Path(name) / MAIN).is_file():
        hint = suggest(name, known) or f"known: {', '.join(known)}; or give the path of a folder"
        fail(place, f"there is no protocol {quote_name(name)}", hint, code="protocol.unknown")
    return Path(name)


def read_tree(path: Path) -> Node:
    """A YAML file as a tree."""
    return read_yaml(read_text(path), str(path))


def read_text(path: Path, limit: int = MAX_TEXT, *, code: str = "protocol.unreadable") -> str:
    """Read the text of a regular file, never more than the limit; raise `ProtocolError` for anything else."""
    place = Place(str(path))
    try:
        if path.is_dir():
            fail(place, "this is a folder, not a file", "give the path of a file", code=code)
        if not path.is_file() and path.exists():
            fail(place, "this is a pipe or a device, not a file", "copy what it holds into a file", code=code)
        if not path.is_file():
            reason = _NOWHERE if path.is_symlink() else ("there is no such file", "check the path")
            fail(place, *reason, code=code)
        with path.open("rb") as stream:
            return read_stream(stream, str(path), limit)
    except OSError as error:
        fail(place, f"the file cannot be read: {error.strerror}", "check its permissions", code=code)


def read_stream(stream: BinaryIO, shown: str, limit: int = MAX_TEXT) -> str:
    """The text of a stream, e.g. standard input; `shown` is its name in messages."""
    content = stream.read(limit + 1)
    if len(content) > limit:
        message = f"it has more than {limit} bytes, which is the limit"
        fail(Place(shown), message, "make it smaller", code="file.too_large")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        fail(Place(shown), f"it is not UTF-8 at byte {error.start}", "save it as UTF-8", code="file.encoding")


def starting_folder(name: str) -> dict[str, str]:
    """The files of a small, complete, commented protocol, for `treadle protocol new NAME`."""
    if not NAME.fullmatch(name):
        raise ProtocolError(
            f"{quote_name(name)} is not a name (use ASCII letters, digits, _ and -)", code="protocol.name"
        )
    texts = _folder_files(BUILT_IN / START).texts
    return {**texts, MAIN: texts[MAIN].replace(f"protocol: {START}\n", f"protocol: {name}\n", 1)}


def _sources(folder: Path, search: Sequence[Path]) -> Sources:
    def base(name: str, place: Place) -> tuple[Files, Sources]:
        # A project's folder may extend the built-in protocol of the same name.
        others = [one for one in search if (one / name).resolve() != folder.resolve()]
        if name == _name(folder) and name not in available(others):
            fail(place, *extends_itself([name, name]), code="protocol.malformed")
        found = _named(name, others, place)
        return _folder_files(found), _sources(found, search)

    return Sources(fragments=_library(folder), base=base)


def _library(folder: Path) -> FragmentLibrary:
    """Fragments beside the protocol's folder, then the ones shipped with Treadle."""
    files: dict[str, Path] = {}
    templates: dict[str, Path] = {}
    for place in (folder.resolve().parent / "fragments", BUILT_IN / "fragments"):
        for path in sorted(place.glob("*.yaml")):
            files.setdefault(path.stem, path)
        for path in sorted((place / TEMPLATES).glob("*.jinja")):
            templates.setdefault(path.name, path)
    texts = {name: read_text(path, MAX_TEMPLATE) for name, path in templates.items()}
    shown = {name: str(path) for name, path in templates.items()}
    return FragmentLibrary(tuple(files), lambda name: read_tree(files[name]), texts, shown)


def _folder_files(folder: Path, name: str = "") -> Files:
    texts = {path.name: read_text(path) for path in sorted(folder.glob("*.yaml")) if _inside(path, folder)}
    templates = sorted((folder / TEMPLATES).rglob("*.jinja"))
    if len(templates) > MAX_TEMPLATES:
        _refuse(folder / TEMPLATES, f"{len(templates)} templates, the limit is {MAX_TEMPLATES}")
    for path in templates:
        if _inside(path, folder):
            texts[path.relative_to(folder).as_posix()] = read_text(path, MAX_TEMPLATE)
    return Files(texts, str(folder), name)


def _inside(path: Path, folder: Path) -> bool:
    """Whether a file belongs to the folder; a link that leads out of it is an error, not a way in."""
    name = path.relative_to(folder).as_posix()
    if not _FILE.fullmatch(name):
        _refuse(ascii(str(path)), "a file name with unusual characters", "use ASCII letters, digits, . _ and -")
    try:
        inside = path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # links in a circle
        _refuse(path, *_NOWHERE)
    if not inside:
        _refuse(path, "this link leads out of the protocol's folder", "copy the file")
    return name == MAIN or not path.is_dir()


def _name(folder: Path) -> str:
    """Return the protocol name of a folder; empty if the folder's name cannot be one."""
    name = folder.name if NAME.fullmatch(folder.name) else folder.resolve().name
    return name if NAME.fullmatch(name) else ""
