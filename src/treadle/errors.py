"""Every exception of Treadle. A message explains the problem, its place, and the next thing to do.

Outcomes are data: a malformed exit, a write outside the scope or a timeout is an event, never an exception.
"""

import errno
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final


class TreadleError(Exception):
    """Anything a person can act on; the command line prints it without a traceback.

    `code` is stable and listed in `codes.py`: programs and tests compare it, people read the message.
    """

    code = "treadle.error"

    def __init__(self, message: str = "", *, code: str = "", findings: tuple[object, ...] = ()) -> None:
        super().__init__(message)
        if code:
            self.code = code
        self.findings = findings


class ProtocolError(TreadleError):
    """A protocol cannot be loaded or does not pass its checks; its findings are printed below the message."""

    code = "protocol.invalid"

    def __init__(self, message: str, findings: tuple[object, ...] = (), *, code: str = "") -> None:
        super().__init__(message, code=code, findings=findings)
        self.message = message

    def __str__(self) -> str:
        return "\n".join([self.message, *(f"  {finding}" for finding in self.findings)])


class UnclearSentence(TreadleError):
    """A sentence to `treadle say` that is ambiguous or unknown; nothing was done. `instead` lists clear sentences."""

    code = "say.unclear"

    def __init__(self, message: str, instead: Sequence[str] = (), *, code: str) -> None:
        super().__init__("\n".join([message, *(f"  {line}" for line in instead)]), code=code)
        self.instead = tuple(instead)


class IllegalEvent(TreadleError):
    """An event that does not fit the run; the run is unchanged."""

    code = "event.illegal"


class ReplayDivergence(TreadleError):
    """A history disagrees with its hashes or with the kernel's replay."""

    code = "log.diverged"


class Unfit(TreadleError):
    """The project's tools cannot support the checks of a run."""

    code = "toolchain.unfit"


class PortError(TreadleError):
    """The surroundings failed (store, git, an agent program); trying again may help if `retryable`."""

    code = "port.failed"

    def __init__(self, message: str, *, retryable: bool = False, code: str = "") -> None:
        super().__init__(message, code=code)
        self.retryable = retryable


class MemoryFailure(PortError):
    """The dialogue of agents cannot be stored or read; the activity that needs it cannot begin."""

    code = "memory.failed"


_HELPS: Final = {
    errno.ENOSPC: "make room on that disk, then try again",
    errno.EDQUOT: "make room on that disk, then try again",
    errno.EROFS: "make that disk writable, or work elsewhere",
    errno.EACCES: "check the permissions",
    errno.EPERM: "check the permissions",
}


@contextmanager
def writing(what: object) -> Iterator[None]:
    """Turn failures to read or write a file or folder (`what`) into errors that explain the cause and the remedy."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        advice = _HELPS.get(error.errno or 0, "see that it can be written, then try again")
        raise PortError(
            f"{what} cannot be written: {reason}; {advice}", retryable=True, code="file.unwritable"
        ) from error
