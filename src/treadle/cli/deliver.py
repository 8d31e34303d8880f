"""`treadle deliver`: take the result of a run over."""

from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False)


@app.command("deliver")
def deliver(
    run: Annotated[
        str | None,
        typer.Argument(help="A run that has come to a good end; if none is named, the only one that is not delivered."),
    ] = None,
    *,
    rebase: Annotated[
        bool,
        typer.Option(
            "--rebase",
            help="If your branch has moved since the run began: rebase the result onto it and verify it there first.",
        ),
    ] = False,
    accept: Annotated[
        str,
        typer.Option("--accept", metavar="WHY", help="Deliver it though not every criterion is verified; say why."),
    ] = "",
) -> None:
    """Moves your branch forward to a run's result. Exit code 2: why not; then nothing is changed.

    A result is delivered only if every criterion is verified, or by a person's word (exit code 4).

    With --rebase, conflicts go to the run's own rebase step, if its protocol has one: the run goes on as with `resume`.
    """
    from treadle.cli.delivering import deliver as deliver_
    from treadle.cli.delivering import deliver_rebased, delivery_code
    from treadle.cli.which_run import to_deliver
    from treadle.config.project import open_project
    from treadle.engines.opening import opened_store

    project, meant = open_project(), to_deliver(run)
    with opened_store(project) as store:
        if rebase:
            raise typer.Exit(deliver_rebased(project, store, meant, accept))
        typer.echo(deliver_(project, store, meant, accept=accept))
        raise typer.Exit(delivery_code(store, meant))
