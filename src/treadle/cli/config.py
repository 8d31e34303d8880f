"""`treadle config`: the settings in force in the current folder, and the source of each value."""

import os
import shlex
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

import msgspec
import typer

from treadle.cli.documents import document
from treadle.cli.options import JsonOption
from treadle.cli.output import print_json, print_table
from treadle.config.kinds import Value
from treadle.config.model import KEYS, OF_PROTOCOL, find_key, general_path
from treadle.config.project import FILE, current_folder, find_project
from treadle.config.settings import EffectiveSetting, EffectiveSettings, SettingSource, load_settings, user_file
from treadle.errors import TreadleError
from treadle.protocol.findings import suggest
from treadle.toolchains.toolchain import complete_settings


def config(
    key: Annotated[str | None, typer.Argument(help="Print only the value of this key.")] = None,
    protocol: Annotated[str, typer.Option("--protocol", "-p", help="Show the settings for this protocol.")] = "",
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Show the settings with this change, as for `treadle run --set`; repeatable.",
        ),
    ] = None,
    keys: Annotated[bool, typer.Option("--keys", help="List every key with its meaning.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show each setting and its source."""
    if keys:
        print_keys(as_json=as_json)
        return
    loaded = load_current_settings(changes or ())
    if key is not None:
        setting = find_setting(loaded, key, protocol)
        if as_json:
            print_json(document(Setting, describe_setting(setting)))
        else:
            typer.echo(format_value(setting.value))
    elif as_json:
        listed = tuple(map(describe_setting, list_settings(loaded, protocol)))
        print_json(Settings(settings=listed))
    else:
        print_settings(loaded, protocol)


# The JSON documents.


class SettingValue(msgspec.Struct, frozen=True, kw_only=True):
    """A setting, and where its value came from."""

    key: str
    value: Value
    source: str
    """`default`, `user`, `project`, `environment` or `command line`."""
    file: str | None
    line: int | None


class Setting(SettingValue, frozen=True, kw_only=True):
    """One setting: `treadle config KEY --json`."""

    schema: Literal[1] = 1


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that are in force: `treadle config --json`."""

    schema: Literal[1] = 1
    settings: tuple[SettingValue, ...]


class SettingKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key of `treadle.toml`; a part in capitals stands for any name."""

    key: str
    kind: str
    """The type of its value, in words."""
    default: Value
    help: str


class SettingKeys(msgspec.Struct, frozen=True, kw_only=True):
    """Every key: `treadle config --keys --json`."""

    schema: Literal[1] = 1
    keys: tuple[SettingKey, ...]


# Load, find and print settings.


def load_current_settings(changes: Sequence[str] = ()) -> EffectiveSettings:
    """Load the settings in force in the current folder, with the command line's changes."""
    project = find_project()
    shown = os.path.relpath(project.file, current_folder()) if project else FILE
    return load_settings(project, os.environ, changes, shown)


def find_setting(settings: EffectiveSettings, name: str, protocol: str = "") -> EffectiveSetting:
    """Return the setting of a key; the error about an unknown key suggests another."""
    path = tuple(name.split("."))
    if find_key(path) is None:
        hint = suggest(name, (key.name for key in KEYS)) or "`treadle config --keys` lists them"
        raise TreadleError(f"there is no key '{name[:80]}' ({hint})", code="config.unknown_key")
    inner = general_path(path)
    return settings.find(".".join(inner), path[1] if inner != path else protocol)


def list_settings(settings: EffectiveSettings, protocol: str) -> Iterator[EffectiveSetting]:
    """Yield the settings in force; without a protocol, also those set for single protocols."""
    yield from settings.in_force(protocol)
    if not protocol:
        yield from settings.for_protocols()


def print_settings(settings: EffectiveSettings, protocol: str) -> None:
    """Print a table of the settings in force, and hints on where to change them."""
    listed = list(list_settings(settings, protocol))
    lines = [(it.key, format_value(it.value) or "–", it.origin) for it in listed]
    print_table(("Key", "Value", "From"), lines)
    project = find_project()
    if project is None or not project.file.is_file():
        typer.echo("\nThere is no treadle.toml here; `treadle init` writes one.")
    if project is not None:
        toolchain = settings.config(protocol).toolchain
        guess = complete_settings(toolchain, project.root)
        if guess != toolchain:
            command = shlex.join(guess.command("test", root=str(project.root)))
            typer.echo(f"\nNo setting names a test command; runs use `{command}` and read it as {guess.kind}.")
    if all(it.source is SettingSource.DEFAULT for it in listed):
        typer.echo(f"Settings for all your projects belong in {user_file(os.environ)}.")
    typer.echo("\n`treadle config --keys` explains each of them.")


def print_keys(*, as_json: bool) -> None:
    """Print every key with its type, default and meaning."""
    if as_json:
        keys = (SettingKey(key=it.name, kind=it.kind.name, default=it.default, help=it.help) for it in KEYS)
        print_json(SettingKeys(keys=tuple(keys)))
        return
    lines = [(it.name, it.kind.name.replace("`", ""), format_value(it.default) or "–", it.help) for it in KEYS]
    print_table(("Key", "Takes", "Default", "Meaning"), lines)
    typer.echo(f"\n{OF_PROTOCOL}")


def describe_setting(setting: EffectiveSetting) -> SettingValue:
    """Convert a setting into its JSON document."""
    place = setting.place
    line = place.line if place and place.line else None
    source = setting.source.name.lower().replace("_", " ")
    file = place.file if place and setting.source in (SettingSource.USER, SettingSource.PROJECT) else None
    return SettingValue(key=setting.key, value=setting.value, source=source, file=file, line=line)


def format_value(value: Value) -> str:
    """Format a value as a person would type it."""
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
