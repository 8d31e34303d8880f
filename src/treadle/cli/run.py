"""`treadle run`: turn the arguments into a run in the store (`start_run`), and drive it.

`cli.moves.continue_runs` calls `engines.driver.Driver.drive` for it, and prints what happens meanwhile.
"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, cast

import typer

from treadle.cli.options import LEVEL_HELP, JsonAtEndOption


class Merge(StrEnum):
    """The handling of a run's result."""

    AUTO = "auto"
    BRANCH = "branch"
    ASK = "ask"
    NEVER = "never"


class Minimum(StrEnum):
    """The grade that a criterion needs to be verified."""

    PROVED = "proved"
    OBSERVED = "observed"
    WORD = "word"


def run(
    spec: Annotated[
        Path | None, typer.Argument(help="The file that says what to build; `treadle spec new` writes an example.")
    ] = None,
    protocol: Annotated[
        str | None,
        typer.Option("--protocol", "-p", help="The protocol; by default the setting `protocol.default`."),
    ] = None,
    agent: Annotated[
        list[str] | None, typer.Option(help="Use AGENT for every role, or ROLE=AGENT for one role; repeatable.")
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a setting for this run only; repeatable."),
    ] = None,
    name: Annotated[str, typer.Option(help="The name of the run; by default Treadle names it after the spec.")] = "",
    level: Annotated[int, typer.Option(min=0, max=2, help=LEVEL_HELP)] = 2,
    merge: Annotated[
        Merge | None,
        typer.Option(metavar="|".join(Merge), help="Choose what happens to the result; this overrides `git.merge`."),
    ] = None,
    minimum: Annotated[
        Minimum | None,
        typer.Option(
            metavar="|".join(Minimum),
            help="Choose the grade that a criterion needs to be verified; this overrides `verification.minimum`.",
        ),
    ] = None,
    only: Annotated[
        str,
        typer.Option(
            metavar="[ITEM:]PART",
            help="Run only this part or step, such as `bootstrap`, or `US-005:bdd` for one item.",
        ),
    ] = "",
    as_json: JsonAtEndOption = False,
) -> None:
    """Start a run and drive it until it ends or asks you something.

    Exit code 0: every criterion is verified; 1: the run failed, was aborted or left criteria unverified; 3: the run
    waits for you; 4: a person accepted unverified criteria.
    """
    from treadle.cli.guard import complain
    from treadle.cli.moves import continue_runs
    from treadle.cli.run_request import RunArguments, describe_uncommitted, prepare_run, run_baseline
    from treadle.config.project import open_project
    from treadle.engines.start import start_run
    from treadle.store.sqlite import opened_store

    project = open_project()
    arguments = RunArguments(
        spec=spec, protocol=protocol, agents=agent or (), changes=changes or (), name=name,
        level=cast("Literal[0, 1, 2]", level), merge=merge.value if merge else None, only=only,
        minimum=minimum.value if minimum else None,
    )  # fmt: skip
    prepared = prepare_run(project, arguments)
    for note in filter(
        None, (describe_uncommitted(project.root, [str(spec or ""), *prepared.files], prepared.made), *prepared.notes)
    ):
        complain(note)
    with opened_store(project, create=True) as store:
        baseline = run_baseline(prepared, store, quiet=as_json)
        id_ = start_run(store, prepared.request, baseline, prepared.used)
        complain(f"run {id_} begins")
        raise typer.Exit(continue_runs(project, store, [id_], as_json=as_json, follow=True))
