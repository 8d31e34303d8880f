"""`treadle config`: what is in force, and where each value came from."""

from typing import Annotated

import typer

from treadle.cli.output import print_json

app = typer.Typer(pretty_exceptions_enable=False)


@app.command("config")
def config(
    key: Annotated[str | None, typer.Argument(help="Print only this key's value.")] = None,
    protocol: Annotated[str, typer.Option("--protocol", "-p", help="As it holds for this protocol.")] = "",
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="As a run would take it.")
    ] = None,
    keys: Annotated[bool, typer.Option("--keys", help="List every key with its meaning instead.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Shows the settings that are in force, and where each of them came from."""
    from treadle.cli import settings
    from treadle.cli.documents import Setting, Settings, document

    if keys:
        settings.print_keys(as_json=as_json)
        return
    loaded = settings.here(changes or ())
    if key is not None:
        setting = settings.one(loaded, key, protocol)
        print_json(document(Setting, settings.told(setting))) if as_json else typer.echo(settings.shown(setting.value))
    elif as_json:
        told = tuple(settings.told(setting) for setting in settings.everything(loaded, protocol))
        print_json(Settings(settings=told))
    else:
        settings.print_settings(loaded, protocol)
