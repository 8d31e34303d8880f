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


_TAKEN: Final = ("act", "inst", "start", "packed")
"""What else lies below a run's place beside the slugs of its instances."""


def shown(ref: str) -> str:
    """A ref as git also takes it and people read it: without `refs/heads/` or `refs/`."""
    return ref.removeprefix("refs/heads/").removeprefix("refs/")


class Names:
    """The refs of one run: one branch for its result; everything else below `refs/treadle/`, out of `git branch`.

    Git resolves `treadle/RUN/root/int` to `refs/treadle/RUN/root/int`, so names in older logs still lead there.
    """

    def __init__(self, run: str, prefix: str = DEFAULT_PREFIX) -> None:
        self.run = run
        self._branches = f"refs/heads/{prefix}/{slug(run)}"
        self._own = f"refs/treadle/{slug(run)}"

    @property
    def spaces(self) -> tuple[str, str]:
        """Everything of the run lies at or below these."""
        return self.result, f"{self._own}/"

    @property
    def older(self) -> str:
        """Below this, older versions kept integration branches and lanes, as branches of the user's repository."""
        return f"{self._branches}/"

    @property
    def start(self) -> str:
        """Where the run started: a note with the name of the user's branch, on top of its commit."""
        return f"{self._own}/start"

    @property
    def packed(self) -> str:
        """The refs of a finished run, packed into one commit by `treadle gc`."""
        return f"{self._own}/packed"

    @property
    def result(self) -> str:
        """The branch on which the result waits."""
        return f"{self._branches}/{RESULT}"

    def integration(self, inst: str) -> str:
        """Where the accepted work of an instance comes together; no agent ever has it."""
        return f"{self._own}/{_place(inst)}/int"

    def lane(self, inst: str, lane: str) -> str:
        """The branch that the git folder of a lane is on; the user's repository has none of this name."""
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

    def moved(self, old: str) -> str:
        """The new name of a branch of an older version; empty if no older version called a branch of the run so."""
        inst, _, name = old.removeprefix(self.older).partition("/")
        is_one = old.startswith(self.older) and name and "/" not in name
        return f"{self._own}/{_apart(inst)}/{name}" if is_one else ""


def _place(inst: str) -> str:
    return _apart(slug(inst))


def _apart(name: str) -> str:
    """The slug of an instance, told apart from the other names that lie beside it."""
    return f"{name},inst" if name in _TAKEN else name
