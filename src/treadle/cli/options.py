"""Arguments and options that several commands share, each with its help text."""

from typing import Annotated

import typer

RunArgument = Annotated[str | None, typer.Argument(help="The run; optional if only one is unfinished.")]
LatestRunArgument = Annotated[str | None, typer.Argument(help="The run; by default the latest one.")]
QuestionArgument = Annotated[str | None, typer.Argument(help="The question, if several open ones offer this answer.")]
NoteOption = Annotated[str, typer.Option(help="A note for the next agent of that instance.")]
PartOption = Annotated[str, typer.Option(metavar="INSTANCE", help="Only this instance and those below it.")]
ResumeOption = Annotated[bool, typer.Option("--resume", help="Then resume the run, as `treadle resume` does.")]
LEVEL_HELP = "0: you do the agents' work; 1: each agent waits for `treadle go`; 2: agents start automatically."
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
JsonAtEndOption = Annotated[bool, typer.Option("--json", help="Print JSON at the end, for programs.")]
AnswerFileArgument = Annotated[str | None, typer.Argument(help="A JSON file with the answer; - reads standard input.")]
FieldsOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="A field of that exit. Write lists, numbers and objects as JSON; @FILE takes the text of a file.",
    ),
]
