"""A project's changes to protocols: overlays, templates, rules. One that cannot be in force is found, never skipped."""

import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from treadle.cli.project import OWN_FOLDER, root
from treadle.errors import ProtocolError, TreadleError
from treadle.protocol.findings import LOAD, Finding, Place, suggest
from treadle.protocol.load import read_tree

OVERLAY: Final = ".yaml"
NOTES: Final = ".md"


def own_folder(name: str) -> Path:
    """One of the project's folders for Treadle: `protocols`, `overlays` or `templates`."""
    return Path(root()) / OWN_FOLDER / name


def rules_file() -> Path | None:
    """The project's rules, if there are any; what stands in their place and is no file is an error."""
    path = Path(root()) / ".ai" / "step-rules.yaml"
    if not os.path.lexists(path):
        return None
    found = list(_no_file(path))
    if found:
        raise ProtocolError(f"{path} cannot be loaded", tuple(found), code="protocol.invalid")
    return path


def overlays(name: str) -> list[Path]:
    """The project's overlays that say they extend this protocol."""
    return [path for path in _entries(own_folder("overlays")) if path.suffix == OVERLAY and extended(path) == name]


def templates(name: str) -> list[tuple[str, Path]]:
    """The project's templates in place of a protocol's, by the names that they have there."""
    folder = own_folder("templates") / name
    return [(path.relative_to(folder).as_posix(), path) for path in sorted(folder.rglob("*.jinja"))]


def misplaced(known: Collection[str]) -> list[Finding]:
    """Everything in the project's folders that can be in force for none of the known protocols."""
    found = list(_no_folders())
    for path in _entries(own_folder("overlays")):
        found += _overlay_faults(path, known)
    for path in _entries(own_folder("templates")):
        if path.name not in known:
            found.append(
                _unknown(Place(str(path)), "templates", f"there is no protocol '{path.name}'", path.name, known)
            )
    return found


def _no_folders() -> Iterator[Finding]:
    for path in (own_folder(""), *(own_folder(name) for name in ("protocols", "overlays", "templates"))):
        if os.path.lexists(path) and not path.is_dir():
            yield Finding(Place(str(path)), "", "this must be a folder", "move it away", LOAD, code="protocol.overlay")


def _entries(folder: Path) -> list[Path]:
    """What lies in a folder, without hidden files and notes."""
    try:
        entries = list(folder.iterdir()) if folder.is_dir() else []
    except OSError as error:
        raise TreadleError(f"{folder} cannot be read: {error.strerror}", code="file.unreadable") from None
    return sorted(path for path in entries if not path.name.startswith(".") and path.suffix != NOTES)


def _overlay_faults(path: Path, known: Collection[str]) -> Iterator[Finding]:
    faults = list(_no_file(path))
    if faults:
        yield from faults
    elif path.suffix != OVERLAY:
        hint = f"rename it to {path.stem}{OVERLAY}" if path.suffix == ".yml" else "rename it, or move it away"
        yield Finding(Place(str(path)), "", f"an overlay's name ends in {OVERLAY}", hint, LOAD, code="protocol.overlay")
    else:
        yield from _extends_faults(path, known)


def _extends_faults(path: Path, known: Collection[str]) -> Iterator[Finding]:
    try:
        tree = read_tree(path)
    except ProtocolError as error:
        found = [it for it in error.findings if isinstance(it, Finding)]
        yield from found or [Finding(Place(str(path)), "", error.message, code=error.code)]
        return
    name = extended(path)
    if not name:
        place = tree.key_place("extends")
        hint = f"write `extends:` and one of {', '.join(known)}"
        yield Finding(
            place, "extends", "this overlay does not say which protocol it changes", hint, LOAD, code="protocol.overlay"
        )
    elif name not in known:
        yield _unknown(tree.key_place("extends"), "extends", f"there is no protocol '{name}'", name, known)


def extended(path: Path) -> str:
    """The protocol that an overlay or a protocol says it extends; empty if it does not say, or cannot be read."""
    try:
        tree = read_tree(path)
    except ProtocolError:
        return ""
    entry = tree.value.get("extends") if isinstance(tree.value, dict) else None
    return entry.value.partition("@")[0] if entry and isinstance(entry.value, str) else ""


def _no_file(path: Path) -> Iterator[Finding]:
    if path.is_dir():
        yield Finding(
            Place(str(path)),
            "",
            "this is a folder, and should be a file",
            "move it away",
            LOAD,
            code="protocol.overlay",
        )
    elif path.is_symlink() and not path.exists():
        yield Finding(
            Place(str(path)), "", "this link leads nowhere", "mend or remove it", LOAD, code="protocol.overlay"
        )


def _unknown(place: Place, where: str, message: str, word: str, known: Collection[str]) -> Finding:
    there_are = f"there are {', '.join(known)}"
    hint = suggest(word, known)
    return Finding(place, where, message, f"{hint} {there_are}" if hint else there_are, LOAD, code="protocol.overlay")
