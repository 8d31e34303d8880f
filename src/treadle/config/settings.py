"""Settings: collected from all sources, the values in force, and the origin of each.

A file's values keep their lines; unknown keys and malformed values are refused.
"""

import re
import shlex
import stat
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from pathlib import Path
from typing import Final

import msgspec

from treadle.config.kinds import Value, toml_type_name
from treadle.config.model import KEYS, PROTOCOL, SECTIONS, Config, Key, find_key, general_path, words_after
from treadle.config.project import FILE, Project
from treadle.config.secrets import ADVICE, names_a_secret, secret_in, texts_in
from treadle.errors import TreadleError
from treadle.protocol.findings import Finding, Place, suggest

KeyPath = tuple[str, ...]

_MAX_FILE: Final = 100_000
_MAX_STATEMENT: Final = 200
"""Maximum lines of one statement; after a longer one, later values have no line number, which keeps the search short.
"""


def read_file(path: Path, shown: str) -> str | None:
    """Return the text of a settings file; None if there is none."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise TreadleError(f"{shown} is not a file; move it away", code="config.unreadable")
        if status.st_size > _MAX_FILE:
            raise TreadleError(
                f"{shown} has more than {_MAX_FILE} bytes; settings are shorter: move it away", code="config.unreadable"
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


class TomlEntry(msgspec.Struct, frozen=True):
    """A value as a file has it."""

    path: KeyPath
    value: object
    place: Place


def read_entries(text: str, shown: str) -> list[TomlEntry]:
    """Return the values of a settings file in their order; raise a `TreadleError` with the line if it is not TOML."""
    try:
        tree = tomllib.loads(text)
    except RecursionError:
        raise TreadleError(f"{shown}: this is nested too deeply to be read", code="config.syntax") from None
    except ValueError as error:
        at = re.search(r"\s*\(at line (\d+), column (\d+)\)$", str(error))
        line = int(at[1]) if at else text.count("\n") + 1
        what = str(error)[: at.start() if at else None].removesuffix(" (at end of document)")
        raise TreadleError(
            f"{shown}:{line}: this is not TOML: {what[:1].lower()}{what[1:]} (texts need quotes, lists need [ ])",
            code="config.syntax",
        ) from None
    lines = lines_of(text)
    return [TomlEntry(path, value, Place(shown, lines.get(path, 0))) for path, value in _leaves(tree)]


def lines_of(text: str) -> dict[KeyPath, int]:
    """Path of each table and each value of a valid TOML file → the line (from 1) where its statement begins.

    The parser of the standard library reports no lines. But a statement is the shortest run of lines that parses by
    itself, so the parser splits the file, too.
    """
    lines_by_path: dict[KeyPath, int] = {}
    table: KeyPath = ()
    lines = text.replace("\r\n", "\n").split("\n")
    start = 0
    for end in range(1, len(lines) + 1):
        if end - start > _MAX_STATEMENT:
            break
        statement = "\n".join(lines[start:end])
        try:
            paths = list(_paths(tomllib.loads(statement)))
        except ValueError:  # it continues in the next line
            continue
        if statement.lstrip().startswith("["):
            table = paths[-1]
            lines_by_path.setdefault(table, start + 1)
        else:
            for path in paths:
                lines_by_path.setdefault(table + path, start + 1)
        start = end
    return lines_by_path


def _paths(value: object, above: KeyPath = ()) -> Iterator[KeyPath]:
    """Yield every path of a parsed statement, the outer ones first."""
    if isinstance(value, list) and value and isinstance(value[0], dict):  # `[[table]]`
        value = value[0]
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*above, key)
            yield from _paths(inner, (*above, key))


def _leaves(value: dict[str, object], above: KeyPath = ()) -> Iterator[tuple[KeyPath, object]]:
    """Yield the values with their paths; an empty table counts as a value, or its unknown name would go unnoticed."""
    for key, inner in value.items():
        if isinstance(inner, dict) and (inner or not above):
            yield from _leaves(inner, (*above, key))
            if not inner:
                yield (key,), {}
        else:
            yield (*above, key), inner


class SettingSource(IntEnum):
    """Where settings come from, the weakest first."""

    DEFAULT = 0
    USER = 1
    PROJECT = 2
    ENVIRONMENT = 3
    COMMAND_LINE = 4


class EffectiveSetting(msgspec.Struct, frozen=True):
    """A key's value with its origin."""

    key: str
    value: Value
    source: SettingSource = SettingSource.DEFAULT
    place: Place | None = None

    @property
    def origin(self) -> str:
        """Where the value came from, for people."""
        if self.place is not None:
            return str(self.place)
        return {SettingSource.ENVIRONMENT: "TREADLE_SET", SettingSource.COMMAND_LINE: "--set"}.get(
            self.source, "default"
        )


class EffectiveSettings(msgspec.Struct, frozen=True):
    """The settings of all sources by key; for each key the value of the strongest source."""

    by_key: dict[str, EffectiveSetting]

    def config(self, protocol: str = "") -> Config:
        """Build the configuration for a protocol."""
        tree: dict[str, dict[str, object]] = {}
        models: dict[str, dict[str, Value]] = {}
        for setting in self.in_force(protocol):
            section, *rest = setting.key.split(".")
            if section == "models":
                models.setdefault(rest[0], {})[rest[1]] = setting.value
            elif setting.value is not None:
                tree.setdefault(section, {})[rest[0]] = setting.value
        default = tree.pop(PROTOCOL)["default"]
        return msgspec.convert({**tree, "models": models, PROTOCOL: default}, Config)

    def in_force(self, protocol: str = "") -> Iterator[EffectiveSetting]:
        """Yield every key that has a value or could have one, in the order of the table of keys."""
        own = f"{PROTOCOL}.{protocol}."
        known = {key.removeprefix(own) for key in self.by_key if key.startswith(own) or self._general(key) == key}
        for key in KEYS:
            names = [name for name in sorted(known) if find_key(tuple(name.split("."))) is key]
            yield from (self.find(name, protocol) for name in (names if key.is_open else [key.name]))

    def find(self, name: str, protocol: str = "") -> EffectiveSetting:
        """Return the setting of one key for a protocol."""
        key = find_key(tuple(name.split(".")))
        default = EffectiveSetting(name, key.default if key and not key.is_open else None)
        plain = self.by_key.get(name, default)
        own = self.by_key.get(f"{PROTOCOL}.{protocol}.{name}") if protocol else None
        return msgspec.structs.replace(own, key=name) if own and own.source >= plain.source else plain

    def for_protocols(self) -> Iterator[EffectiveSetting]:
        """Yield the settings that apply to one protocol only."""
        yield from (setting for key, setting in self.by_key.items() if self._general(key) != key)

    def _general(self, key: str) -> str:
        return ".".join(general_path(tuple(key.split("."))))


# Collect the settings of all sources, and refuse unknown keys and malformed values.

VARIABLE: Final = "TREADLE_SET"
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")


def user_file(environ: Mapping[str, str]) -> Path:
    """Return the user's own settings, for all projects."""
    chosen = Path(environ.get("XDG_CONFIG_HOME", ""))
    base = chosen if chosen.is_absolute() else Path(environ.get("HOME", "/")) / ".config"
    return base / "treadle" / "config.toml"


def load_settings(
    project: Project | None, environ: Mapping[str, str], changes: Sequence[str] = (), shown: str = FILE
) -> EffectiveSettings:
    """Load the settings in force; `changes` are KEY=VALUE from the command line. One error lists all mistakes."""
    results: list[EffectiveSetting | Finding | None] = []
    files = [(SettingSource.USER, user_file(environ), str(user_file(environ)))]
    if project is not None:
        files.append((SettingSource.PROJECT, project.file, shown))
    for source, path, name in files:
        results += [_check_entry(entry, source) for entry in read_entries(read_file(path, name) or "", name)]
    try:
        pairs = shlex.split(environ.get(VARIABLE, ""))
    except ValueError:
        raise TreadleError(
            f"{VARIABLE} has a quotation mark that is not closed; write KEY=VALUE KEY='TWO WORDS'", code="config.syntax"
        ) from None
    results += [_check_pair(pair, Place(VARIABLE), SettingSource.ENVIRONMENT) for pair in pairs]
    results += [_check_pair(pair, Place("--set"), SettingSource.COMMAND_LINE) for pair in changes]

    if findings := [one for one in results if isinstance(one, Finding)]:
        many = "mistakes" if len(findings) > 1 else "a mistake"
        codes = {finding.code for finding in findings}
        raise TreadleError(
            "\n".join([f"the settings have {many}", *(f"  {finding}" for finding in findings)]),
            code=codes.pop() if len(codes) == 1 else "config.invalid",
            findings=tuple(findings),
        )
    # The weakest source is first, so that a later one replaces its values.
    return EffectiveSettings({one.key: one for one in results if isinstance(one, EffectiveSetting)})


def _check_pair(pair: str, place: Place, source: SettingSource) -> EffectiveSetting | Finding | None:
    """Read KEY=VALUE: the value as TOML if the key accepts that, else as plain text."""
    name, equals, text = pair.partition("=")
    if not equals:
        return Finding(place, _printable(name), "is not KEY=VALUE", "write `limits.agents=4`", code="config.syntax")
    path = tuple(name.strip().split("."))
    key = find_key(path)
    try:
        value: object = tomllib.loads(f"x = {text}")["x"]
    except (ValueError, RecursionError, KeyError):
        value = text
    if key and not _accepts(key, value) and _accepts(key, text):
        value = text
    return _check_entry(TomlEntry(path, value, place), source)


def _accepts(key: Key, value: object) -> bool:
    try:
        key.kind.read(value)
    except ValueError:
        return False
    return True


def _check_entry(entry: TomlEntry, source: SettingSource) -> EffectiveSetting | Finding | None:
    """Read a value by the kind of its key; None for an empty section, which sets nothing."""
    name = ".".join(entry.path)
    # A secret is refused before anything else: no other message may repeat it.
    if secret := next((kind for _, text in texts_in(entry.value) if (kind := secret_in(text))), ""):
        return Finding(entry.place, _printable(name), f"this looks like {secret}", ADVICE, code="config.secret")
    key = find_key(entry.path)
    if key is None or not all(_NAME.fullmatch(part) for part in entry.path):
        return None if entry.value == {} and entry.path[0] in SECTIONS else _explain_unknown(entry)
    try:
        return EffectiveSetting(name, key.kind.read(entry.value), source, entry.place)
    except ValueError as error:
        return Finding(entry.place, name, str(error), code="config.value")


def _explain_unknown(entry: TomlEntry) -> Finding:
    """Explain an unknown key: suggest the nearest one, or name the table or the value that belongs there."""
    path, name = general_path(entry.path), _printable(".".join(entry.path))
    what, hint, code = "this key does not exist", "`treadle config --keys` lists all keys", "config.unknown_key"
    if below := words_after(path):
        what = f"must be a table, not {toml_type_name(entry.value)}"
        hint, code = f"it holds {', '.join(below)}", "config.value"
    elif names_a_secret(path[-1]):
        what, hint, code = "this key does not exist, and credentials do not belong here", ADVICE, "config.secret"
    else:
        for depth, word in enumerate(path):
            known = words_after(path[:depth])
            if not any(one.isupper() or one == word for one in known):
                where = ".".join(path[:depth]) or "treadle.toml"
                listed = f"{where} has {', '.join(known)}" if known else f"{where} is a value"
                hint = suggest(word, known) or listed
                break
    return Finding(entry.place, name, what, hint, code=code)


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)[:120]
