"""Exhaustive search at a small scope: every state that a protocol can reach, breadth first.

A state is kept only until its successors are known; what stays is its key, how it was reached, and its edges. So the
shortest way to anything found can be replayed, and ends can be looked for backwards from every state.
"""

from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

import msgspec

from treadle.kernel.events import Event, RunStarted
from treadle.kernel.reduce import reduce
from treadle.kernel.state import State
from treadle.protocol.items import Item
from treadle.protocol.model import Protocol
from treadle.simulate.allowance import Allowance
from treadle.simulate.alternatives import OFTEN
from treadle.simulate.canon import Canon, Parts
from treadle.simulate.coverage import reachable
from treadle.simulate.invariants import violations
from treadle.simulate.options import Move, Options
from treadle.simulate.run import Finding
from treadle.simulate.scope import Scope, clip
from treadle.simulate.trace import describe

_REPORTED: Final = 5
_BRANCHES: Final = 1 << 16


class Exploration(msgspec.Struct, frozen=True):
    """What an exhaustive search has seen."""

    protocol: str
    scope: str
    states: int
    edges: int
    exhausted: bool
    """Whether every state of the scope was seen."""
    outcomes: tuple[str, ...]
    unvisited: tuple[str, ...]
    """Steps of the graphs in scope at which nobody has stood."""
    deadlocks: tuple[Finding, ...]
    """Live states in which nothing can happen or somebody can never move again, nearest first."""
    dead_ends: tuple[Finding, ...]
    """States from which no end can be reached, nearest first: the run goes on for ever."""
    faults: tuple[Finding, ...]
    """States that break an invariant, and events that the kernel could not take."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.deadlocks + self.dead_ends + self.faults


def explore(
    protocol: Protocol,
    scope: Scope,
    limit_states: int = 200_000,
    limit_seconds: float | None = None,
    clock: Callable[[], float] | None = None,
) -> Exploration:
    """Search a scope until it is exhausted or a limit is reached; a time limit needs a clock to be read from."""
    deadline = clock() + limit_seconds if clock is not None and limit_seconds is not None else None
    search = _Search(protocol, scope)
    while search.frontier and len(search.ways) < limit_states:
        if deadline is not None and clock is not None and clock() > deadline:
            break
        search.expand()
    return search.result()


class _Successor(NamedTuple):
    start: State
    events: tuple[Event, ...]
    state: State | str
    """The state after the events, or why they could not be taken."""


class _Search:
    def __init__(self, protocol: Protocol, scope: Scope) -> None:
        self.protocol = clip(protocol, scope)
        self.scope = scope
        self.canon = Canon(self.protocol, scope)
        self.allowance = Allowance(self.protocol) if scope.budgets is None else None
        # Of every question it is taken as given that it is new, or that it was asked as often as any guard can tell.
        self.asked = {
            name: {OFTEN: part.same_question} for name, part in self.canon.relevance.items() if part.same_question
        }
        self.options = Options(self.protocol, scope, self.canon.relevance)
        self.index: dict[bytes, int] = {}
        self.ways = array("q")
        """For every state, in one number: the state that it was first reached from, and by which of its moves."""
        self.sources, self.targets = array("q"), array("q")
        self.frontier: deque[tuple[int, State, Parts]] = deque()
        self.ends: dict[int, str] = {}
        self.visited: set[tuple[str, str]] = set()
        self.deadlocks: dict[int, str] = {}
        self.faults: dict[int, str] = {}
        self.starts = [_started(item) for item in self.options.menu.inputs()]
        for number, start in enumerate(self.starts):
            self._reach(-1, number, self._with_questions(reduce(self.protocol, State(), start)[0]), {})

    def expand(self) -> None:
        """Take the next state and reach all its successors."""
        here, state, parts = self.frontier.popleft()
        moved = False
        for number, after in enumerate(self._successors(state)):
            if isinstance(after.state, State):
                moved = moved or after.state is not state
                self._reach(here, number, after.state, parts if after.start is state else moved_to(after.start, parts))
            else:
                self.faults.setdefault(here, after.state)
        if not moved:
            self.deadlocks.setdefault(here, "deadlock: the run is alive and nothing can happen")

    def _successors(self, state: State) -> Iterator[_Successor]:
        moves = self.options.moves(state)
        for move in moves:
            yield from self._outcomes(state, move)
        if self.allowance is not None:
            poor = self.allowance.spent(state)
            for move in moves:
                if self.allowance.matters(state, move.event):
                    yield from self._outcomes(poor, move)

    def _outcomes(self, start: State, move: Move) -> Iterator[_Successor]:
        event, then = move
        after = self._after(start, event)
        if then and isinstance(after, State):
            yield from (_Successor(start, (event, verdict), self._after(after, verdict)) for verdict in then)
        else:
            yield _Successor(start, (event,), after)

    def _after(self, state: State, event: Event) -> State | str:
        try:
            return self._with_questions(reduce(self.protocol, state, event)[0])
        except Exception as error:  # whatever it is, it is a finding
            return f"refused: {describe(event)}: {error!r}"

    def _with_questions(self, state: State) -> State:
        """The state in which all instances have asked one question often, and no other."""
        changed = {
            id_: msgspec.structs.replace(inst, asked=self.asked[inst.graph])
            for id_, inst in (state.insts.items() if self.asked else ())
            if inst.graph in self.asked and inst.asked != self.asked[inst.graph]
        }
        return msgspec.structs.replace(state, insts=state.insts.update(changed)) if changed else state

    def _reach(self, source: int, number: int, state: State, known: Parts) -> None:
        parts = self.canon.parts(state, known)
        key = self.canon.key(state, parts)
        at = self.index.get(key)
        if at is None:
            at = self.index[key] = len(self.ways)
            self.ways.append((source + 1) * _BRANCHES + number)
            self._inspect(at, state, parts)
        if source >= 0:
            self.sources.append(source)
            self.targets.append(at)

    def _inspect(self, at: int, state: State, parts: Parts) -> None:
        if state.outcome:
            self.ends[at] = state.outcome
            return
        if self.allowance is not None:
            state = self.allowance.fresh(state)
            parts = moved_to(state, parts)
        self.frontier.append((at, state, parts))
        self.visited.update((inst.graph, frame.step) for inst, _ in parts.values() for frame in inst.frames)
        for text in violations(self.protocol, state)[:1]:
            (self.deadlocks if text.startswith("stuck") else self.faults)[at] = text

    def result(self) -> Exploration:
        open_ = [at for at, _, _ in self.frontier]
        alive = backwards(len(self.ways), self.sources, self.targets, [*self.ends, *open_])
        lost = {at: "dead end: no end can be reached" for at, reached in enumerate(alive) if not reached}
        for at in self.deadlocks:
            lost.pop(at, None)
        return Exploration(
            protocol=self.protocol.name,
            scope=self.scope.name,
            states=len(self.ways),
            edges=len(self.sources),
            exhausted=not self.frontier,
            outcomes=tuple(sorted(set(self.ends.values()))),
            unvisited=tuple(sorted(self._unvisited())),
            deadlocks=self._findings(self.deadlocks),
            dead_ends=self._findings(lost),
            faults=self._findings(self.faults),
        )

    def _unvisited(self) -> Iterator[str]:
        for graph in reachable(self.protocol):
            steps = self.protocol.graphs[graph].steps
            yield from (f"{graph}.{step}" for step in steps if (graph, step) not in self.visited)

    def _findings(self, found: dict[int, str]) -> tuple[Finding, ...]:
        return tuple(Finding(found[at], tuple(self._trace(at))) for at in sorted(found)[:_REPORTED])

    def _trace(self, at: int) -> Iterator[str]:
        """The shortest way to a state, as events."""
        numbers = []
        source = at
        while source >= 0:
            source, number = divmod(self.ways[source], _BRANCHES)
            source -= 1
            numbers.append(number)
        first = self.starts[numbers.pop()]
        yield describe(first)
        state = self._with_questions(reduce(self.protocol, State(), first)[0])
        while numbers:
            start, events, after = next(islice(self._successors(state), numbers.pop(), None))
            yield from (describe(event) + ("" if start is state else " (budgets are spent)") for event in events)
            assert isinstance(after, State)
            state = self.allowance.fresh(after) if self.allowance is not None else after


def moved_to(state: State, parts: Parts) -> Parts:
    """The same parts for a state that differs only in what it has spent."""
    return {id_: (state.insts[id_], own) for id_, (_, own) in parts.items()}


def _started(item: Item) -> RunStarted:
    return RunStarted(id="", ts=0, run="r", protocol="", input=item)


def backwards(count: int, sources: Sequence[int], targets: Sequence[int], ends: Iterable[int]) -> bytearray:
    """Which of `count` states can reach one of `ends` over the edges: 1 for those that can."""
    offsets = array("q", bytes(8 * (count + 1)))
    for target in targets:
        offsets[target + 1] += 1
    for at in range(count):
        offsets[at + 1] += offsets[at]
    before = array("q", bytes(8 * len(sources)))
    free = offsets[:]
    for source, target in zip(sources, targets, strict=True):
        before[free[target]] = source
        free[target] += 1
    reached = bytearray(count)
    todo = list(ends)
    for at in todo:
        reached[at] = 1
    while todo:
        at = todo.pop()
        for source in before[offsets[at] : offsets[at + 1]]:
            if not reached[source]:
                reached[source] = 1
                todo.append(source)
    return reached
