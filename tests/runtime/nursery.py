"""Victims at little cost: processes that have imported and loaded everything, of which each victim is a fork.

Two of them take turns, for whoever goes on with a run may not depend on the hashes of whoever began it.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]


class Ended(NamedTuple):
    """How a victim ended: a negative code is the signal that ended it."""

    code: int
    out: str
    err: str


class Nursery:
    """Starts victims, each by another process than the one before."""

    def __init__(self, parents: "list[subprocess.Popen[str]]") -> None:
        self._parents = cycle(parents)

    def drive(self, root: Path, name: str, whims: float, fatal: int) -> Ended:
        """Drive the run below `root` to its end, or to the point at which the victim is killed."""
        parent = next(self._parents)
        assert parent.stdin
        assert parent.stdout
        out, err = root / "out", root / "err"
        parent.stdin.write(json.dumps([str(root), name, whims, fatal, str(out), str(err)]) + "\n")
        parent.stdin.flush()
        code = int(parent.stdout.readline())
        return Ended(code, out.read_text(encoding="utf-8"), err.read_text(encoding="utf-8"))


@contextmanager
def nursery() -> Iterator[Nursery]:
    """Two processes of `tests.runtime.victim`, which end when nobody writes to them any more."""
    command = [sys.executable, "-m", "tests.runtime.victim"]
    with ExitStack() as ending:
        yield Nursery(
            [
                ending.enter_context(
                    subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                )
                for _ in range(2)
            ]
        )
