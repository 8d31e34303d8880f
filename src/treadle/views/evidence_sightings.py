"""Where tests were seen failing and passing, in runs that accepted work rests on."""

from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple

from treadle.protocol.catalogue import PROOFS
from treadle.toolchains.results import is_own_word
from treadle.views.evidence import TestProof
from treadle.views.evidence_records import Told
from treadle.views.evidence_steps import Taken

_GREEN: Final = frozenset[str]().union(*PROOFS["green"])


class Seen(NamedTuple):
    """A test in a run that an accepted activity rests on."""

    seq: int
    instance: str
    act: str
    how: str
    commit: str
    own_word: bool
    """Nobody but the test runner itself has seen it."""


class Sightings:
    """Where tests were seen failing and passing."""

    def __init__(self, steps: Iterable[Taken]) -> None:
        self.red: dict[str, list[Seen]] = {}
        self.green: dict[str, list[Seen]] = {}
        self.any: dict[str, list[Seen]] = {}
        for step, records, _ in steps:
            for one in records:
                self._take(step.seq, step.instance, step.act, one)

    def _take(self, seq: int, instance: str, act: str, one: Told) -> None:
        check = one.check
        if check.gone or not check.ok:
            return
        own_word = is_own_word(check.limits)
        for id_ in one.red | one.on_skeleton:
            how = "failed" if id_ in one.red else "skeleton"
            self.red.setdefault(id_, []).append(Seen(seq, instance, act, how, check.commit, own_word))
        for id_, verdict in {id_: it for tests in one.criteria.values() for id_, it in tests.items()}.items():
            seen = Seen(seq, instance, act, verdict, check.commit, own_word)
            self.any.setdefault(id_, []).append(seen)
            if verdict == "passed" and check.check in _GREEN:
                self.green.setdefault(id_, []).append(seen)

    def proof(self, id_: str) -> tuple[TestProof, Seen | None, Seen | None]:
        """What is known of a test: its last red, and its last green if that came later."""
        green = last(self.green.get(id_, ()))
        reds = self.red.get(id_, [])
        red = last([one for one in reds if not green or one.seq < green.seq]) or last(reds)
        if red and green and green.seq < red.seq:
            green = None
        now = last(self.any.get(id_, ()))
        proof = TestProof(
            id=id_,
            red=red.act if red else "",
            on_skeleton=bool(red and red.how == "skeleton"),
            green=green.act if green else "",
            now=now.how if now else "",
        )
        return proof, red, green

    def green_since(self, ids: Iterable[str], instances: Collection[str]) -> int:
        """Since which event the tests have passed on the commit on which they passed last; 0: they have not.

        Runs of the instances count, for they are those whose work was approved and merged then; others have run the
        same tests later, for work of their own. Only if the instances have none, runs of all count. A later run on the
        same commit says nothing new: an approval after the first one is about this commit.
        """
        every = [self.green[id_] for id_ in ids if id_ in self.green]
        own = [[one for one in many if one.instance in instances] for many in every]
        seen = [many for many in own if many] or every
        latest = last([one for many in seen for one in many])
        if latest is None:
            return 0
        return max(
            min(one.seq for one in many if one.commit == latest.commit)
            for many in seen
            if any(one.commit == latest.commit for one in many)
        )


def last(seen: Sequence[Seen]) -> Seen | None:
    """The latest of them."""
    return max(seen, key=lambda one: one.seq, default=None)
