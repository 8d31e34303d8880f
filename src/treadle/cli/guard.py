"""The messages and exit codes of commands that fail: a sentence on stderr, never a traceback."""

import os
import shlex
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TextIO, cast

from treadle.errors import TreadleError

UNWELL: Final = 1
FAILED: Final = 2
WAITS: Final = 3
ACCEPTED: Final = 4
BUG: Final = 70
UNWRITABLE: Final = 74
INTERRUPTED: Final = 130
EXITS: Final = {
    0: "success; for a run: every criterion is verified",
    UNWELL: "failure: a run ended badly or with unverified criteria, or differs from its record; the checks refused "
    "your work; `doctor` or `memory check` found something; `agents try` failed; `explore` did not see every state; or "
    "another program closed the output pipe",
    FAILED: "an error that you can repair, in the arguments, a file or the environment; or findings of "
    "`protocol check`, `sim`, `explore` or `spec check`",
    WAITS: "a run waits for a person; with `--watch` or `--follow`, its driver stopped before the run ended",
    ACCEPTED: "a run ended well, but a person accepted unverified criteria",
    BUG: "a bug in Treadle",
    UNWRITABLE: "Treadle cannot write to standard output or standard error: the disk is full, or the stream is closed",
    INTERRUPTED: "interrupted with Ctrl-C",
}
"""Every exit code with its meaning; the reference of the command line lists them."""


class _WatchedStream:
    """Standard output or standard error, which remembers that it failed: an error of its own is no bug."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.failure: OSError | None = None

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError as error:
            self.failure = error
            raise

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as error:
            self.failure = error
            raise

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def guard(run: Callable[[], object]) -> int:
    """Run a command; turn any exception into a message on stderr and an exit code."""
    stdout = sys.stdout
    if stdout is None:
        return unwritable("it is closed")
    stderr = sys.stderr
    output, errors = _WatchedStream(stdout), _WatchedStream(stderr)
    sys.stdout = cast("TextIO", output)
    if stderr is not None:
        sys.stderr = cast("TextIO", errors)
    try:
        return _guarded(run, output, errors)
    finally:
        sys.stdout, sys.stderr = stdout, stderr
        if output.failure:
            hush()
        if errors.failure:
            hush(stderr)


def _guarded(run: Callable[[], object], output: _WatchedStream, errors: _WatchedStream) -> int:
    try:
        try:
            run()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        return UNWELL
    except KeyboardInterrupt:
        return INTERRUPTED
    except TreadleError as error:
        return _failed(error)
    except UnicodeEncodeError as error:
        problem = f"{error.encoding} cannot encode {error.object[error.start : error.end]!a}"
        return unwritable(f"{problem}; set PYTHONIOENCODING=utf-8")  # it counts for more than PYTHONUTF8 and the locale
    except Exception as error:
        if error is errors.failure:
            return UNWRITABLE
        return unwritable(error.strerror) if error is output.failure else _bug(error)
    return 0


def _failed(error: TreadleError) -> int:
    """Report the error that stopped a command: as a JSON document with `--json`, else as a sentence."""
    if not asks_for_json():
        complain(blame(error))
        return FAILED
    complain(str(error))
    from treadle.cli.documents import FailedCommand  # only a failure needs it
    from treadle.cli.output import print_json

    try:
        print_json(FailedCommand.of(error))
        sys.stdout.flush()
    except BrokenPipeError:
        return UNWELL
    except OSError as broken:
        return unwritable(broken.strerror)
    return FAILED


def asks_for_json() -> bool:
    """Whether the command line contains `--json`; words after `--` are no options."""
    words = sys.argv[1:]
    return "--json" in words[: words.index("--") if "--" in words else None]


def blame(error: TreadleError) -> str:
    """Format an error for people, with its code at the end; on its own line below a text of several lines, to copy."""
    text = str(error).rstrip()
    gap = "\n" if "\n" in text else " "
    return f"{text}{gap}[{error.code}]"


def complain(text: str) -> None:
    """Print a message on standard error; do nothing if that is closed or broken."""
    if sys.stderr is None:
        return
    from treadle.prompts.foreign import visible  # only a failure needs it

    with suppress(OSError):
        print(f"treadle: {visible(text)}", file=sys.stderr)


def unwritable(why: str | None) -> int:
    """Report that standard output cannot be written to, and return the exit code."""
    complain(f"cannot write to standard output: {why or 'it is broken'}")
    return UNWRITABLE


def hush(stream: TextIO | None = None) -> None:
    """Redirect a broken stream to `/dev/null`: the interpreter flushes it at exit and would print an error."""
    # The descriptor of `/dev/null` stays open: the process is about to end. If the stream's own descriptor was closed,
    # the new one may have its number, and closing it would break the stream again.
    os.dup2(os.open(os.devnull, os.O_WRONLY), (stream or sys.stdout).fileno())


def _bug(error: Exception) -> int:
    if os.environ.get("TREADLE_DEBUG"):
        raise error
    complain(f"this is a bug in Treadle: {type(error).__name__}: {error} [treadle.bug]")
    complain("set TREADLE_DEBUG=1 and run it again for the details to report")
    return BUG


# Quoting for the commands in messages: a person can copy them into a shell as they are.


def quote_word(text: str | Path) -> str:
    """Quote a name or a path as one word for the shell; prefix a leading dash with `./`, or it would be an option."""
    plain = str(text)
    return shlex.quote(f"./{plain}" if plain.startswith("-") and plain != "-" else plain)
