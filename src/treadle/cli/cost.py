"""`treadle cost`: what a run has used, and who used it."""

from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False)


@app.command("cost")
def cost(
    run: Annotated[str | None, typer.Argument(help="Which run; the latest if none is named.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Shows the tokens and the money that a run has used: by role, step, instance and attempt."""
    from treadle.cli import spending
    from treadle.cli.output import print_json
    from treadle.cli.reading import read_run, reading
    from treadle.views.cost import cost as cost_of

    with reading() as store:
        found = read_run(store, run)
    used = cost_of(found.chronicle, found.record.id)
    if as_json:
        print_json(used)
    else:
        spending.print_cost(used)
