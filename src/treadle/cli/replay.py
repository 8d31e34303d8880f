"""`treadle replay`: whether what is stored about a run is what its events lead to."""

from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False)


@app.command("replay")
def replay(
    run: Annotated[str | None, typer.Argument(help="Which run; the latest if none is named.")] = None,
) -> None:
    """Folds a run's whole log again and compares everything stored with it. Exit code 1: something differs."""
    from treadle.cli.guard import UNWELL, complain
    from treadle.cli.reading import find_run, reading
    from treadle.errors import ReplayDivergence
    from treadle.views.counting import counted

    with reading() as store:
        found = find_run(store, run)
        try:
            audit = store.audit(found.id)
        except ReplayDivergence as error:
            complain(f"run {found.id} is not as it was recorded: {error} [{error.code}]")
            complain("do not resume it; restore a backup of .treadle/local")
            raise typer.Exit(UNWELL) from None
    typer.echo(f"{found.id} is as it was recorded" + (f", and ended with {audit.outcome}" if audit.outcome else ""))
    events, upgrades = counted(audit.events, "event"), counted(audit.upgrades, "upgrade")
    typer.echo(f"  {events}, folded from the beginning, with {upgrades} of the protocol")
    typer.echo(f"  {counted(audit.snapshots, 'snapshot')}, equal to the states at their events")
    typer.echo(f"  {counted(audit.payloads, 'payload')}, each with its own hash")
    typer.echo("  the record, the timers and the outbox, as the last state wants them")
    typer.echo(f"  the chain of hashes, ending with {audit.chain}")
