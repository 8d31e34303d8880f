"""Puts the hook into the settings of agents' programs, takes it out, and says whether it is there."""

import shlex
import shutil
import sys
from pathlib import Path
from typing import Any, Final

import msgspec

from treadle.errors import TreadleError
from treadle.hooks.programs import Program
from treadle.hooks.settings import installed, read_settings, with_hook, without_hook, written
from treadle.results.faulty import Faulty
from treadle.results.files import look, remove, replace

_LARGEST: Final = 4 * 1024 * 1024


class Change(msgspec.Struct, frozen=True):
    """What a file of settings becomes."""

    program: Program
    before: str
    after: str
    """Empty: the file is removed, for nothing but our hook was in it."""

    @property
    def is_none(self) -> bool:
        return self.before == self.after


def to_install(program: Program, command: str) -> Change:
    """The settings with our hook."""
    before, file = _text(program), str(program.file)
    ours = written(with_hook({}, file, program.events, command, program.timeout), "")
    settings = _read(program, before, f", or put this into it by hand:\n{ours}".rstrip())
    changed = with_hook(settings, file, program.events, command, program.timeout)
    return Change(program, before, before if changed == settings else written(changed, before))


def to_uninstall(program: Program) -> Change:
    """The settings without our hook."""
    before, file = _text(program), str(program.file)
    settings = _read(program, before)
    changed = without_hook(settings, file)
    if changed == settings:
        return Change(program, before, before)
    return Change(program, before, written(changed, before) if changed else "")


def _read(program: Program, text: str, otherwise: str = "") -> dict[str, Any]:
    """The settings; where they are none, why the program has none either, and what to do."""
    try:
        return read_settings(text, str(program.file))
    except TreadleError as error:
        strict = f"{program.title} takes plain JSON only: with a comment in it, or a comma too many, all of the file"
        raise TreadleError(
            f"{error}\n{strict} counts for nothing. Mend it, then try again{otherwise}", code=error.code
        ) from None


def carry_out(change: Change) -> None:
    """Write it: all of it, or nothing."""
    file = change.program.file
    if change.is_none:
        return
    try:
        if not change.after:
            remove(file.parent, file.name)
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        mode = file.stat().st_mode & 0o777 if file.exists() else 0o644
        replace(file.parent, file.name, change.after.encode(), mode)
    except OSError as error:
        raise TreadleError(
            f"{file} cannot be written: {error.strerror}; check the permissions", code="file.unwritable"
        ) from None


def there(program: Program) -> dict[str, str]:
    """Event → the command of our hook in a program's settings."""
    return installed(read_settings(_text(program), str(program.file)), str(program.file))


def own_command(*, legacy: bool = False) -> str:
    """How this treadle is started as a hook: by its name where that is found, so that a file can be shared."""
    words = ["treadle"] if shutil.which("treadle") else [sys.executable, "-m", "treadle"]
    return shlex.join([*words, "hook", *(["--legacy"] if legacy else [])])


def is_found(command: str) -> bool:
    """Whether the program of a command is there."""
    words = shlex.split(command)
    return bool(words) and shutil.which(words[0]) is not None


def _text(program: Program) -> str:
    file = program.file
    if file.is_symlink():
        raise TreadleError(
            f"{file} is a link; put the hook into the file that it leads to, or remove the link", code="file.link"
        )
    found = look(file.parent, file.name, str(file), _LARGEST) if Path(file.parent).is_dir() else None
    if isinstance(found, Faulty):
        raise TreadleError(found.problems[0], code="hook.settings")
    try:
        return (found or b"").decode()
    except UnicodeDecodeError:
        raise TreadleError(
            f"{file} is not UTF-8; mend it, then try again; nothing was changed", code="file.encoding"
        ) from None
