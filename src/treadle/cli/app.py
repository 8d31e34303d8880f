"""The commands. Each lives in `treadle.cli.<name>` as `app: typer.Typer` and is imported only when it is asked for.

A group has commands of its own (`treadle protocol list`); a plain command is its app's one function (`treadle demo`).
"""

import os
import sys
from importlib import import_module
from typing import Annotated

import typer

from treadle import __version__
from treadle.cli.guard import guard
from treadle.errors import TreadleError

COMMANDS = (
    "demo",
    "config",
    "init",
    "doctor",
    "emit",
    "mcp",
    "run",
    "resume",
    "say",
    "answer",
    "go",
    "retry",
    "skip",
    "send",
    "pause",
    "level",
    "abort",
    "done",
    "deliver",
    "serve",
    "runs",
    "status",
    "log",
    "show",
    "evidence",
    "cost",
    "replay",
    "gc",
    "uninstall",
    "model-server",
)
GROUPS = ("agents", "hook", "memory", "projects", "protocol", "spec")


def main() -> int:
    """Runs the command that the arguments name."""
    return guard(_run)


def _run() -> None:
    """Leaves by the command's exit code, or by an error that is told like every other."""
    try:
        code = build(sys.argv[1:])(prog_name="treadle", standalone_mode=False)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except Exception as error:
        from treadle.cli.usage import Misused, of_usage  # only a mistake needs it

        if not isinstance(error, Misused):
            raise
        told = of_usage(error, " ".join(["treadle", *(it for it in sys.argv[1:2] if it in COMMANDS + GROUPS)]))
        if isinstance(told, TreadleError):
            raise told from None
        typer.echo(told, nl=bool(told))
        code = 0
    if isinstance(code, int) and code:
        raise SystemExit(code)


def build(arguments: list[str]) -> typer.Typer:
    """The program with the one command that the arguments begin with, or with all of them, to list or to suggest."""
    names = COMMANDS + GROUPS
    app = typer.Typer(
        callback=treadle,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None if os.environ.get("NO_COLOR") else "rich",  # rich itself would keep what is bold
    )
    for name in arguments[:1] if arguments[:1] and arguments[0] in names else names:
        part = import_module(f"treadle.cli.{name.replace('-', '_')}").app
        app.add_typer(part, name=name if name in GROUPS else None)
    return app


def treadle(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Drives coding agents through test-first protocols and believes nothing it has not checked itself."""
    if version:
        typer.echo(f"treadle {__version__}")
        raise typer.Exit
