"""Agents and people that make their part up: any protocol, any step, the same words for the same seed and activity."""

import json
from random import Random

from treadle.kernel.state import State
from treadle.ports import Work
from treadle.protocol.answers.schema import TAG
from treadle.protocol.fields import OptionalType, parse_type
from treadle.protocol.items import Json
from treadle.protocol.model import Protocol, exit_keys
from treadle.simulate.nearest import Nearest
from treadle.testing.instant import Instant
from treadle.testing.plain import Journal
from treadle.testing.plausible import plausible


class Improvised(Instant):
    """A runner whose agents take the shortest way to a good end, or (as often as `whims` says) any way at all."""

    def __init__(self, protocol: Protocol, journal: Journal, *, seed: int = 0, whims: float = 0.0) -> None:
        super().__init__(self._played, lambda work: journal.note("agent", work.run, f"{work.act}~{work.retry}"))
        self._protocol = protocol
        self._seed, self._whims = seed, whims
        self._nearest = Nearest(protocol)

    def _played(self, work: Work) -> dict[str, Json]:
        (work.lane / f"{work.step}.txt").write_text(f"{work.act}\n", encoding="utf-8")
        return self._answer(work)

    def _answer(self, work: Work) -> dict[str, Json]:
        graph = json.loads((work.bundle / "context.json").read_bytes())["graph"]
        step = self._protocol.graphs[graph].steps[work.step]
        key = self._pick(graph, work.step, exit_keys(self._protocol, step), work.act)
        name, _, variant = key.partition(".")
        exit_ = self._protocol.exits[name]
        asked = {
            field: one
            for field, one in exit_.fields.items()
            if one.by == "agent" and not isinstance(parse_type(one.type), OptionalType)
        }
        refined: dict[str, Json] = {exit_.route_on: variant} if variant else {}
        return {TAG: name, **plausible(self._protocol, asked), **refined}

    def _pick(self, graph: str, step: str, keys: tuple[str, ...], act: str) -> str:
        random = Random(f"{self._seed}:{act}")
        if random.random() < self._whims:
            return random.choice(keys)
        return random.choice(self._nearest.best(graph, step, keys, good=True))


def decide(protocol: Protocol, state: State, seed: int = 0) -> dict[str, str]:
    """What people answer to the questions that are open: whatever leads to a good end soonest."""
    nearest = Nearest(protocol)
    found: dict[str, str] = {}
    for id_, ask in sorted(state.asks.items()):
        if ask.command is None:
            continue
        if ask.command.graph not in protocol.graphs:
            found[id_] = "continue"
            continue
        keys = nearest.best(ask.command.graph, ask.step, ask.command.choices, good=True)
        found[id_] = Random(f"{seed}:{id_}").choice(keys)
    return found
