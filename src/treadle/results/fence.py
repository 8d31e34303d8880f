"""Which activity an answer is for. A session that lives on after its activity can answer, but not for another one."""

import msgspec

from treadle.ports import Work
from treadle.results.faulty import Stale


class Fence(msgspec.Struct, frozen=True):
    """What names an activity: its id, how often it was issued again, and its token."""

    act: str
    token: str
    retry: int | None = None
    """None: not known to whoever wrote it; the token differs from retry to retry anyway."""

    def refuses(self, other: "Fence") -> Stale | None:
        """Why an answer of `other` is not one of this activity's."""
        if other.act != self.act:
            return Stale(f"it is for the activity {other.act[:80]!r}, not for {self.act!r}")
        if self.retry is not None and other.retry is not None and other.retry != self.retry:
            return Stale(f"it is from try {other.retry} of this activity, not from try {self.retry}")
        return None if other.token == self.token else Stale("its token is not the one of this activity")


def fence_of(work: Work) -> Fence:
    """The fence around an activity."""
    return Fence(work.act, work.token, work.retry)
