"""Simulated runs: the kernel against a random world; every event is followed by a check of all invariants."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from typing import Final, TypeVar

import msgspec

from treadle.kernel.commands import Command
from treadle.kernel.events import (
    Checked,
    Event,
    Exited,
    Failed,
    Idle,
    Reopened,
    Replied,
    RunStarted,
    SessionStarted,
    Signalled,
    TimerFired,
    Unavailable,
    Vouched,
)
from treadle.kernel.reduce import outstanding, reduce
from treadle.kernel.replay import GENESIS, encode_event, fold, link, verify_chain
from treadle.kernel.state import State, dump_state, load_state
from treadle.protocol.items import Item, Routed
from treadle.protocol.model import Protocol, Spawn, own_row, retries_by_default, system_row, tag_of
from treadle.simulate.invariants import turn_violations, violations
from treadle.simulate.world import Ledger, Mood, RandomWorld

# The rows of a protocol's tables that a run has used.


def exits_taken(before: State, after: State) -> Iterator[tuple[str, str, str]]:
    """(graph, step, key) of every exit that was routed in one turn."""
    if after.seq == before.seq:
        return
    for id_, inst in after.insts.items():
        if before.insts.get(id_) is inst:
            continue
        for name, slot in inst.slots.items():
            if slot.seq == after.seq:
                step, _, tag = name.rpartition(".")
                last = inst.last.get(step, tag)
                yield inst.graph, step, last if tag_of(last) == tag else tag


def row_of(protocol: Protocol, graph: str, step: str, key: str) -> str:
    """Return the row that an exit selects: `graph.step Exit`, or `graph !crash` for a row of the graph."""
    definition = protocol.graphs[graph]
    own = own_row(definition.steps[step], key)
    if own or not key.startswith("!"):
        return f"{graph}.{step} {own or key}"
    if retries_by_default(definition.steps[step], key):
        return f"{graph}.{step} {tag_of(key)}"
    return f"{graph} {system_row(definition, key) or tag_of(key)}"


def protocol_rows(protocol: Protocol) -> frozenset[str]:
    """Every row of the graphs that a run can reach."""
    rows: set[str] = set()
    for name in reachable_graphs(protocol):
        graph = protocol.graphs[name]
        rows.update(f"{name}.{step} {key}" for step, definition in graph.steps.items() for key in definition.routes)
        rows.update(f"{name} {key}" for key in graph.system)
    return frozenset(rows)


def reachable_graphs(protocol: Protocol) -> list[str]:
    """The graphs that a run can use, the root first."""
    found = [protocol.root]
    for name in found:
        for step in protocol.graphs[name].steps.values():
            spawned = [
                action.graph
                for rows_ in step.routes.values()
                for row in rows_
                for action in row.do
                if isinstance(action, Spawn)
            ]
            found += [other for other in (*spawned, step.graph) if other and other not in found]
    return found


# Make a failing history shorter while it still fails in the same way.

_T = TypeVar("_T")


def shrink(history: Sequence[_T], fails: Callable[[list[_T]], bool], tries: int) -> list[_T]:
    """Leave out ever smaller pieces as long as the rest still fails (delta debugging)."""
    best = list(history)
    size = max(len(best) // 2, 1)
    while tries > 0:
        at = 0
        before = len(best)
        while at < len(best) and tries > 0:
            shorter = best[:at] + best[at + size :]
            tries -= 1
            if shorter and fails(shorter):
                best = shorter
            else:
                at += size
        if size == 1 and len(best) == before:
            break
        size = max(size // 2, 1)
    return best


# Events as short lines that a person can follow.


def describe_event(event: Event) -> str:
    """Describe an event in one line."""
    match event:
        case RunStarted():
            return f"the run starts{_fields(event.input.fields)}"
        case SessionStarted():
            return f"{event.act} has a session"
        case Exited():
            return f"{event.act} exits {event.envelope.key}{_fields(event.envelope.fields)}"
        case Checked():
            failed = " ".join(result.check for result in event.results if not result.ok)
            return f"{event.act} is checked: {failed + ' failed' if failed else 'passed'}{_fields(event.derived)}"
        case Failed():
            return f"{event.act} fails: {event.why}"
        case Unavailable():
            return f"{event.act} is held up: {event.why}"
        case TimerFired():
            return f"timer {event.timer} fires"
        case Idle():
            return f"{event.act} is idle"
        case Replied():
            return f"a person answers {event.ask}: {event.choice}"
        case Signalled():
            return f"a person sends {event.name} {event.step} to {event.inst}".replace("  ", " ")
        case Vouched():
            return "a person accepts the result as it is"
        case Reopened():
            return "a person takes the run up again"
    return f"the run moves to protocol {event.protocol}"


def _fields(fields: dict[str, Routed]) -> str:
    shown = [f"{name}={_value(value)}" for name, value in sorted(fields.items())]
    return f" ({', '.join(shown)})" if shown else ""


def _value(value: Routed) -> str:
    if not isinstance(value, tuple):
        return str(value)
    return "[" + " ".join(part.key if isinstance(part, Item) else part for part in value) + "]"


PATIENCE: Final = 400
"""After how many events the world turns kind; four times as many, and people end the run as fast as they can."""
_ENDING: Final = 4
_LIVELOCK: Final = 16
_SHOWN: Final = 40
_EFFORT: Final = 20_000
"""How many events may be replayed to make a trace shorter."""


class Violation(msgspec.Struct, frozen=True):
    """Something that must not happen, and the events that lead to it."""

    what: str
    trace: tuple[str, ...]
    seed: int = 0


class Report(msgspec.Struct, frozen=True):
    """The result of one simulated run."""

    protocol: str
    seed: int
    events: int
    outcome: str
    exits: dict[str, int]
    """How often each exit was routed: `graph.step Exit` → count."""
    rows: dict[str, int]
    """How often the run used each row of the tables."""
    kills: int
    findings: tuple[Violation, ...]


class Summary(msgspec.Struct, frozen=True):
    """The combined results of many simulated runs of one protocol."""

    protocol: str
    runs: int
    events: int
    outcomes: dict[str, int]
    exits: dict[str, int]
    kills: int
    findings: tuple[Violation, ...]
    never: tuple[str, ...]
    """Rows of the tables that no run used."""


def simulate_run(
    protocol: Protocol, seed: int, faults: float = 0.3, patience: int = PATIENCE, *, odd: bool = False
) -> Report:
    """Simulate one run to its end; `faults` is the probability that the next event is a fault.

    An `odd` world also sends the kernel values that Treadle would refuse beforehand.
    """
    return _SimulatedRun(protocol, seed, faults, odd=odd).play(patience)


def summary_of(protocol: Protocol, reports: list[Report]) -> Summary:
    """Combine the reports of several runs."""
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
        never=tuple(sorted(protocol_rows(protocol) - taken.keys())),
    )


def judge(protocol: Protocol, history: Iterable[Event]) -> list[str]:
    """Replay a history, and return the violations after the first event that causes any."""
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


class _SimulatedRun:
    def __init__(self, protocol: Protocol, seed: int, faults: float, *, odd: bool) -> None:
        self._protocol = protocol
        self._seed = seed
        self._faults = faults
        self._random = Random(f"{protocol.name} {seed}")
        self._world = RandomWorld(protocol, self._random, faults, odd=odd)
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
            # The world turns kind after a while, and then people end the run: a run that still goes on is a livelock.
            count = len(self._log)
            mood: Mood = "wild" if count < patience else "kind" if count < patience * _ENDING else "ending"
            event = self._world.next(self._state, self._ledger, mood)
            if event is None:
                self._found = ["deadlock: the run is alive and nobody has anything to do"]
                break
            self._take(event)
            self._disturb()
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

    def _take(self, event: Event) -> None:
        before, sampled = self._state, self._random.random() < 0.02
        image = dump_state(before) if sampled else b""
        self._log.append((event, link(self._log[-1][1] if self._log else GENESIS, encode_event(event))))
        try:
            self._state, commands = reduce(self._protocol, before, event)
        except Exception as error:  # any exception is a finding
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
        replayed = fold(self._protocol, verify_chain((encode_event(event), hash_) for event, hash_ in self._log))
        if replayed != self._state or dump_state(replayed) != dump_state(self._state):
            self._found.append("replay: the log does not give the state that the run was in")
        self._state = replayed
        self._world.lose()
        self._found += self._ledger.differences(replayed)
        assert len({(type(command), command.id) for command in outstanding(replayed)}) == len(outstanding(replayed))

    def _findings(self) -> tuple[Violation, ...]:
        if not self._found:
            return ()
        history = [event for event, _ in self._log]
        kind = self._found[0].partition(":")[0]

        def fails(events: list[Event]) -> bool:
            return any(text.startswith(kind) for text in judge(self._protocol, events))

        if fails(history):
            first, *rest = history
            history = [first, *shrink(rest, lambda some: fails([first, *some]), _EFFORT // len(history))]
        trace = tuple(describe_event(event) for event in history[-_SHOWN:])
        return tuple(Violation(text, trace, self._seed) for text in dict.fromkeys(self._found))
