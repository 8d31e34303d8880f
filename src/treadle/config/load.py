"""Gathers the settings from all places, and refuses what it does not understand."""

import re
import shlex
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from treadle.config.keys import KEYS, SECTIONS, Key, find_key, general, neighbours
from treadle.config.kinds import called
from treadle.config.project import FILE, Project
from treadle.config.secrets import ADVICE, names_a_secret, secret_in
from treadle.config.settings import Setting, Settings, Source, merged
from treadle.config.toml import Entry, entries, read_file
from treadle.errors import TreadleError
from treadle.protocol.findings import Finding, Place, suggest

VARIABLE: Final = "TREADLE_SET"
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")


def load_settings(
    project: Project | None, environ: Mapping[str, str], changes: Sequence[str] = (), shown: str = FILE
) -> Settings:
    """Everything that is in force; `changes` are the command line's KEY=VALUE. All mistakes are told at once."""
    findings: list[Finding] = []
    layers = [_file(user_file(environ), str(user_file(environ)), Source.USER, findings)]
    if project is not None:
        layers.append(_file(project.file, shown, Source.PROJECT, findings))
    layers.append(_pairs(_variable(environ), VARIABLE, Source.ENVIRONMENT, findings))
    layers.append(_pairs(changes, "--set", Source.COMMAND_LINE, findings))
    if findings:
        many = "there are mistakes" if len(findings) > 1 else "there is a mistake"
        codes = {finding.code for finding in findings}
        raise TreadleError(
            "\n".join([f"{many} in the settings", *(f"  {finding}" for finding in findings)]),
            code=codes.pop() if len(codes) == 1 else "config.invalid",
            findings=tuple(findings),
        )
    return merged(layers)


def user_file(environ: Mapping[str, str]) -> Path:
    """The user's own settings, for all projects."""
    given = Path(environ.get("XDG_CONFIG_HOME", ""))
    base = given if given.is_absolute() else Path(environ.get("HOME", "/")) / ".config"
    return base / "treadle" / "config.toml"


def _file(path: Path, shown: str, source: Source, findings: list[Finding]) -> dict[str, Setting]:
    text = read_file(path, shown)
    return _layer(entries(text, shown) if text is not None else [], source, findings)


def _layer(said: Iterable[Entry], source: Source, findings: list[Finding]) -> dict[str, Setting]:
    settings = {}
    for entry in said:
        found = _setting(entry, source)
        if isinstance(found, Finding):
            findings.append(found)
        elif found is not None:
            settings[found.key] = found
    return settings


def _setting(entry: Entry, source: Source) -> Setting | Finding | None:
    name = ".".join(entry.path)
    secret = next((kind for text in _texts(entry.value) if (kind := secret_in(text))), "")
    if secret:
        return Finding(entry.place, _printable(name), f"this looks like {secret}", ADVICE, code="config.secret")
    key = find_key(entry.path)
    if key is None or not all(_NAME.fullmatch(part) for part in entry.path):
        return None if entry.value == {} and entry.path[0] in SECTIONS else _unknown(entry)
    try:
        return Setting(name, key.kind.read(entry.value), source, entry.place)
    except ValueError as error:
        return Finding(entry.place, name, str(error), code="config.value")


def _texts(value: object) -> list[str]:
    """Every text in a value, however deep."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return [text for one in inner for text in _texts(one)]


def _unknown(entry: Entry) -> Finding:
    """What to say about a key that is in no table: the nearest one, or that it holds too little or too much."""
    path, name = entry.path, _printable(".".join(entry.path))
    below = sorted({key.parts[len(path)] for key in KEYS if _begins(key, general(path)) and len(key.parts) > len(path)})
    if below:
        return Finding(
            entry.place,
            name,
            f"must be a table, not {called(entry.value)}",
            f"it holds {', '.join(below)}",
            code="config.value",
        )
    if names_a_secret(path[-1]):
        return Finding(
            entry.place, name, "there is no such key, and credentials do not belong here", ADVICE, code="config.secret"
        )
    for depth in range(1, len(general(path)) + 1):
        part = general(path)[:depth]
        known = sorted(set(neighbours(part)))
        if not any(word.isupper() or word == part[-1] for word in known):
            where = ".".join(part[:-1]) or "the file"
            hint = suggest(part[-1], known) or (f"{where} has {', '.join(known)}" if known else f"{where} is a value")
            return Finding(entry.place, name, "there is no such key", hint, code="config.unknown_key")
    return Finding(
        entry.place, name, "there is no such key", "`treadle config` lists them all", code="config.unknown_key"
    )


def _begins(key: Key, path: tuple[str, ...]) -> bool:
    return all(mine.isupper() or mine == theirs for mine, theirs in zip(key.parts, path, strict=False))


def _variable(environ: Mapping[str, str]) -> list[str]:
    try:
        return shlex.split(environ.get(VARIABLE, ""))
    except ValueError:
        raise TreadleError(
            f"{VARIABLE} has a quotation mark that is not closed; write KEY=VALUE KEY='TWO WORDS'", code="config.syntax"
        ) from None


def _pairs(pairs: Iterable[str], shown: str, source: Source, findings: list[Finding]) -> dict[str, Setting]:
    said: dict[str, Setting] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            findings.append(
                Finding(
                    Place(shown), _printable(name), "is not KEY=VALUE", "write `limits.agents=4`", code="config.syntax"
                )
            )
            continue
        path = tuple(name.strip().split("."))
        said |= _layer([Entry(path, _plain(path, text), Place(shown))], source, findings)
    return said


def _plain(path: tuple[str, ...], text: str) -> object:
    """A value as the command line gives it: TOML if the key takes it so, else the text itself."""
    key = find_key(path)
    try:
        value: object = tomllib.loads(f"x = {text}")["x"]
    except (ValueError, RecursionError, KeyError):
        return text
    return value if key is None or _reads(key, value) or not _reads(key, text) else text


def _reads(key: Key, value: object) -> bool:
    try:
        key.kind.read(value)
    except ValueError:
        return False
    return True


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)[:120]
