"""Runs the command line in this process, as a shell would see it."""

import io
import re
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, NamedTuple

import msgspec

from treadle.cli.start import main


class Outcome(NamedTuple):
    code: int
    out: str
    err: str

    def lacks(self, *named: str) -> list[str]:
        """Those of these names, paths and numbers that neither of its outputs has."""
        return [text for text in named if text not in self.out and text not in self.err]

    def json(self) -> Any:
        return msgspec.json.decode(self.out)

    @property
    def error(self) -> str:
        """The code that standard error ends with."""
        found = re.search(r"\[([a-z]+\.[a-z_]+)\]\n$", self.err)
        return found[1] if found else ""


def status(run: str) -> Any:
    """The document of `treadle status RUN --json`."""
    return treadle("status", run, "--json").json()


def treadle(*arguments: str) -> Outcome:
    """What a command prints and returns."""
    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    with redirect_stdout(out), redirect_stderr(err):
        try:
            sys.argv = ["treadle", *arguments]
            code: object = main()
        except SystemExit as exit_:
            code = exit_.code
        finally:
            sys.argv = before
    return Outcome(code if isinstance(code, int) else 0, out.getvalue(), err.getvalue())
