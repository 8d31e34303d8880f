"""`treadle spec`: write down what is to be built, and check it before a run."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)


@app.callback()
def spec() -> None:
    """Write down what is to be built, and check it before a run."""


@app.command()
def new(
    file: Annotated[
        Path, typer.Argument(help="The file to write: *.yaml, *.md or *.json; -: YAML to standard output.")
    ] = Path("spec.yaml"),
    protocol: Annotated[
        str | None,
        typer.Option("--protocol", "-p", help="The protocol that is to take it; by default that of the settings."),
    ] = None,
) -> None:
    """Writes a commented example of what a protocol is given; never over a file that is there."""
    from treadle.cli import settings
    from treadle.cli.advice import word
    from treadle.cli.examine import looked_at
    from treadle.cli.files import STDOUT, write_new
    from treadle.cli.forms import in_form, keeps_notes
    from treadle.cli.library import example
    from treadle.cli.output import say

    name = protocol or settings.here().config().protocol
    looked_at(name)
    if str(file) in STDOUT:
        say(example(name), nl=False)
        return
    write_new(file, in_form(example(name), file))
    say(f"{file} is written; edit it, then `treadle spec check {word(file)} --protocol {word(name)}`")
    if not keeps_notes(file):
        again = f"treadle spec new --protocol {word(name)} -"
        say(f"JSON has no comments; `{again}` prints the example with its notes")


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help="The file to check; -: standard input, as YAML or JSON.")],
    protocol: Annotated[str | None, typer.Option("--protocol", "-p", help="Default: whichever takes it.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Checks a file against what a protocol asks for. Exit code 0: it can be run; 2: what is wrong, line by line."""
    from treadle.cli.guard import complain
    from treadle.cli.output import print_json, say
    from treadle.cli.specs import judged

    found = judged(file, protocol)
    if json:
        print_json(found.as_json())
    elif found.protocols:
        say(str(found))
    else:
        complain(str(found))
    if not found.protocols:
        raise typer.Exit(2)
