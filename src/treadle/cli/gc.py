"""`treadle gc`: removes what finished work leaves behind, and forgets runs if asked to."""

from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False)


@app.command("gc")
def gc(
    run: Annotated[str | None, typer.Option("--run", help="Forget this run, which must have ended.")] = None,
    older_than: Annotated[
        str | None, typer.Option(help="Also forget runs that ended longer ago than this: 30d, 12h, 0.")
    ] = None,
    branches: Annotated[
        bool, typer.Option("--branches", help="Remove the result branches of forgotten runs, too.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be freed.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Removes what nobody can want any more: lanes, worktrees, refs and caches of ended runs, and leftovers of crashes.

    Undelivered results, evidence and unfinished runs stay. `--run` and `--older-than` forget runs with their evidence.
    """
    import asyncio

    from treadle.cli.forgetting import Collected, meant, said
    from treadle.cli.output import print_json
    from treadle.config.project import open_project
    from treadle.engines.cleaning import clean, refuse_links
    from treadle.engines.opening import opened_store
    from treadle.engines.tidying import tidy
    from treadle.errors import TreadleError

    if branches and run is None and older_than is None:
        text = "--branches says which runs lose their result: add --run RUN or --older-than AGE"
        raise TreadleError(text, code="gc.branches")
    project = open_project()
    with opened_store(project) as store:
        refuse_links(project)
        runs = meant(store, run, older_than)
        tidied = None if run else asyncio.run(tidy(project, store, dry=dry_run))
        cleaned = clean(project, store, runs, dry=dry_run, branches=branches)
    if as_json:
        print_json(Collected(dry_run=dry_run, tidied=tidied, forgotten=cleaned))
    else:
        for line in said(tidied, cleaned, dry=dry_run):
            typer.echo(line)
