"""Arguments and options that several commands share, each with its help text."""

from typing import Annotated

import typer

RunArgument = Annotated[str | None, typer.Argument(help="The run; optional if only one is unfinished.")]
LatestRunArgument = Annotated[str | None, typer.Argument(help="The run; by default the latest one.")]
QuestionArgument = Annotated[
    str | None, typer.Argument(help="The id of the question; needed only if several offer this answer.")
]
NoteOption = Annotated[str, typer.Option(help="A note for the next agent of the instance that asked.")]
ResumeOption = Annotated[
    bool, typer.Option("--resume", help="Resume the run afterwards; the exit codes are then those of `treadle run`.")
]
LEVEL_HELP = "0: you do the agents' work; 1: each agent waits for `treadle go`; 2: agents start automatically."
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
JsonAtEndOption = Annotated[bool, typer.Option("--json", help="Print JSON at the end, for programs.")]
AnswerFileArgument = Annotated[str | None, typer.Argument(help="A JSON file with the answer; - reads standard input.")]
FieldsOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="A field of that exit; repeatable. Write lists, numbers and objects as JSON; @FILE reads a file's text.",
    ),
]
