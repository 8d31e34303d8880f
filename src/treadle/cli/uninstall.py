"""`treadle uninstall`: removes every trace of Treadle from a project."""

from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False)


@app.command("uninstall")
def uninstall(
    yes: Annotated[bool, typer.Option("--yes", help="Remove without asking.")] = False,
    config: Annotated[
        bool, typer.Option("--config", help="Remove treadle.toml, and protocols and overlays in .treadle, too.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Also with unfinished runs and undelivered results, which are lost.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would be removed.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Removes Treadle from this project: refs, branches, lanes, runs with their evidence, memory, hooks.

    Your commits and files stay. It lists what it will remove, and asks.
    """
    import asyncio
    import sys

    from treadle.cli.output import print_json, say
    from treadle.cli.traces import Uninstalling, listed, refuse
    from treadle.config.project import open_project
    from treadle.errors import TreadleError

    uninstalling = Uninstalling(open_project(), config=config)
    traces = asyncio.run(uninstalling.find())
    if not as_json:
        say("nothing to remove" if traces.is_nothing else f"to be removed from {traces.root}:")
        for line in listed(traces):
            say(line)
    if not dry_run and not traces.is_nothing:
        refuse(traces, force=force)
        is_person = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty() and not as_json
        if not yes and not (is_person and typer.confirm("Remove all of this?", default=False)):
            raise TreadleError("nothing was removed; --yes removes it without asking", code="uninstall.unconfirmed")
        traces = asyncio.run(uninstalling.remove(traces))
        if not as_json:
            say("removed")
    if as_json:
        print_json(traces)
