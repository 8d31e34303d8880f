"""`treadle spec`: write down what is to be built, and check it before a run."""

from pathlib import Path
from typing import Annotated

import typer

from treadle.cli.output import write_new

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)


@app.callback()
def spec() -> None:
    """Write down what is to be built, and check it before a run."""


@app.command()
def new(
    protocol: Annotated[str, typer.Option("--protocol", "-p", help="The protocol that is to take it.")],
    file: Annotated[Path, typer.Argument(help="The file to write.")] = Path("spec.yaml"),
) -> None:
    """Writes a commented example of what a protocol is given; never over a file that is there."""
    from treadle.cli.library import example

    write_new(file, example(protocol))
    typer.echo(f"{file} is written; edit it, then `treadle spec check {file} --protocol {protocol}`")


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help="The file to check.")],
    protocol: Annotated[str | None, typer.Option("--protocol", "-p", help="Default: whichever takes it.")] = None,
) -> None:
    """Checks a file against what a protocol asks for. Exit code 0: it can be run; 2: what is wrong, line by line."""
    from treadle.cli.specs import accepted_by

    typer.echo(f"{file} is good for {', '.join(accepted_by(file, protocol))}")
