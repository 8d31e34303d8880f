"""The protocols within reach of the current folder: the built-in ones, and the project's own in `.treadle/`."""

from pathlib import Path
from typing import Final

from treadle.errors import ProtocolError, TreadleError
from treadle.protocol.findings import LOAD, Finding, Place, suggest
from treadle.protocol.load import Loaded, available, find, load_source, read_tree
from treadle.simulate.scope import Scope
from treadle.simulate.scopes import FILE, read_scopes

OWN: Final = Path(".treadle/protocols")
OVERLAYS: Final = Path(".treadle/overlays")
TEMPLATES: Final = Path(".treadle/templates")
RULES: Final = Path(".ai/step-rules.yaml")
EXAMPLE: Final = "example.yaml"


def names() -> dict[str, Path]:
    """Every protocol that can be named here, with its folder."""
    return available([OWN])


def opened(name: str) -> Loaded:
    """A protocol by name or path; a named one as it is in force here, with the project's changes."""
    known = names()
    if name not in known:
        return load_source(folder(name))
    templates = {
        path.relative_to(TEMPLATES / name).as_posix(): _text(path)
        for path in sorted((TEMPLATES / name).rglob("*.jinja"))
    }
    rules = RULES if RULES.is_file() and (known[name] / "step-rules.yaml").is_file() else None
    return load_source(name, search=[OWN], overlays=overlays(name), templates=templates, rules=rules)


def folder(name: str) -> Path:
    """The folder of a protocol, by name or path."""
    known = names()
    if name in known:
        return known[name]
    if not Path(name).exists() and Path(name).name == name:
        hint = suggest(name, known)
        raise TreadleError(f"there is no protocol '{name}'{f' ({hint})' if hint else ''}; there are {', '.join(known)}")
    return find(Path(name))


def overlays(name: str) -> list[Path]:
    """The project's overlays that say they extend this protocol."""
    return [path for path in _overlay_files() if extended(path) == name]


def stray_overlays() -> list[Finding]:
    """Overlays that extend no protocol that is known here."""
    return [_stray(path) for path in _overlay_files() if extended(path) not in names()]


def _overlay_files() -> list[Path]:
    return sorted(OVERLAYS.glob("*.yaml"))


def extended(path: Path) -> str:
    """The protocol that an overlay is for; empty if it does not say, or cannot be read."""
    try:
        tree = read_tree(path)
    except ProtocolError:
        return ""
    entry = tree.value.get("extends") if isinstance(tree.value, dict) else None
    return str(entry.value).partition("@")[0] if entry else ""


def _stray(path: Path) -> Finding:
    try:
        read_tree(path)
    except ProtocolError as error:
        return next((it for it in error.findings if isinstance(it, Finding)), Finding(Place(str(path)), "", str(error)))
    hint = f"write `extends:` and one of {', '.join(names())}"
    return Finding(Place(str(path), 1), "extends", "this overlay extends no known protocol", hint, LOAD)


def example(name: str) -> str:
    """The commented example of a protocol's input."""
    path = folder(name) / EXAMPLE
    if not path.is_file():
        raise ProtocolError(f"{path}: this protocol has no example of its input; write one, or see its page")
    return _text(path)


def scopes(name: str) -> dict[str, Scope]:
    """The named scopes of a protocol, for `explore`."""
    path = folder(name) / FILE
    return read_scopes(_text(path), str(path)) if path.is_file() else {}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise TreadleError(f"{path} is not UTF-8 at byte {error.start}; save it as UTF-8") from None
    except OSError as error:
        raise TreadleError(f"{path} cannot be read: {error.strerror}") from None
