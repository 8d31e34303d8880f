"""`treadle hook`: what the program of an agent that somebody else has started calls when the agent ends."""

import asyncio
from typing import Annotated

import typer

app = typer.Typer(invoke_without_command=True, pretty_exceptions_enable=False)
_AGENT = Annotated[
    list[str] | None, typer.Option("--agent", help="Only this program: claude, codex; all that are installed if none.")
]
_USER = Annotated[
    bool, typer.Option("--user", help="Your own settings of Claude Code, for all projects, instead of this project's.")
]
_DRY = Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")]


@app.callback()
def hook(
    context: typer.Context,
    legacy: Annotated[
        bool, typer.Option("--legacy", help="Also look for certain words in a HANDOFF.md without front matter.")
    ] = False,
) -> None:
    """Takes what an agent says about its step when it ends: JSON on standard input, from its program.

    Exit code 0: it may end; 2: it is to go on, standard error says why. Who works on no step is never held up.
    """
    if context.invoked_subcommand is None:
        from treadle.cli.hooking import main

        raise typer.Exit(main(legacy=legacy))


@app.command()
def install(
    agent: _AGENT = None,
    user: _USER = False,
    legacy: Annotated[bool, typer.Option("--legacy", help="Call it as `treadle hook --legacy`.")] = False,
    dry_run: _DRY = False,
) -> None:
    """Tells Claude Code and Codex to call the hook, in their settings; nothing else in them changes."""
    from treadle.cli.hook_settings import chosen, install_for

    for program in chosen(agent, user=user):
        typer.echo(install_for(program, legacy=legacy, dry_run=dry_run))


@app.command()
def uninstall(agent: _AGENT = None, user: _USER = False, dry_run: _DRY = False) -> None:
    """Takes the hook out of their settings; nothing else in them changes."""
    from treadle.cli.hook_settings import chosen, uninstall_for

    for program in chosen(agent, user=user, every=True):
        typer.echo(uninstall_for(program, dry_run=dry_run))


@app.command()
def status(as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False) -> None:
    """Says whether the hook is in force, for each program, and what is missing."""
    from treadle.cli.checkup import report
    from treadle.cli.documents import Health
    from treadle.cli.health.hooks import hook_lines
    from treadle.cli.output import print_json
    from treadle.config.project import find_project

    lines = asyncio.run(hook_lines(find_project(), told=True))
    if as_json:
        print_json(Health(lines=tuple(lines)))
    else:
        typer.echo("\n".join(list(report(lines))[:-2]))
