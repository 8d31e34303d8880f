"""Names of instances and activities in the repository: branches, checkpoints, and parts of paths."""

import re
from hashlib import sha256
from typing import Final

DEFAULT_PREFIX: Final = "treadle"
RESULT: Final = "result"
"""The branch of a finished run; it lies beside the slugs, so no slug may equal it."""

_PLAIN = re.compile(r"[a-z0-9_][a-z0-9._/:-]*(#[0-9]+\.[0-9]+)?\Z")
_LIKE_A_VISIT = re.compile(r".*-[0-9]+\.[0-9]+\Z")
_FOREIGN = re.compile(r"[^a-z0-9._-]+")
_LONGEST: Final = 80
_SIGNS: Final = str.maketrans({"/": "+", ":": "=", "#": "-"})


def slug(id_: str) -> str:
    """Turn an id into one part of a path and of a ref, unique even where file names ignore case.

    A branch `x` and a branch `x/y` cannot both exist, so `/` is replaced. An id with other special characters gets a
    hash.
    """
    name = id_.translate(_SIGNS)
    # Git refuses some names as a part of a ref, and a file system may confuse others.
    is_unfit = ".." in name or name.endswith((".", ".lock")) or ".lock+" in name or name == RESULT
    if _PLAIN.match(id_) and len(id_) <= _LONGEST and not _LIKE_A_VISIT.match(id_) and not is_unfit:
        return name
    readable = _FOREIGN.sub("_", name.lower()).strip("._-")[:40].strip("._-") or "x"
    return f"{readable},{sha256(id_.encode(errors='surrogatepass')).hexdigest()[:16]}"


_TAKEN: Final = ("act", "generated", "inst", "start", "packed")
"""Other names below a run's place, beside the slugs of its instances."""


def short_ref(ref: str) -> str:
    """Return a ref without `refs/heads/` or `refs/`, a form that git accepts and people read."""
    return ref.removeprefix("refs/heads/").removeprefix("refs/")


class RefNames:
    """The refs of one run: one branch for its result; everything else below `refs/treadle/`, out of `git branch`.

    Git resolves `treadle/RUN/root/int` to `refs/treadle/RUN/root/int`, so names in older logs still lead there.
    """

    def __init__(self, run: str, prefix: str = DEFAULT_PREFIX) -> None:
        self.run = run
        self._branches = f"refs/heads/{prefix}/{slug(run)}"
        self._own = f"refs/treadle/{slug(run)}"

    @property
    def spaces(self) -> tuple[str, str]:
        """The two prefixes that contain every ref of the run."""
        return self.result, f"{self._own}/"

    @property
    def older(self) -> str:
        """The prefix under which older versions kept integration branches and lanes as branches of the user."""
        return f"{self._branches}/"

    @property
    def start(self) -> str:
        """The start of the run: a note with the name of the user's branch, on top of its commit."""
        return f"{self._own}/start"

    @property
    def generated(self) -> str:
        """The generated files of the user's checkout at the start of the run."""
        return f"{self._own}/generated"

    @property
    def packed(self) -> str:
        """The refs of a finished run, packed into one commit by `treadle gc`."""
        return f"{self._own}/packed"

    @property
    def result(self) -> str:
        """The branch with the result."""
        return f"{self._branches}/{RESULT}"

    @property
    def verified_result(self) -> str:
        """The commit verified as the result. People may move the result branch; only Treadle moves this."""
        return f"{self._own}/inst/root/{RESULT}"

    def integration(self, inst: str) -> str:
        """Return the integration branch with the accepted work of an instance; no agent ever gets it."""
        return f"{self._own}/{_apart(slug(inst))}/int"

    def lane(self, inst: str, lane: str) -> str:
        """Return the branch in a lane's own git folder; the user's repository has no such branch."""
        name = slug(lane)
        return f"{self._branches}/{slug(inst)}/{f'{name},lane' if name == 'int' else name}"

    def of_instance(self, inst: str, what: str) -> str:
        """Return a ref of an instance.

        `base`: the base of its integration branch; `pending`: recorded work, to be integrated; `drift`: work in
        conflict.
        """
        return f"{self._own}/inst/{slug(inst)}/{what}"

    def of_activity(self, act: str, what: str) -> str:
        """Return a ref of an activity.

        `base`: the start of its lane; `recorded`: its tree; `accepted`: the work that the kernel accepted, or the
        verified commit of a merge, which the kernel accepts later; `wip`: leftovers. For a merge, `before` is the
        commit that it merged into.
        """
        return f"{self._own}/act/{slug(act)}/{what}"

    @property
    def of_root_activities(self) -> str:
        """The prefix of the refs of the root's activities."""
        return f"{self._own}/act/root="

    def name_after_move(self, old: str) -> str:
        """Return the new name of a branch of an older version; empty if no older version used such a name."""
        inst, _, name = old.removeprefix(self.older).partition("/")
        is_one = old.startswith(self.older) and name and "/" not in name
        return f"{self._own}/{_apart(inst)}/{name}" if is_one else ""


def _apart(name: str) -> str:
    """Return the slug of an instance, made distinct from the other names beside it."""
    return f"{name},inst" if name in _TAKEN else name
