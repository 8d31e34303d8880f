"""`treadle say`: speak to a project in plain words."""

from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def say(
    words: Annotated[
        list[str], typer.Argument(metavar="WORDS", help='What there is to say: "continue cart-app"; "help" lists it.')
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON at the end, for programs.")] = False,
) -> None:
    """Says something to a project: continue, status, approve, reject: WHY, 30 seconds others OK, stop for today, …"""
    from treadle.cli.saying import say_to

    raise typer.Exit(say_to(" ".join(words), as_json=as_json))
