"""What a demo does in a person's place: it answers questions, and starts what waits for somebody's go."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from treadle.kernel.lifecycle import ROOT
from treadle.kernel.state import State
from treadle.protocol.model import Protocol, base_of
from treadle.simulate.waits import awaits_go
from treadle.testing.demos import Answer, Demo

_ANSWERS: Final = "answers"
_STARTS: Final = "gives its go"


class Deed(NamedTuple):
    """A command that a person would use, and what that is."""

    does: str
    words: list[str]


class StandIn:
    """Somebody who does what a demo has in store for a person, each thing once."""

    def __init__(self, demo: Demo) -> None:
        self._demo = demo
        self._done: set[str] = set()

    def due(self, protocol: Protocol, state: State) -> Iterator[Deed]:
        """What is to be done now."""
        for id_, ask in state.asks.items():
            place = f"{ask.inst}:{base_of(ask.step)}"
            answer = next((one for one in self._demo.answers if one.ask == place), None)
            if answer and self._is_new(id_):
                yield Deed(_ANSWERS, _answered(self._demo.run, answer))
        for inst in [inst for inst in state.insts.values() if inst.live]:
            step = awaits_go(protocol, state, inst)
            place = f"{inst.id}:{base_of(step)}"
            if step and self._may_start(place) and self._is_new(f"{place}#{inst.visits.get(step, 0)}"):
                at = [] if inst.id == ROOT else ["--at", inst.id]
                yield Deed(_STARTS, ["go", self._demo.run, step, *at])

    def _may_start(self, place: str) -> bool:
        return any(fnmatchcase(place, pattern) for pattern in self._demo.starts)

    def _is_new(self, id_: str) -> bool:
        is_new = id_ not in self._done
        self._done.add(id_)
        return is_new


def _answered(run: str, answer: Answer) -> list[str]:
    return ["answer", run, answer.ask, answer.choice, *(["--note", answer.note] if answer.note else [])]
