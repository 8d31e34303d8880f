"""The entry point: answers `treadle` and `treadle --version` at once, and imports the rest only when it is needed."""

import os
import sys

from treadle import __version__

WELCOME = """\
*Treadle* drives coding agents through test-first protocols and believes nothing it has not checked itself.

  *treadle demo*                        watch a protocol run from start to end
  *treadle protocol list*               the protocols that come with it
  *treadle protocol sim v3*             run one against a random world
  *treadle spec new --protocol v3*      write down what you want built
  *treadle --help*                      everything else
"""


def main() -> int:
    """Runs the command line and returns its exit code."""
    match sys.argv[1:]:
        case [] if "_TREADLE_COMPLETE" not in os.environ:  # a shell asks for completions without arguments
            return _say(_welcome())
        case ["--version"]:
            return _say(f"treadle {__version__}\n")
        case _:
            from treadle.cli import app

            return app.main()


def _welcome() -> str:
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    first, *rest = WELCOME.split("*")
    marks = ("\033[1;36m", "\033[0m") if colour else ("", "")
    return first + "".join(marks[place % 2] + text for place, text in enumerate(rest))


def _say(text: str) -> int:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        from treadle.cli.guard import hush

        return hush()
    return 0
