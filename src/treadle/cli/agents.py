"""`treadle agents`: which agents work here, and a short trial of one."""

import asyncio
from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False)


@app.callback(invoke_without_command=True)
def agents(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Lists the agents that are known: which are installed, what each can do, and where its login is."""
    if context.invoked_subcommand:
        return
    from treadle.cli.agent_listing import listed, print_listing
    from treadle.cli.output import print_json

    found = asyncio.run(listed())
    if as_json:
        print_json(found)
    else:
        print_listing(found)


@app.command("try")
def try_(
    name: Annotated[str, typer.Argument(help="Which agent, as settings name it: claude, codex, acp:PROGRAM ARGS …")],
    played: Annotated[
        bool, typer.Option("--played", help="Play the model on loopback: no key, no cost; the program is real.")
    ] = False,
    timeout: Annotated[float, typer.Option(help="Stop it after so many seconds.", min=1)] = 240,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Puts an agent through four short steps in a scratch repository, and says what was seen. Uses its service."""
    from treadle.cli.agent_trial import tried
    from treadle.cli.agent_verdict import print_trial
    from treadle.cli.output import print_json

    found = tried(name, played=played, quiet=as_json, patience=timeout)
    if as_json:
        print_json(found)
    else:
        print_trial(found)
    raise typer.Exit(0 if found.works else 1)
