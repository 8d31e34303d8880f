"""The settings that hold in the current folder, and how commands print them."""

import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import typer

from treadle.cli.documents import SettingKey, SettingKeys, SettingValue
from treadle.cli.output import print_json, print_table
from treadle.config.keys import KEYS, OF_PROTOCOL, find_key, general
from treadle.config.kinds import Value
from treadle.config.load import load_settings, user_file
from treadle.config.model import Toolchain
from treadle.config.project import FILE, current_folder, find_project
from treadle.config.settings import Setting, Settings, Source
from treadle.errors import TreadleError
from treadle.protocol.findings import suggest
from treadle.toolchains.toolchain import completed


def here(changes: Sequence[str] = ()) -> Settings:
    """What is in force in the current folder, with the command line's changes."""
    project = find_project()
    shown = os.path.relpath(project.file, current_folder()) if project else FILE
    return load_settings(project, os.environ, changes, shown)


def one(settings: Settings, name: str, protocol: str = "") -> Setting:
    """The setting of a key; an error that suggests another if there is no such key."""
    path = tuple(name.split("."))
    if find_key(path) is None:
        hint = suggest(name, (key.name for key in KEYS)) or "`treadle config --keys` lists them"
        raise TreadleError(f"there is no key '{name[:80]}' ({hint})", code="config.unknown_key")
    inner = general(path)
    return settings.find(".".join(inner), path[1] if inner != path else protocol)


def everything(settings: Settings, protocol: str) -> Iterator[Setting]:
    """What is in force; for no protocol in particular, with what holds for one of them."""
    yield from settings.in_force(protocol)
    if not protocol:
        yield from settings.for_protocols()


def print_settings(settings: Settings, protocol: str) -> None:
    """A table of what is in force, and a word on where it could be changed."""
    listed = list(everything(settings, protocol))
    lines = [(it.key, shown(it.value) or "–", it.origin) for it in listed]
    print_table(("Key", "Value", "From"), lines)
    project = find_project()
    if project is None or not project.file.is_file():
        typer.echo("\nThere is no treadle.toml here; `treadle init` writes one.")
    if project is not None and (guessed := _guessed(settings.config(protocol).toolchain, project.root)):
        typer.echo(f"\nNothing says how tests are run: {guessed}, by the files of the project.")
    if all(it.source is Source.DEFAULT for it in listed):
        typer.echo(f"Settings for all your projects belong in {user_file(os.environ)}.")
    typer.echo("\n`treadle config --keys` says what each of them means.")


def _guessed(said: Toolchain, root: Path) -> str:
    found = completed(said, root)
    if found == said:
        return ""
    return f"a run would use `{shlex.join(found.command('test', root=str(root)))}` and read it as {found.kind}"


def print_keys(*, as_json: bool) -> None:
    """Every key with what it takes and means."""
    if as_json:
        told = (SettingKey(key=it.name, kind=it.kind.name, default=it.default, help=it.help) for it in KEYS)
        print_json(SettingKeys(keys=tuple(told)))
        return
    lines = [(it.name, it.kind.name.replace("`", ""), shown(it.default) or "–", it.help) for it in KEYS]
    print_table(("Key", "Takes", "Default", "Meaning"), lines)
    typer.echo(f"\n{OF_PROTOCOL}")


def told(setting: Setting) -> SettingValue:
    """A setting for programs."""
    place = setting.place
    line = place.line if place and place.line else None
    source = setting.source.name.lower().replace("_", " ")
    file = place.file if place and setting.source in (Source.USER, Source.PROJECT) else None
    return SettingValue(key=setting.key, value=setting.value, source=source, file=file, line=line)


def shown(value: Value) -> str:
    """A value as a person would type it."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case tuple():
            return shlex.join(value)
        case float():
            return f"{value:g}"
        case _:
            return str(value)
