"""Protocol folders on disk: found by name or path, read within limits, never outside of themselves."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from treadle.protocol.digest import digest
from treadle.protocol.dump import dump
from treadle.protocol.findings import Place, suggest
from treadle.protocol.model import Protocol
from treadle.protocol.reading.assemble import MAIN, TEMPLATES, Changes, Files, Loaded, Sources, assemble, load_files
from treadle.protocol.reading.fragments import Library
from treadle.protocol.reading.part import NAME, quoted
from treadle.protocol.reading.source import MAX_TEXT, Node, fail, read

__all__ = [
    "Loaded",
    "available",
    "digest",
    "dump",
    "find",
    "load",
    "load_files",
    "load_source",
    "read_tree",
    "starting_folder",
]

BUILT_IN: Final = Path(__file__).parents[1] / "protocols"
START: Final = "new"
"""The built-in folder that `treadle protocol new` copies; a protocol like the others, but not offered as one."""
MAX_TEMPLATE: Final = 256_000
MAX_TEMPLATES: Final = 500
_FILE = re.compile(r"[A-Za-z0-9_.@ /-]{1,200}")


def load(source: str | Path, *, search: Sequence[Path] = ()) -> Protocol:
    """Load a protocol: a folder, or the name of one in the search folders or among the built-in ones."""
    return load_source(source, search=search).protocol


def load_source(
    source: str | Path,
    *,
    search: Sequence[Path] = (),
    overlays: Sequence[Path] = (),
    templates: Mapping[str, str] | None = None,
    rules: Path | None = None,
) -> Loaded:
    """Load a protocol with a project's changes, and with the places of its parts."""
    folder = find(source, search=search)
    changes = Changes(
        overlays=tuple(read_tree(path) for path in overlays),
        templates=dict(templates or {}),
        rules=read_tree(rules) if rules else None,
    )
    return assemble(_folder_files(folder), _sources(folder, search), changes)


def available(search: Sequence[Path] = ()) -> dict[str, Path]:
    """Every protocol that can be named, with its folder; the search folders come before the built-in ones."""
    found: dict[str, Path] = {}
    for place in (*search, BUILT_IN):
        for folder in sorted(place.iterdir()) if place.is_dir() else ():
            if (folder / MAIN).is_file() and folder != BUILT_IN / START:
                found.setdefault(folder.name, folder)
    return found


def find(source: str | Path, *, search: Sequence[Path] = ()) -> Path:
    """The folder of a protocol, given its path or its name."""
    if isinstance(source, str) and NAME.fullmatch(source):
        known = available(search)
        if source in known:
            return known[source]
        if not (Path(source) / MAIN).is_file():
            hint = suggest(source, known) or f"known: {', '.join(known)}; or give the path of a folder"
            fail(Place(source), f"there is no protocol {quoted(source)}", hint)
    path = Path(source)
    if path.name == MAIN and path.is_file():
        path = path.parent
    if not (path / MAIN).is_file():
        what = f"there is no {MAIN} in this folder" if path.is_dir() else "there is no such folder"
        fail(Place(str(path)), what, "a protocol is a folder: `treadle protocol new NAME` writes one")
    return path


def read_tree(path: Path) -> Node:
    """A YAML file as a tree."""
    return read(_text(path, MAX_TEXT), str(path))


def starting_folder(name: str) -> dict[str, str]:
    """The files of a small, complete, commented protocol, for `treadle protocol new NAME`."""
    if not NAME.fullmatch(name):
        fail(Place(name), f"{quoted(name)} is not a name", "use letters, digits, _ and -")
    texts = _folder_files(BUILT_IN / START).texts
    return {**texts, MAIN: texts[MAIN].replace(f"protocol: {START}\n", f"protocol: {name}\n", 1)}


def _sources(folder: Path, search: Sequence[Path]) -> Sources:
    def base(name: str) -> tuple[Files, Sources]:
        # A project's folder may extend the built-in protocol of the same name.
        places = [place for place in search if (place / name).resolve() != folder.resolve()]
        found = find(name, search=places)
        return _folder_files(found), _sources(found, search)

    return Sources(fragments=_library(folder), base=base)


def _library(folder: Path) -> Library:
    """Fragments beside the protocol's folder, then the ones shipped with Treadle."""
    files: dict[str, Path] = {}
    templates: dict[str, str] = {}
    for place in (folder.resolve().parent / "fragments", BUILT_IN / "fragments"):
        for path in sorted(place.glob("*.yaml")):
            files.setdefault(path.stem, path)
        for path in sorted((place / TEMPLATES).glob("*.jinja")):
            templates.setdefault(path.name, _text(path, MAX_TEMPLATE))
    return Library(tuple(files), lambda name: read_tree(files[name]), templates)


def _folder_files(folder: Path) -> Files:
    texts = {path.name: _text(path, MAX_TEXT) for path in sorted(folder.glob("*.yaml")) if _inside(path, folder)}
    templates = sorted((folder / TEMPLATES).rglob("*.jinja"))
    if len(templates) > MAX_TEMPLATES:
        fail(Place(str(folder / TEMPLATES)), f"{len(templates)} templates, the limit is {MAX_TEMPLATES}")
    for path in templates:
        if _inside(path, folder):
            texts[path.relative_to(folder).as_posix()] = _text(path, MAX_TEMPLATE)
    return Files(texts, str(folder))


def _inside(path: Path, folder: Path) -> bool:
    """Whether a file belongs to the folder; a link that leads out of it is an error, not a way in."""
    name = path.relative_to(folder).as_posix()
    if not _FILE.fullmatch(name):
        fail(Place(ascii(str(path))), "a file name with unusual characters", "use letters, digits, . _ and -")
    try:
        inside = path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # links in a circle
        fail(Place(str(path)), "this link leads nowhere", "remove it")
    if not inside:
        fail(Place(str(path)), "this link leads out of the protocol's folder", "copy the file")
    return path.is_file()


def _text(path: Path, limit: int) -> str:
    try:
        if not path.is_file():
            fail(Place(str(path)), "there is no such file", "check the path")
        if path.stat().st_size > limit:
            fail(Place(str(path)), f"the file has {path.stat().st_size} bytes, the limit is {limit}", "make it smaller")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        fail(Place(str(path)), f"the file is not UTF-8 at byte {error.start}", "save it as UTF-8")
    except OSError as error:
        fail(Place(str(path)), f"the file cannot be read: {error.strerror}", "check its permissions")
