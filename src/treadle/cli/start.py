"""The entry point: answers `treadle` and `treadle --version` at once, and imports the rest only when it is needed."""

import os
import sys

from treadle import __version__


def main() -> int:
    """Run the command line and return its exit code."""
    match sys.argv[1:]:
        case [] if "_TREADLE_COMPLETE" not in os.environ:  # a shell asks for completions without arguments
            from treadle.cli.welcome import welcome

            is_terminal = sys.stdout is not None and sys.stdout.isatty()
            has_colour = is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
            return _print(welcome(*(("\033[1;36m", "\033[0m") if has_colour else ("", ""))))
        case ["--version"]:
            return _print(f"treadle {__version__}\n")
        case ["hook", *words] if words in ([], ["--legacy"]):  # an agent's program calls it at the end of every turn
            from treadle.cli import hook_call

            return hook_call.main(legacy=bool(words))
        case _:
            from treadle.cli import app

            return app.main()


def _print(text: str) -> int:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except (OSError, AttributeError) as error:
        from treadle.cli.guard import UNWELL, hush, unwritable

        if isinstance(error, AttributeError):  # an output that is closed from the start is None
            return unwritable("it is closed")
        hush()
        return UNWELL if isinstance(error, BrokenPipeError) else unwritable(error.strerror)
    return 0
