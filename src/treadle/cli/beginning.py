"""The folder that a protocol of one's own begins with."""

from pathlib import Path
from typing import Final

from treadle.cli.advice import word
from treadle.cli.changes import own_folder
from treadle.cli.files import write_folder
from treadle.cli.library import is_built_in
from treadle.errors import TreadleError
from treadle.protocol.load import starting_folder

RESERVED: Final = "fragments"
"""The folder beside the protocols in which they look for fragments."""


def begin(name: str, to: Path | None, *, replace: bool) -> Path:
    """Writes a small, complete protocol, by default where it can be named in this project; returns its folder."""
    texts = starting_folder(name)
    own = own_folder("protocols")
    folder = to or own / name
    _refuse_names(name, folder)
    if folder.absolute().parent.resolve() == own.resolve() and is_built_in(folder.name) and not replace:
        raise TreadleError(
            f"{folder.name} is a built-in protocol, and {folder} would take its place; give another name, change it by "
            f"{own_folder('overlays') / folder.name}.yaml with `extends: {folder.name}`, or say --replace",
            code="protocol.name",
        )
    if to is None:
        _make(folder.parent)
    write_folder(folder, texts)
    return folder


def _refuse_names(name: str, folder: Path) -> None:
    """Names under which the protocol could not be asked for, or is not what its folder is called."""
    if name.startswith("-"):
        raise TreadleError(
            f"'{name}' would be taken for an option by every command; begin it with a letter or a digit",
            code="protocol.name",
        )
    if name == RESERVED:
        raise TreadleError(
            f"the folder {RESERVED} is for parts that protocols share; give another name", code="protocol.name"
        )
    called = folder.name or folder.resolve().name
    if called != name:
        raise TreadleError(
            f"a protocol is called what its folder is called, and '{called}' is not '{name}'; "
            f"write `--to {word(folder.parent / name)}`, or make both names the same",
            code="protocol.name",
        )


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TreadleError(f"{folder} cannot be created: {error.strerror}", code="file.unwritable") from None
