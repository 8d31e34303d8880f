"""What a person sees when a command fails: a sentence and an exit code, never a traceback."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
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
    0: "all is well; of a run: every criterion is verified",
    UNWELL: "not what was hoped for: a run has ended, but not well, or without all criteria verified, or is not as it "
    "was recorded; the checks "
    "have refused your work; doctor has found something to repair; explore has not seen every state; or whoever "
    "read the output went away before its end",
    FAILED: "something is wrong that you can repair: the arguments, a file, or what was found",
    WAITS: "a run waits for a person",
    ACCEPTED: "a run has ended well by a person's word: not every criterion is verified",
    BUG: "a bug in treadle",
    UNWRITABLE: "standard output or standard error cannot be written to: the disk is full, or it is closed",
    INTERRUPTED: "interrupted with Ctrl-C",
}
"""Every exit code, and what it means; the reference of the command line lists them."""


class _Watched:
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
    """Runs a command and turns whatever escapes from it into a message on stderr and an exit code."""
    stdout = sys.stdout
    if stdout is None:
        return unwritable("it is closed")
    stderr = sys.stderr
    watched, heard = _Watched(stdout), _Watched(stderr)
    sys.stdout = cast("TextIO", watched)
    if stderr is not None:
        sys.stderr = cast("TextIO", heard)
    try:
        return _guarded(run, watched, heard)
    finally:
        sys.stdout, sys.stderr = stdout, stderr
        if watched.failure:
            hush()
        if heard.failure:
            hush(stderr)


def _guarded(run: Callable[[], object], watched: _Watched, heard: _Watched) -> int:
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
        said = f"{error.encoding} cannot say {error.object[error.start : error.end]!a}"
        return unwritable(f"{said}; set PYTHONIOENCODING=utf-8")  # it counts for more than PYTHONUTF8 and the locale
    except Exception as error:
        if error is heard.failure:
            return UNWRITABLE
        return unwritable(error.strerror) if error is watched.failure else _bug(error)
    return 0


def _failed(error: TreadleError) -> int:
    """Tells what stopped a command: to programs that asked for JSON as a document, to people as a sentence."""
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
    """Whether the command line asks for JSON; what comes after `--` is no option."""
    words = sys.argv[1:]
    return "--json" in words[: words.index("--") if "--" in words else None]


def blame(error: TreadleError) -> str:
    """An error for people, with its code at the end; below a text of several lines, which may be there to copy."""
    text = str(error)
    gap = "\n" if "\n" in text else " "
    return f"{text}{gap}[{error.code}]"


def complain(text: str) -> None:
    """Says something on standard error; if nobody can be told, nobody is."""
    if sys.stderr is None:
        return
    from treadle.prompts.foreign import visible  # only a failure needs it

    with suppress(OSError):
        print(f"treadle: {visible(text)}", file=sys.stderr)


def unwritable(why: str | None) -> int:
    """Standard output does not take what is written to it."""
    complain(f"cannot write to standard output: {why or 'it is broken'}")
    return UNWRITABLE


def hush(stream: TextIO | None = None) -> None:
    """Nobody takes our output: lets the interpreter flush into nothing at its end, without a word."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), (stream or sys.stdout).fileno())


def _bug(error: Exception) -> int:
    if os.environ.get("TREADLE_DEBUG"):
        raise error
    complain(f"this is a bug in treadle: {type(error).__name__}: {error} [treadle.bug]")
    complain("set TREADLE_DEBUG=1 and run it again for the details to report")
    return BUG
