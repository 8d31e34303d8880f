"""Simulated runs: the kernel against a random world, with every invariant held after every event."""

from collections import Counter
from collections.abc import Iterable
from random import Random
from typing import Final

import msgspec

from treadle.kernel.commands import Command
from treadle.kernel.events import Event
from treadle.kernel.reduce import outstanding, reduce
from treadle.kernel.replay import GENESIS, encode_event, fold, link, unbroken
from treadle.kernel.state import State, dump_state, load_state
from treadle.protocol.model import Protocol
from treadle.simulate.coverage import exits_taken, row_of, rows
from treadle.simulate.invariants import turn_violations, violations
from treadle.simulate.ledger import Ledger
from treadle.simulate.respond import Mood
from treadle.simulate.shrink import shrink
from treadle.simulate.trace import describe
from treadle.simulate.world import World

PATIENCE: Final = 400
"""After how many events the world turns kind; four times as many, and people end the run as fast as they can."""
_ENDING: Final = 4
_LIVELOCK: Final = 16
_SHOWN: Final = 40
_EFFORT: Final = 20_000
"""How many events may be replayed to make a trace shorter."""


class Finding(msgspec.Struct, frozen=True):
    """Something that must not happen, and the events that lead to it."""

    what: str
    trace: tuple[str, ...]
    seed: int = 0


class Report(msgspec.Struct, frozen=True):
    """What came of one simulated run."""

    protocol: str
    seed: int
    events: int
    outcome: str
    exits: dict[str, int]
    """How often each exit was routed: `graph.step Exit` → count."""
    rows: dict[str, int]
    """How often each row of the tables was taken."""
    kills: int
    findings: tuple[Finding, ...]


class Summary(msgspec.Struct, frozen=True):
    """What came of many simulated runs of one protocol."""

    protocol: str
    runs: int
    events: int
    outcomes: dict[str, int]
    exits: dict[str, int]
    kills: int
    findings: tuple[Finding, ...]
    never: tuple[str, ...]
    """Rows of the tables that no run has taken."""


def run(protocol: Protocol, seed: int, faults: float = 0.3, patience: int = PATIENCE, *, odd: bool = False) -> Report:
    """Simulate one run to its end; `faults` is the probability that the next thing to happen is a fault.

    In an `odd` world the kernel also meets what Treadle would refuse before.
    """
    return _Run(protocol, seed, faults, odd=odd).play(patience)


def many(
    protocols: Iterable[Protocol], runs: int, faults: float = 0.3, seed: int = 0, *, odd: bool = False
) -> list[Summary]:
    """Simulate `runs` runs of each protocol, with consecutive seeds."""
    return [
        summary_of(protocol, [run(protocol, seed + n, faults, odd=odd) for n in range(runs)]) for protocol in protocols
    ]


def summary_of(protocol: Protocol, reports: list[Report]) -> Summary:
    """What came of the runs together."""
    exits: Counter[str] = Counter()
    taken: Counter[str] = Counter()
    for report in reports:
        exits.update(report.exits)
        taken.update(report.rows)
    return Summary(
        protocol=protocol.name,
        runs=len(reports),
        events=sum(report.events for report in reports),
        outcomes=dict(Counter(report.outcome for report in reports)),
        exits=dict(exits),
        kills=sum(report.kills for report in reports),
        findings=tuple(finding for report in reports for finding in report.findings),
        never=tuple(sorted(rows(protocol) - taken.keys())),
    )


def judge(protocol: Protocol, history: Iterable[Event]) -> list[str]:
    """What is wrong with a history: the violations after the first event that shows any."""
    state, ledger = State(), Ledger()
    for event in history:
        try:
            state, commands = reduce(protocol, state, event)
        except Exception as error:
            return [f"refused: {error!r}"]
        found = _faults_of(protocol, state, ledger, event, commands)
        if found:
            return found
    return []


def _faults_of(
    protocol: Protocol, state: State, ledger: Ledger, event: Event, commands: tuple[Command, ...]
) -> list[str]:
    ledger.enter(event, commands)
    found = [*ledger.differences(state), *turn_violations(protocol, state, commands)]
    return found or violations(protocol, state)


class _Run:
    def __init__(self, protocol: Protocol, seed: int, faults: float, *, odd: bool) -> None:
        self._protocol = protocol
        self._seed = seed
        self._faults = faults
        self._random = Random(f"{protocol.name} {seed}")
        self._world = World(protocol, self._random, faults, odd=odd)
        self._state = State()
        self._ledger = Ledger()
        self._log: list[tuple[Event, bytes]] = []
        self._exits: Counter[str] = Counter()
        self._rows: Counter[str] = Counter()
        self._kills = 0
        self._found: list[str] = []

    def play(self, patience: int) -> Report:
        self._take(self._world.start())
        while not self._found and not self._state.outcome:
            if len(self._log) > patience * _LIVELOCK:
                self._found = [f"livelock: the run has not ended after {len(self._log)} events"]
                break
            event = self._world.next(self._state, self._ledger, self._mood(patience))
            if event is None:
                self._found = ["deadlock: the run is alive and nobody has anything to do"]
                break
            self._take(event)
            self._disturb()
        return self._report()

    def _mood(self, patience: int) -> Mood:
        count = len(self._log)
        return "wild" if count < patience else "kind" if count < patience * _ENDING else "ending"

    def _take(self, event: Event) -> None:
        before, sampled = self._state, self._random.random() < 0.02
        image = dump_state(before) if sampled else b""
        self._log.append((event, link(self._log[-1][1] if self._log else GENESIS, encode_event(event))))
        try:
            self._state, commands = reduce(self._protocol, before, event)
        except Exception as error:  # whatever it is, it is a finding
            self._found = [f"refused: {error!r}"]
            return
        if sampled and dump_state(before) != image:
            self._found = ["changed: reduce has changed the state that it was given"]
        for graph, step, key in exits_taken(before, self._state):
            self._exits[f"{graph}.{step} {key}"] += 1
            self._rows[row_of(self._protocol, graph, step, key)] += 1
        self._found += _faults_of(self._protocol, self._state, self._ledger, event, commands)

    def _disturb(self) -> None:
        """Kill the process and replay its log, or go on from a snapshot."""
        chance = self._random.random() * 20
        if chance < self._faults / 4:
            self._kill()
        elif chance < self._faults:
            copy = load_state(dump_state(self._state))
            if copy != self._state:
                self._found.append("snapshot: a state does not survive being written and read")
            self._state = copy

    def _kill(self) -> None:
        self._kills += 1
        replayed = fold(self._protocol, unbroken((encode_event(event), hash_) for event, hash_ in self._log))
        if replayed != self._state or dump_state(replayed) != dump_state(self._state):
            self._found.append("replay: the log does not give the state that the run was in")
        self._state = replayed
        self._world.lose()
        self._found += self._ledger.differences(replayed)
        assert len({(type(command), command.id) for command in outstanding(replayed)}) == len(outstanding(replayed))

    def _report(self) -> Report:
        return Report(
            protocol=self._protocol.name,
            seed=self._seed,
            events=len(self._log),
            outcome=self._state.outcome or "none",
            exits=dict(sorted(self._exits.items())),
            rows=dict(sorted(self._rows.items())),
            kills=self._kills,
            findings=self._findings(),
        )

    def _findings(self) -> tuple[Finding, ...]:
        if not self._found:
            return ()
        history = [event for event, _ in self._log]
        kind = self._found[0].partition(":")[0]
        if any(text.startswith(kind) for text in judge(self._protocol, history)):
            first, *rest = history
            tries = _EFFORT // len(history)
            history = [first, *shrink(rest, lambda some: self._still(kind, [first, *some]), tries)]
        trace = tuple(describe(event) for event in history[-_SHOWN:])
        return tuple(Finding(text, trace, self._seed) for text in dict.fromkeys(self._found))

    def _still(self, kind: str, history: list[Event]) -> bool:
        return any(text.startswith(kind) for text in judge(self._protocol, history))
