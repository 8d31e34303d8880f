"""The commands that act on a run: `answer`, `go`, `retry`, `skip`, `send`, `pause`, `resume`, `level` and `abort`.

Each finds the run that its words name or imply, and posts an event to it; a running driver acts on that at once, and
`--resume` drives the run here. The engine is imported only when a command runs: `--help` and completion stay quick.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from treadle.cli.options import (
    LEVEL_HELP,
    JsonAtEndOption,
    NoteOption,
    QuestionArgument,
    ResumeOption,
    RunArgument,
)

if TYPE_CHECKING:
    from treadle.config.project import Project
    from treadle.engines.client import Client
    from treadle.store.sqlite import Store


def answer(
    run: RunArgument = None,
    ask_or_choice: Annotated[
        str | None, typer.Argument(metavar="[ASK]", help="The id of the question; needed only if several are open.")
    ] = None,
    choice: Annotated[str | None, typer.Argument(metavar="CHOICE", help="The answer.")] = None,
    note: Annotated[
        str, typer.Option(help="A note for the next agent of the instance that asked; some answers need it.")
    ] = "",
    resume: ResumeOption = False,
) -> None:
    """Answer a question of a run.

    If a process drives the run, that process acts on the answer at once. If not, add `--resume`.

    If this command drives the run to its end, the exit codes are those of `treadle run`.
    """
    from treadle.cli.moves import move

    def act(client: "Client", run: str, *words: str) -> str:
        ask, chosen = ("", "", *words)[-2:]
        return f"{client.answer(run, chosen, ask=ask, note=note).title}: {chosen}"

    raise typer.Exit(move([run, ask_or_choice, choice], act, beside=2, resume=resume))


def retry(
    run: RunArgument = None, ask: QuestionArgument = None, note: NoteOption = "", resume: ResumeOption = False
) -> None:
    """Answer `retry` to the open question that offers it."""
    from treadle.cli.moves import move

    raise typer.Exit(move([run, ask], _choose("retry", note), beside=1, resume=resume))


def skip(
    run: RunArgument = None, ask: QuestionArgument = None, note: NoteOption = "", resume: ResumeOption = False
) -> None:
    """Answer `skip` to the open question that offers it."""
    from treadle.cli.moves import move

    raise typer.Exit(move([run, ask], _choose("skip", note), beside=1, resume=resume))


def _choose(choice: str, note: str) -> "Callable[..., str]":
    def act(client: "Client", run: str, ask: str = "") -> str:
        return f"{client.answer(run, choice, ask=ask, note=note).title}: {choice}"

    return act


def go(
    run: RunArgument = None,
    step: Annotated[str | None, typer.Argument(help="The step, or a command of the protocol, such as /rev.")] = None,
    words: Annotated[
        list[str] | None,
        typer.Argument(help="The arguments of the command, such as Λ2 MODULE for /arch-critic."),
    ] = None,
    at: Annotated[
        str, typer.Option(metavar="INSTANCE", help="The instance; needed only if several have that step.")
    ] = "",
    resume: ResumeOption = False,
) -> None:
    """Start a step that waits for you, or run a command of the protocol, such as /rev."""
    from treadle.cli.moves import move

    arguments = [run, step, *(words or ())]
    beside = len(arguments) if (run or "").startswith("/") else 1

    def act(client: "Client", run: str, *words: str) -> str:
        return f"{client.go(run, *words, at=at)} may start"

    raise typer.Exit(move(arguments, act, beside=beside, resume=resume))


def send(
    run: RunArgument = None,
    signal: Annotated[
        str | None, typer.Argument(metavar="SIGNAL", help="A signal of the protocol, such as StatusQuery.")
    ] = None,
    text: Annotated[str | None, typer.Argument(help="The text of the signal.")] = None,
    at: Annotated[
        str, typer.Option(metavar="INSTANCE", help="The instance that gets the signal; root is the run itself.")
    ] = "root",
    resume: ResumeOption = False,
) -> None:
    """Send a signal to an instance of a run: to root, or to one below it.

    The instance handles the signal between two steps. The command prints the instance's current step.
    """
    from treadle.cli.moves import move
    from treadle.cli.output import harmless
    from treadle.engines.status import read_status

    def act(client: "Client", run: str, name: str = "", text: str = "") -> str:
        client.send(run, name, text, at=at)
        return f"sent {name} to {at}"

    def print_position(project: "Project", store: "Store", run: str) -> int:
        for line in read_status(project, store, run).lines:
            if line.instance == at:
                typer.echo(harmless(f"{at}: {f'{line.step} · ' if line.step else ''}{line.text}"))
        return 0

    raise typer.Exit(move([run, signal, text], act, beside=2, resume=resume, verdict=print_position))


def level(
    level: Annotated[int, typer.Argument(min=0, max=2, metavar="LEVEL", help=LEVEL_HELP)],
    run: RunArgument = None,
    resume: ResumeOption = False,
) -> None:
    """Set the automation level of a run. Running agents finish first; later steps use the new level."""
    from treadle.cli.moves import move

    def act(client: "Client", run: str) -> str:
        client.level(run, cast("Literal[0, 1, 2]", level))
        return f"{run} continues at level {level}"

    raise typer.Exit(move([run], act, resume=resume))


_PAUSED_PART = Annotated[
    str, typer.Option(metavar="INSTANCE", help="Pause only this instance and all below it; root is the whole run.")
]
_ENDED_PART = Annotated[
    str, typer.Option(metavar="INSTANCE", help="End only this instance and all below it; root is the whole run.")
]


def pause(run: RunArgument = None, at: _PAUSED_PART = "root") -> None:
    """Pause a run: let running agents finish, and start no others. `treadle resume` continues the run."""
    from treadle.cli.moves import move

    def act(client: "Client", run: str) -> str:
        client.pause(run, at=at)
        return f"asked {run if at == 'root' else f'{at} of {run}'} to pause"

    raise typer.Exit(move([run], act))


def abort(run: RunArgument = None, at: _ENDED_PART = "root") -> None:
    """End a run for good: stop its agents, keep their work, and merge nothing more."""
    from treadle.cli.moves import move

    def act(client: "Client", run: str) -> str:
        client.abort(run, at=at)
        return f"asked {run if at == 'root' else f'{at} of {run}'} to abort"

    move([run], act)  # exit code 0: the user asked for this end


def resume(
    run: Annotated[
        str | None, typer.Argument(help="The run; by default every unfinished run that no process drives.")
    ] = None,
    as_json: JsonAtEndOption = False,
) -> None:
    """Resume paused or interrupted runs.

    The exit codes are those of `treadle run`.
    """
    from treadle.cli.moves import continue_runs, prepare_resume, resume_elsewhere
    from treadle.config.project import open_project
    from treadle.store.sqlite import opened_store

    project = open_project()
    with opened_store(project) as store:
        if run and resume_elsewhere(project, store, run, as_json=as_json):
            return
        raise typer.Exit(continue_runs(project, store, prepare_resume(project, store, run), as_json=as_json))
