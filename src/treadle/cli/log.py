"""`treadle log`: everything that happened in a run."""

from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False)


@app.command("log")
def log(
    run: Annotated[str, typer.Argument(help="Which run.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print an event as JSON on each line, for programs.")] = False,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the run ends.")] = False,
) -> None:
    """Prints everything that happened in a run, one event on each line, with what followed from it."""
    from treadle.cli.output import harmless, print_json_line
    from treadle.cli.reading import Follower, find_run, reading
    from treadle.views.timeline import happened, line

    with reading() as store:
        found = Follower(store, find_run(store, run))
        for made in found.follow() if follow else found.catch_up():
            one = happened(made, store.payloads.get)
            print_json_line(one) if as_json else typer.echo(harmless(line(one)))
