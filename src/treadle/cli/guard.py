"""What a person sees when a command fails: a sentence and an exit code, never a traceback."""

import os
import sys
from collections.abc import Callable

from treadle.errors import TreadleError

FAILED = 2
BUG = 70
INTERRUPTED = 130


def guard(run: Callable[[], object]) -> int:
    """Runs a command and turns whatever escapes from it into a message on stderr and an exit code."""
    try:
        try:
            run()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        return hush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except TreadleError as error:
        print(f"treadle: {error}", file=sys.stderr)
        return FAILED
    except Exception as error:
        if os.environ.get("TREADLE_DEBUG"):
            raise
        print(f"treadle: this is a bug in treadle: {type(error).__name__}: {error}", file=sys.stderr)
        print("         set TREADLE_DEBUG=1 and run it again for the details to report", file=sys.stderr)
        return BUG
    return 0


def hush() -> int:
    """The reader of our output is gone: lets the interpreter flush into nothing, without a word."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1
