"""`treadle run`: start a run and drive it."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, cast

import typer

app = typer.Typer(pretty_exceptions_enable=False)


class Merge(StrEnum):
    """What happens to the result."""

    AUTO = "auto"
    BRANCH = "branch"
    ASK = "ask"
    NEVER = "never"


@app.command()
def run(
    spec: Annotated[Path | None, typer.Argument(help="What is to be built; see `treadle spec new`.")] = None,
    protocol: Annotated[str | None, typer.Option("--protocol", "-p", help="By default that of the settings.")] = None,
    agent: Annotated[list[str] | None, typer.Option(help="AGENT for every role, or ROLE=AGENT.")] = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting, for this run only.")
    ] = None,
    name: Annotated[str, typer.Option(help="What the run is called; by default after the spec.")] = "",
    level: Annotated[
        int, typer.Option(min=0, max=2, help="0: you are the agents; 1: every agent waits for your go; 2: by itself.")
    ] = 2,
    merge: Annotated[Merge | None, typer.Option(help="What happens to the result.")] = None,
    only: Annotated[
        str,
        typer.Option(
            metavar="[ITEM:]PART", help="Only one part of the protocol or one step, e.g. bootstrap, US-005:bdd."
        ),
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON at the end, for programs.")] = False,
) -> None:
    """Starts a run and drives it. Exit code 0: a good end; 1: another end; 3: it waits for you."""
    from treadle.cli.driving import drive
    from treadle.cli.guard import complain
    from treadle.cli.launch import Order, prepare, run_baseline
    from treadle.cli.uncommitted import unseen
    from treadle.config.project import open_project
    from treadle.engines.opening import opened_store

    project = open_project()
    order = Order(
        spec=spec, protocol=protocol, agents=agent or (), changes=changes or (), name=name,
        level=cast("Literal[0, 1, 2]", level), merge=merge.value if merge else None, only=only,
    )  # fmt: skip
    launch = prepare(project, order)
    for note in filter(None, (unseen(project.root, [str(spec or ""), *launch.files], launch.made), *launch.notes)):
        complain(note)
    with opened_store(project, create=True) as store:
        baseline = run_baseline(launch, store, quiet=as_json)
        id_ = launch.start(store, baseline)
        complain(f"run {id_} begins")
        raise typer.Exit(drive(project, store, [id_], as_json=as_json, follow=True))
