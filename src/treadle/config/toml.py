"""Reads a settings file: its values one by one, each with its line; syntax errors with theirs."""

import re
import stat
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from treadle.config.lines import lines_of
from treadle.errors import TreadleError
from treadle.protocol.findings import Place

MAX_FILE: Final = 100_000
_AT: Final = re.compile(r"\s*\(at line (\d+), column (\d+)\)$")


class Entry(msgspec.Struct, frozen=True):
    """A value as a file has it."""

    path: tuple[str, ...]
    value: object
    place: Place


def read_file(path: Path, shown: str) -> str | None:
    """The text of a settings file; None if there is none."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise TreadleError(f"{shown} is not a file; move it away", code="config.unreadable")
        if status.st_size > MAX_FILE:
            raise TreadleError(
                f"{shown} has more than {MAX_FILE} bytes; settings are shorter: move it away", code="config.unreadable"
            )
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError as error:
        raise TreadleError(
            f"{shown} is not UTF-8 at byte {error.start}; save it as UTF-8", code="file.encoding"
        ) from None
    except (OSError, RuntimeError) as error:
        raise TreadleError(
            f"{shown} cannot be read: {getattr(error, 'strerror', None) or error}", code="config.unreadable"
        ) from None


def entries(text: str, shown: str) -> list[Entry]:
    """The values of a settings file in their order; a `TreadleError` with the line if it is not TOML."""
    try:
        tree = tomllib.loads(text)
    except RecursionError:
        raise TreadleError(f"{shown}: this is nested too deeply to be read", code="config.syntax") from None
    except ValueError as error:
        raise TreadleError(_syntax(str(error), text, shown), code="config.syntax") from None
    lines = lines_of(text)
    return [Entry(path, value, Place(shown, lines.get(path, 0))) for path, value in _leaves(tree)]


def _syntax(message: str, text: str, shown: str) -> str:
    at = _AT.search(message)
    line = int(at[1]) if at else text.count("\n") + 1
    what = _AT.sub("", message).removesuffix(" (at end of document)")
    return f"{shown}:{line}: this is not TOML: {what[:1].lower()}{what[1:]} (texts need quotes, lists need [ ])"


def _leaves(value: dict[str, object], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    """Values with their paths; an empty table below the first level is one, as nothing else would tell of it."""
    for key, inner in value.items():
        if isinstance(inner, dict) and (inner or not above):
            yield from _leaves(inner, (*above, key))
            if not inner:
                yield (key,), {}
        else:
            yield (*above, key), inner
