"""`treadle config`: the settings in force, and the source of each value."""

from typing import Annotated

import typer

from treadle.cli.options import JsonOption


def config(
    key: Annotated[str | None, typer.Argument(help="Print only this key's value.")] = None,
    protocol: Annotated[
        str, typer.Option("--protocol", "-p", help="Show the settings as they hold for this protocol.")
    ] = "",
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Show the settings with this change, as for `treadle run --set`."
        ),
    ] = None,
    keys: Annotated[bool, typer.Option("--keys", help="List every key with its meaning.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show the settings in force and where each came from."""
    from treadle.cli import settings
    from treadle.cli.documents import document
    from treadle.cli.output import print_json

    if keys:
        settings.print_keys(as_json=as_json)
        return
    loaded = settings.load_current_settings(changes or ())
    if key is not None:
        setting = settings.find_setting(loaded, key, protocol)
        if as_json:
            print_json(document(settings.Setting, settings.describe_setting(setting)))
        else:
            typer.echo(settings.format_value(setting.value))
    elif as_json:
        listed = tuple(map(settings.describe_setting, settings.list_settings(loaded, protocol)))
        print_json(settings.Settings(settings=listed))
    else:
        settings.print_settings(loaded, protocol)
