"""What is wrong with a command line, in the words of every other error.

The errors of Typer and of click are told apart by what they carry: which library raises them differs by version.
"""

import re
from typing import Any, Final, Protocol, runtime_checkable

from treadle.errors import TreadleError

_COMMAND: Final = re.compile(r"No such command '(.*?)'\.")
_NOISE: Final = re.compile(r"^Value error, |, unable to parse .*$")
_HELP: Final = "NoArgsIsHelpError"
"""Nothing is wrong, but nothing was asked for either; the message is the help, unless that is printed already."""


@runtime_checkable
class Misused(Protocol):
    """An error that Typer or click raises about the arguments."""

    exit_code: int
    message: str

    def format_message(self) -> str:
        """The sentence that the library would print."""
        ...


def of_usage(error: Misused, command: str) -> TreadleError | str:
    """The error about a command as the program tells it, or the help that is shown in its place."""
    if type(error).__name__ == _HELP:
        return error.message
    context: Any = getattr(error, "ctx", None)
    path = context.command_path if context else command
    return TreadleError(f"{_what(error, context)}; see `{path} --help`", code="usage.invalid")


def _what(error: Misused, context: Any) -> str:
    if hasattr(error, "possibilities") and hasattr(error, "option_name"):
        return _unknown("option", str(error.option_name), _options(error, context))
    if found := _COMMAND.match(error.message):
        return _unknown("command", found[1], getattr(context.command, "commands", ()) if context else ())
    param: Any = getattr(error, "param", None)
    if param is not None and hasattr(error, "param_type"):
        return f"{_named(param)} is missing" + (f": {_lowered(param.help)}" if getattr(param, "help", "") else "")
    if param is not None:
        return f"{_named(param)} {_lowered(_NOISE.sub('', error.message).replace('Input should be', 'must be'))}"
    return _lowered(error.format_message())


def _options(error: Any, context: Any) -> list[str]:
    own = [name for param in (context.command.params if context else ()) for name in param.opts if name[:1] == "-"]
    return own or list(error.possibilities or ())


def _unknown(kind: str, word: str, known: Any) -> str:
    from treadle.protocol.findings import suggest

    hint = suggest(word, known)
    return f"there is no {kind} '{word}'" + (f" ({hint})" if hint else "")


def _named(param: Any) -> str:
    """A parameter as the reference calls it."""
    return param.opts[0] if param.param_type_name == "option" else str(param.metavar or param.name.upper()).strip("[]")


def _lowered(text: str) -> str:
    return (text[:1].lower() + text[1:]).rstrip(".")
