"""`treadle emit`: an agent's program hands in the exit of its step."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final, NoReturn

import typer

from treadle.cli.options import AnswerFileArgument, FieldsOption
from treadle.errors import TreadleError
from treadle.results.assignment import RECEIVED, assignment, from_arguments
from treadle.results.exits import StepExits
from treadle.results.intake import Faulty, decode, read_file


def emit(
    file: AnswerFileArgument = None,
    type_: Annotated[
        str | None,
        typer.Option(
            "--type", metavar="EXIT", help="The exit (one of the step's possible answers), if you give no file."
        ),
    ] = None,
    field: FieldsOption = None,
) -> None:
    """Hand in an agent's answer to a step: one of the step's exits, with its fields. Agents call this command.

    Exit code 0: Treadle received the answer; 2: Treadle refused it and printed why.
    """
    task = assignment(os.environ)
    given = answer_from_command_line(task.step_exits, file, type_, field or [])
    found = given if isinstance(given, Faulty) else task.hand_in(given, "emit")
    if isinstance(found, Faulty):
        refuse_answer(found)
    typer.echo(f"{found.key}: {RECEIVED}")


# The source of the answer for `treadle emit`, and its refusal.

STDIN: Final = "-"
_USAGE: Final = "give a FILE, - for standard input, or {} NAME with --field name=value"


def answer_from_command_line(
    step_exits: StepExits, file: str | None, type_: str | None, fields: Sequence[str], option: str = "--type"
) -> object | Faulty:
    """Return the answer that a command line gives: in its options, in a file, or on standard input."""
    if (file is None) == (type_ is None):
        usage = _USAGE.format(option)
        raise TreadleError(
            f"nothing to hand in; {usage}" if file is None else f"give only one of both: {usage}", code="usage.missing"
        )
    if type_ is not None:
        return from_arguments(step_exits, type_, fields, option)
    if fields:
        raise TreadleError(f"--field needs {option}; a FILE has its own fields", code="usage.conflict")
    if file is None or file == STDIN:
        return decode(sys.stdin.buffer.read(step_exits.limit + 1), "the answer", step_exits.limit)
    real = Path(os.path.realpath(file))  # unlike `resolve`, it never raises
    data = read_file(real.parent, real.name, file, step_exits.limit)
    if data is None:
        raise TreadleError(f"there is no file {file}; {_USAGE.format(option)}", code="file.missing")
    return data if isinstance(data, Faulty) else decode(data, file, step_exits.limit)


def refuse_answer(found: Faulty) -> NoReturn:
    """Print the problems of an answer, one per line, and exit."""
    raise TreadleError("\n  ".join(("not accepted:", *found.problems)), code="result.refused")
