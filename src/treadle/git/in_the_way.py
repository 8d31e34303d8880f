"""Branches of the user's that leave no room for those of runs: git keeps no branch `x/y` beside a branch `x`."""

from collections.abc import Iterable
from typing import Final

from treadle.errors import PortError
from treadle.git.refs import Refs

_BRANCHES: Final = "refs/heads/"
_OWN: Final = "refs/treadle"
ADVICE: Final = "rename it, or set `git.branch_prefix` to something that no branch is called"


def places(prefix: str) -> tuple[str, ...]:
    """The refs that must not exist if branches begin with a prefix."""
    parts = prefix.split("/")
    return (*(f"{_BRANCHES}{'/'.join(parts[: end + 1])}" for end in range(len(parts))), _OWN)


def told(ref: str, prefix: str) -> str:
    """What is in the way, and of what."""
    if ref == _OWN:
        return f"the ref {ref} is in the way of what runs note below it"
    return f"the branch {ref.removeprefix(_BRANCHES)} is in the way of the branches of runs, {prefix}/…"


def advice(ref: str) -> str:
    """What to do about it."""
    return f"`git update-ref -d {ref}` if nobody needs it" if ref == _OWN else ADVICE


def first_of(found: Iterable[str], prefix: str) -> str:
    """Of the refs that there are, one that is in the way; empty if none is."""
    known = set(found)
    return next((ref for ref in places(prefix) if ref in known), "")


async def refuse_what_is_in_the_way(refs: Refs, prefix: str) -> None:
    """A `PortError` that names the branch because of which no run could have branches of its own."""
    if ref := first_of(await refs.below(*places(prefix)), prefix):
        raise PortError(f"{told(ref, prefix)}: git keeps no branch below another; {advice(ref)}", code="git.ref_taken")
