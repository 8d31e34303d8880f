"""What instances and activities are called in the repository: branches, checkpoints, and parts of paths."""

import re
from hashlib import sha256
from typing import Final

DEFAULT_PREFIX: Final = "treadle"
RESULT: Final = "result"
"""The branch of a finished run; it lies beside the slugs, so no slug may be it."""

_PLAIN = re.compile(r"[a-z0-9_][a-z0-9._/:-]*(#[0-9]+\.[0-9]+)?\Z")
_LIKE_A_VISIT = re.compile(r".*-[0-9]+\.[0-9]+\Z")
_FOREIGN = re.compile(r"[^a-z0-9._-]+")
_LONGEST: Final = 80
_SIGNS: Final = str.maketrans({"/": "+", ":": "=", "#": "-"})


def slug(id_: str) -> str:
    """An id as one part of a path and of a ref; never that of another id, also where letters have no case.

    A branch `x` and a branch `x/y` cannot both exist, so `/` goes. What cannot be spelt plainly gets a hash.
    """
    name = id_.translate(_SIGNS)
    if _PLAIN.match(id_) and len(id_) <= _LONGEST and not _LIKE_A_VISIT.match(id_) and not _unfit(name):
        return name
    readable = _FOREIGN.sub("_", name.lower()).strip("._-")[:40].strip("._-") or "x"
    return f"{readable},{sha256(id_.encode(errors='surrogatepass')).hexdigest()[:16]}"


def _unfit(name: str) -> bool:
    """Whether git refuses it as a part of a ref, or a file system takes it for another one."""
    return ".." in name or name.endswith((".", ".lock")) or ".lock+" in name or name == RESULT


class Names:
    """The refs of one run."""

    def __init__(self, run: str, prefix: str = DEFAULT_PREFIX) -> None:
        self.run = run
        self._branches = f"refs/heads/{prefix}/{slug(run)}"
        self._own = f"refs/treadle/{slug(run)}"

    @property
    def spaces(self) -> tuple[str, str]:
        """Everything of the run lies below these."""
        return f"{self._branches}/", f"{self._own}/"

    @property
    def start(self) -> str:
        """Where the run started: a note with the name of the user's branch, on top of its commit."""
        return f"{self._own}/start"

    @property
    def result(self) -> str:
        """The branch on which the result waits."""
        return f"{self._branches}/{RESULT}"

    def integration(self, inst: str) -> str:
        """The branch on which the accepted work of an instance comes together; no agent ever has it."""
        return f"{self._branches}/{slug(inst)}/int"

    def lane(self, inst: str, lane: str) -> str:
        """The branch of a lane."""
        name = slug(lane)
        return f"{self._branches}/{slug(inst)}/{f'{name},lane' if name == 'int' else name}"

    def of_instance(self, inst: str, what: str) -> str:
        """`base`: what its integration branch stands on; `pending`: recorded, to be folded; `drift`: in conflict."""
        return f"{self._own}/inst/{slug(inst)}/{what}"

    def of_activity(self, act: str, what: str) -> str:
        """`base`: what its lane was at; `recorded`: its tree; `accepted`: what the kernel took; `wip`: leftovers.

        Of a merge, `before` is what it was merged into.
        """
        return f"{self._own}/act/{slug(act)}/{what}"
