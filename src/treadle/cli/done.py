"""`treadle done`: hand in the work that a person did as an agent."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from treadle.cli.emit import STDIN, answer_from_command_line, refuse_answer
from treadle.cli.guard import UNWELL
from treadle.cli.moves import move
from treadle.cli.options import AnswerFileArgument, FieldsOption, ResumeOption
from treadle.cli.run_reader import read_run
from treadle.cli.show import explain_refusal, read_story
from treadle.config.project import Project, current_folder, open_project, owner_of
from treadle.engines.client import Client, login_name
from treadle.errors import TreadleError
from treadle.ports import Work
from treadle.protocol.model import exit_name
from treadle.results.assignment import Assignment
from treadle.results.exits import read_exits
from treadle.results.intake import Faulty
from treadle.store.sqlite import Store, opened_store
from treadle.views.words import exit_words


def done(
    run: Annotated[str, typer.Argument(help="The run; needed only if several wait for you.")] = "",
    file: AnswerFileArgument = None,
    exit_: Annotated[
        str | None,
        typer.Option(
            "--exit", metavar="EXIT", help="The exit (one of the step's possible answers), if you give no file."
        ),
    ] = None,
    field: FieldsOption = None,
    step: Annotated[str, typer.Option(help="The step; needed only if several wait for your work.")] = "",
    resume: ResumeOption = False,
) -> None:
    """Hand in your own work on a step and watch each check.

    Exit code 0: no check refused the work; 1: a check refused it; 2: the input is wrong.
    """
    run, file = split_run_and_file(run, file)
    work = find_own_work(run, step)
    code = move(
        work.run,
        lambda _client, _run: hand_in(work, file, exit_, field or []),
        resume=resume,
        still=lambda state: work.act in state.acts,
        verdict=lambda project, store, _run: print_refusal(project, store, work),
        project=find_own_project(),
        shows_checks=True,
    )
    raise typer.Exit(code)


# The work of a person who acts as an agent: find it, and hand it in.


def find_own_work(run: str, step: str) -> Work:
    """Find the activity to hand in; an error lists the candidates."""
    project = find_own_project()
    with opened_store(project) as store:
        if run and (outcome := store.run(run).outcome):
            raise TreadleError(
                f"{run} has ended with {outcome}; there is nothing to hand in any more", code="run.ended"
            )
        return Client(project, store).work(run, step, current_folder())


def split_run_and_file(run: str, file: str | None) -> tuple[str, str | None]:
    """Return the run and the file; if only one word is given and it names a file but no run, it is the file."""
    if file is not None or not run or not (run == STDIN or Path(run).is_file()):
        return run, file
    with opened_store(find_own_project()) as store:
        return (run, file) if run in [one.id for one in store.runs()] else ("", run)


def find_own_project() -> Project:
    """Find the project of the work, also from inside a lane."""
    return owner_of(current_folder()) or open_project()


def print_refusal(project: Project, store: Store, work: Work) -> int:
    """Print why the checks refused the work, if they did, and return the exit code."""
    found = read_run(store, work.run)
    lines = list(explain_refusal(read_story(project, store, found, work.act)))
    for line in lines:
        typer.echo(line)
    if not lines and work.act in found.chronicle.state.acts:
        typer.echo(f"the checks are still running; `treadle show {work.run} {work.act}` shows their result")
    return UNWELL if lines else 0


def hand_in(work: Work, file: str | None, exit_: str | None, fields: Sequence[str]) -> str:
    """Check an answer, store it where the run finds it, and return a sentence about it."""
    step_exits = read_exits(work.bundle)
    if file is None and exit_ is None:
        names = " | ".join(exit_name(step_exits.protocol, name) for name in step_exits.exits)
        raise TreadleError(
            f"say how {work.step} ended: --exit {names}, or a FILE with the answer", code="usage.missing"
        )
    task = Assignment(
        act=work.act, token=work.token, retry=work.retry, bundle=work.bundle, out=work.out, step_exits=step_exits
    )  # fmt: skip
    given = answer_from_command_line(step_exits, file, exit_, fields, option="--exit")
    found = given if isinstance(given, Faulty) else task.hand_in(given, "emit", login_name())
    if isinstance(found, Faulty):
        refuse_answer(found)
    return f"{work.step} is handed in: {exit_words(step_exits.protocol, found.key)}"
