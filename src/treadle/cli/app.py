"""The commands. The module of each is imported only when it runs: importing all of them is slow.

A plain command (`treadle demo`) is the function of that name in `treadle.cli.demo`, or in a module that MODULES names.
A group (`treadle protocol list`) is the `app: typer.Typer` of its module.
"""

import os
import re
import sys
from importlib import import_module
from typing import Annotated, Any, Final, Protocol, runtime_checkable

import typer
from typer.main import get_command

from treadle import __version__
from treadle.cli.guard import guard
from treadle.errors import TreadleError

COMMANDS = {
    "demo": "Watch scripted agents build a small library in a real git repository.",
    "config": "Show each setting and its source.",
    "init": "Detect the project's tools and write a commented treadle.toml.",
    "doctor": "Check git, SQLite, test tools, agents, sandboxes and the project.",
    "emit": "Hand in an agent's answer to a step.",
    "mcp": "Serve MCP tools for a step's answer, or for the project's memory.",
    "run": "Start a run and drive it until it ends or asks you something.",
    "resume": "Resume paused or interrupted runs.",
    "say": "Talk to a project in plain words: continue, status, approve, …",
    "answer": "Answer a question of a run.",
    "go": "Start a step that waits for you, or run a command of the protocol.",
    "retry": "Answer `retry` to the open question that offers it.",
    "skip": "Answer `skip` to the open question that offers it.",
    "send": "Send a signal to an instance of a run.",
    "pause": "Pause a run: let running agents finish, and start no others.",
    "level": "Set the automation level of a run.",
    "abort": "End a run for good, and keep its agents' work.",
    "done": "Hand in your own work on a step and watch each check.",
    "deliver": "Move your branch to a run's verified result.",
    "serve": "Drive every unfinished run of this project as a service.",
    "runs": "List the project's runs, latest first.",
    "status": "Show the state of runs: steps, attempts, open questions, cost.",
    "log": "Print a run's events.",
    "show": "Show one activity or one question in full.",
    "evidence": "Show the proof for each criterion: tests, failing and passing runs, review, merge.",
    "cost": "Show the tokens and the money that a run used.",
    "replay": "Replay a run's log and compare the result with the stored state.",
    "gc": "Remove what ended runs and crashes left behind.",
    "uninstall": "Remove Treadle from this project.",
    "model-server": "Serve a scripted model, to try agents without a real model.",
}
GROUPS = {
    "agents": "List the known agents, or try one.",
    "hook": "Check the work of agents that you started yourself, before they stop.",
    "memory": "Read, import and export what agents remember of a project.",
    "projects": "Register projects by name, for `treadle say`.",
    "protocol": "List, check, draw, simulate and create protocols.",
    "spec": "Write and check specs, which say what to build.",
}
MODULES = dict.fromkeys(("answer", "go", "retry", "skip", "send", "pause", "resume", "level", "abort"), "steer")
"""The module of a command, where several share one."""


def main() -> int:
    """Run the command that the arguments name."""
    return guard(_run)


def _run() -> None:
    """Exit with the command's exit code; turn usage errors into Treadle's own error messages."""
    try:
        code = use_plain_help(get_command(build(sys.argv[1:])))(prog_name="treadle", standalone_mode=False)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except Exception as error:
        if not isinstance(error, UsageMistake):
            raise
        words = ["treadle", *(it for it in sys.argv[1:2] if it in COMMANDS | GROUPS)]
        explanation = explain_usage_mistake(error, " ".join(words))
        if isinstance(explanation, TreadleError):
            raise explanation from None
        typer.echo(explanation, nl=bool(explanation))
        code = 0
    if isinstance(code, int) and code:
        raise SystemExit(code)


def build(arguments: list[str]) -> typer.Typer:
    """Build the program with only the command that the arguments name.

    Without a known command, register all of them by name and summary only, for listings and suggestions: importing them
    is slow.
    """
    app = _empty()
    name = next(iter(_words_to_complete() or arguments), "")
    if name in COMMANDS | GROUPS:
        _add(app, name)
    else:
        for other, summary in (COMMANDS | GROUPS).items():
            app.command(other, help=summary)(_placeholder)
    return app


def build_all() -> typer.Typer:
    """Build the program with every command, for the documentation."""
    app = _empty()
    for name in COMMANDS | GROUPS:
        _add(app, name)
    return app


def _empty() -> typer.Typer:
    return typer.Typer(
        callback=treadle,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None
        if os.environ.get("NO_COLOR")
        else "rich",  # with NO_COLOR, rich would still print bold text
    )


def _add(app: typer.Typer, name: str) -> None:
    word = name.replace("-", "_")
    module = import_module(f"treadle.cli.{MODULES.get(name, word)}")
    if name in GROUPS:
        app.add_typer(module.app, name=name)
    else:
        app.command(name)(getattr(module, word))


def _words_to_complete() -> list[str]:
    """Return the words after `treadle` that a shell wants completed; it passes them in the environment."""
    line = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS") or ""
    return line.split()[1:] if "_TREADLE_COMPLETE" in os.environ else []


def _placeholder() -> None:
    raise AssertionError("a command that is only listed cannot run")


def treadle(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Run coding agents through test-first protocols, and verify everything they claim."""
    if version:
        typer.echo(f"treadle {__version__}")
        raise typer.Exit


# Help without Python's words.
#
# Typer prints the Python type of each parameter (`<list[str]>`, even `<bool>` for a flag), bounds as `x>=0`, and the
# line breaks of docstrings. It has no setting for that, so the parameters of the built commands are changed.

_LINE_BREAK: Final = re.compile(r"(?<!\n)\n(?!\n)")


def use_plain_help(command: Any) -> Any:
    """Make the help of a command and its subcommands use the words of the reference: `--name NAME`, a flag alone."""
    get_help_option = command.get_help_option
    command.get_help_option = lambda context: _name_plainly(get_help_option(context))
    command.help = _LINE_BREAK.sub(" ", command.help or "")
    for param in command.params:
        _name_plainly(param)
    for part in getattr(command, "commands", {}).values():
        use_plain_help(part)
    return command


def _name_plainly(param: Any) -> Any:
    if param.param_type_name == "argument":
        usage = usage_of(param)
        param.get_usage_pieces = lambda _context: [usage]
        param.display_type_rich = lambda ctx: ""  # noqa: ARG005 - Typer names it
    param.metavar = "" if getattr(param, "is_flag", False) else value_name(param)
    param._get_number_range_help_str = lambda: None
    return param


def value_name(param: Any) -> str:
    """Return the word for the value of a parameter, such as NAME."""
    word = str(param.metavar or param.name.upper())
    return word.strip("[]") if param.param_type_name == "argument" else word


def usage_of(param: Any) -> str:
    """Return a parameter as it stands in a usage line: in brackets if it is optional."""
    word = value_name(param)
    if param.param_type_name == "argument":
        if param.metavar:  # it has brackets itself if it is optional: the first of several words may be left out
            return str(param.metavar)
        word += "…" if param.nargs < 0 else ""
    else:
        word = param.opts[0] + ("" if param.is_flag else f" {word}")
    return word if param.required else f"[{word}]"


# Usage errors, in the form of every other error.
#
# The errors of Typer and click are recognised by their attributes, because the library that raises them differs by
# version.

_COMMAND: Final = re.compile(r"No such command '(.*?)'\.")
_NOISE: Final = re.compile(r"^Value error, |, unable to parse .*$")
_HELP: Final = "NoArgsIsHelpError"
"""The user gave no arguments; the message is the help text, or empty if it is printed already."""


@runtime_checkable
class UsageMistake(Protocol):
    """An error that Typer or click raises about the arguments."""

    exit_code: int
    message: str

    def format_message(self) -> str:
        """Return the sentence that the library would print."""
        ...


def explain_usage_mistake(error: UsageMistake, command: str) -> TreadleError | str:
    """Convert a usage error into a `TreadleError`, or return the help text to show instead."""
    if type(error).__name__ == _HELP:
        return error.message
    context: Any = getattr(error, "ctx", None)
    path = context.command_path if context else command
    return TreadleError(f"{_describe_mistake(error, context)}; see `{path} --help`", code="usage.invalid")


def _describe_mistake(error: UsageMistake, context: Any) -> str:
    if hasattr(error, "possibilities") and hasattr(error, "option_name"):
        params = context.command.params if context else ()
        own = [name for param in params for name in param.opts if name[:1] == "-"]
        return _unknown("option", str(error.option_name), own or list(error.possibilities or ()))
    if found := _COMMAND.match(error.message):
        return _unknown("command", found[1], getattr(context.command, "commands", ()) if context else ())
    param: Any = getattr(error, "param", None)
    if param is not None and hasattr(error, "param_type"):
        return f"{_named(param)} is missing" + (f": {_lowered(param.help)}" if getattr(param, "help", "") else "")
    if param is not None:
        return f"{_named(param)} {_lowered(_NOISE.sub('', error.message).replace('Input should be', 'must be'))}"
    return _lowered(error.format_message())


def _unknown(kind: str, word: str, known: Any) -> str:
    from treadle.protocol.findings import suggest

    hint = suggest(word, known)
    return f"there is no {kind} '{word}'" + (f" ({hint})" if hint else "")


def _named(param: Any) -> str:
    """Name a parameter as the reference does."""
    return param.opts[0] if param.param_type_name == "option" else value_name(param)


def _lowered(text: str) -> str:
    return (text[:1].lower() + text[1:]).rstrip(".")
