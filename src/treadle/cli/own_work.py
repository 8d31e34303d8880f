"""The work of a person who is an agent: which, and how it is handed in."""

from collections.abc import Sequence
from pathlib import Path

import typer

from treadle.cli.activity_page import read_story, refusal
from treadle.cli.guard import UNWELL
from treadle.cli.handing_in import STDIN, answer, refuse
from treadle.cli.reading import read_run
from treadle.config.project import Project, current_folder, open_project, owner_of
from treadle.engines.client import Client, login_name
from treadle.engines.opening import opened_store
from treadle.errors import TreadleError
from treadle.ports import Work
from treadle.protocol.exit_name import exit_name
from treadle.results.assignment import Assignment
from treadle.results.exits import read_exits
from treadle.results.faulty import Faulty
from treadle.store.sqlite import Store
from treadle.views.exit_words import exit_words


def in_hand(run: str, step: str) -> Work:
    """The activity that is meant; an error lists those there are."""
    project = around()
    with opened_store(project) as store:
        if run and (outcome := store.run(run).outcome):
            raise TreadleError(
                f"{run} has ended with {outcome}; there is nothing to hand in any more", code="run.ended"
            )
        return Client(project, store).work(run, step, current_folder())


def named(run: str, file: str | None) -> tuple[str, str | None]:
    """Run and file of a command; where no run is named, what stands in its place is the file."""
    if file is not None or not run or not (run == STDIN or Path(run).is_file()):
        return run, file
    with opened_store(around()) as store:
        return (run, file) if run in [one.id for one in store.runs()] else ("", run)


def around() -> Project:
    """The project that the work is of, also from inside of the folder that is a person's."""
    return owner_of(current_folder()) or open_project()


def judged(project: Project, store: Store, work: Work) -> int:
    """Say why the checks have refused what was handed in, if they have; the exit code for that."""
    found = read_run(store, work.run)
    lines = list(refusal(read_story(project, store, found, work.act)))
    for line in lines:
        typer.echo(line)
    if not lines and work.act in found.chronicle.state.acts:
        typer.echo(f"it is being checked; `treadle show {work.run} {work.act}` tells what comes of it")
    return UNWELL if lines else 0


def hand_in(work: Work, file: str | None, exit_: str | None, fields: Sequence[str]) -> str:
    """Check an answer and leave it where the run finds it; what is said about it."""
    ways = read_exits(work.bundle)
    if file is None and exit_ is None:
        names = " | ".join(exit_name(ways.protocol, name) for name in ways.exits)
        raise TreadleError(
            f"say how {work.step} ended: --exit {names}, or a FILE with the answer", code="usage.missing"
        )
    task = Assignment(
        act=work.act, token=work.token, retry=work.retry, bundle=work.bundle, out=work.out, ways=ways
    )  # fmt: skip
    given = answer(ways, file, exit_, fields, option="--exit")
    found = given if isinstance(given, Faulty) else task.hand_in(given, "emit", login_name())
    if isinstance(found, Faulty):
        refuse(found)
    return f"{work.step} is handed in: {exit_words(ways.protocol, found.key)}"
