"""`treadle gc`: forgets runs that have ended."""

from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False)


@app.command("gc")
def gc(
    run: Annotated[str | None, typer.Option("--run", help="Only this run, however old.")] = None,
    older_than: Annotated[str, typer.Option(help="Runs that ended longer ago than this: 30d, 12h, 0.")] = "30d",
    branches: Annotated[bool, typer.Option("--branches", help="Remove the branches with their results, too.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be freed.")] = False,
) -> None:
    """Removes runs that have ended: their events, files, refs, and payloads nobody else needs. Results stay."""
    from treadle.cli.forgetting import meant, said
    from treadle.config.project import open_project
    from treadle.engines.cleaning import clean
    from treadle.engines.opening import opened_store

    project = open_project()
    with opened_store(project) as store:
        freed = clean(project, store, meant(store, run, older_than), dry=dry_run, branches=branches)
    for line in said(freed, dry=dry_run):
        typer.echo(line)
