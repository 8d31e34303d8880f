"""Exhaustive search at a small scope: every state that a protocol can reach, breadth first.

The search drops a state once it knows the successors, and keeps only its key, the move that reached it, and its edges.
So it can replay the shortest way to any finding, and search backwards from the ends over all states.
"""

from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

import msgspec

from treadle.kernel.events import Checked, Event, Exited, Failed, Replied, RunStarted, Signalled, TimerFired
from treadle.kernel.reduce import reduce
from treadle.kernel.state import Instance, State
from treadle.protocol.model import Protocol, Route, Send
from treadle.simulate.invariants import violations
from treadle.simulate.options import OFTEN, Options, PossibleMove
from treadle.simulate.run import Violation, describe_event, reachable_graphs
from treadle.simulate.scope import Scope, clip
from treadle.simulate.state_keys import Canon, Parts

# Abstract budgets: at each charge, the budget may be exhausted or not.
#
# This covers the behaviour under every choice of numbers, so a search without a deadlock here proves that no choice
# of budgets has one, at a fraction of the states. (It may find a deadlock that real budgets exclude.)


class BudgetExtremes:
    """The two extremes of a state: nothing spent, everything spent."""

    def __init__(self, protocol: Protocol) -> None:
        self._full = {
            name: {budget: definition.max for budget, definition in graph.budgets.items()}
            for name, graph in protocol.graphs.items()
        }
        # The steps that charge a budget, or that end or answer in a way that makes another instance charge one.
        self._steps: set[tuple[str, str]] = set()
        for name, graph in protocol.graphs.items():
            shared = any(_may_charge(route) for rows in graph.system.values() for route in rows)
            for step, definition in graph.steps.items():
                own = any(_may_charge(route) for rows in definition.routes.values() for route in rows)
                if shared or own:
                    self._steps.add((name, step))

    def fresh(self, state: State) -> State:
        """The state with nothing spent."""
        return _with(state, {inst.id: {} for inst in state.insts.values() if inst.spent and not inst.outcome})

    def spent(self, state: State) -> State:
        """The state with everything spent."""
        return _with(state, {inst.id: self._full[inst.graph] for inst in state.insts.values() if not inst.outcome})

    def matters(self, state: State, event: Event) -> bool:
        """Whether the event can make an instance charge a budget."""
        match event:
            case Exited(act=id_) | Checked(act=id_) | Failed(act=id_) | TimerFired(timer=id_) if id_ in state.acts:
                command = state.acts[id_].command
                return (command.graph, command.step) in self._steps
            case Replied(ask=id_) if id_ in state.asks:
                ask = state.asks[id_]
                return (state.insts[ask.inst].graph, ask.step) in self._steps
            case Signalled(name=name):
                return name == "abort"
        return False


def _with(state: State, spent: dict[str, dict[str, int]]) -> State:
    if not spent:
        return state
    changed: dict[str, Instance] = {
        id_: msgspec.structs.replace(state.insts[id_], spent=amounts) for id_, amounts in spent.items()
    }
    return msgspec.structs.replace(state, insts=state.insts.update(changed))


def _may_charge(route: Route) -> bool:
    answers = any(isinstance(action, Send) and action.to == "sender" for action in route.do)
    return bool(route.charge) or answers or route.to.startswith("@end:")


_REPORTED: Final = 5
_BRANCHES: Final = 1 << 16


class Exploration(msgspec.Struct, frozen=True):
    """The result of an exhaustive search."""

    protocol: str
    scope: str
    states: int
    edges: int
    exhausted: bool
    """Whether every state of the scope was seen."""
    outcomes: tuple[str, ...]
    unvisited: tuple[str, ...]
    """Steps of the graphs in scope that no instance reached."""
    deadlocks: tuple[Violation, ...]
    """Live states in which nothing can happen or an instance can never move again, nearest first."""
    dead_ends: tuple[Violation, ...]
    """States from which no end can be reached, nearest first: the run goes on for ever."""
    faults: tuple[Violation, ...]
    """States that break an invariant, and states in which the kernel raised an error on an event."""

    @property
    def findings(self) -> tuple[Violation, ...]:
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
    search = _StateSearch(protocol, scope)
    while search.frontier and len(search.ways) < limit_states:
        if deadline is not None and clock is not None and clock() > deadline:
            break
        search.expand()
    return search.result()


class _Successor(NamedTuple):
    start: State
    events: tuple[Event, ...]
    state: State | str
    """The state after the events, or the error that the kernel raised."""


class _StateSearch:
    def __init__(self, protocol: Protocol, scope: Scope) -> None:
        self.protocol = clip(protocol, scope)
        self.scope = scope
        self.canon = Canon(self.protocol, scope)
        self.allowance = BudgetExtremes(self.protocol) if scope.budgets is None else None
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
        inputs = self.options.menu.inputs()
        self.starts = [RunStarted(id="", ts=0, run="r", protocol="", input=item) for item in inputs]
        for number, start in enumerate(self.starts):
            self._reach(-1, number, self._with_questions(reduce(self.protocol, State(), start)[0]), {})

    def expand(self) -> None:
        """Pop the next state from the frontier and visit all its successors."""
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

    def _outcomes(self, start: State, move: PossibleMove) -> Iterator[_Successor]:
        event, then = move
        after = self._after(start, event)
        if then and isinstance(after, State):
            yield from (_Successor(start, (event, verdict), self._after(after, verdict)) for verdict in then)
        else:
            yield _Successor(start, (event,), after)

    def _after(self, state: State, event: Event) -> State | str:
        try:
            return self._with_questions(reduce(self.protocol, state, event)[0])
        except Exception as error:  # any exception is a finding
            return f"refused: {describe_event(event)}: {error!r}"

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
        steps = [
            (graph, step) for graph in reachable_graphs(self.protocol) for step in self.protocol.graphs[graph].steps
        ]
        return Exploration(
            protocol=self.protocol.name,
            scope=self.scope.name,
            states=len(self.ways),
            edges=len(self.sources),
            exhausted=not self.frontier,
            outcomes=tuple(sorted(set(self.ends.values()))),
            unvisited=tuple(sorted(f"{graph}.{step}" for graph, step in steps if (graph, step) not in self.visited)),
            deadlocks=self._findings(self.deadlocks),
            dead_ends=self._findings(lost),
            faults=self._findings(self.faults),
        )

    def _findings(self, found: dict[int, str]) -> tuple[Violation, ...]:
        return tuple(Violation(found[at], tuple(self._trace(at))) for at in sorted(found)[:_REPORTED])

    def _trace(self, at: int) -> Iterator[str]:
        """The shortest way to a state, as events."""
        numbers = []
        source = at
        while source >= 0:
            source, number = divmod(self.ways[source], _BRANCHES)
            source -= 1
            numbers.append(number)
        first = self.starts[numbers.pop()]
        yield describe_event(first)
        state = self._with_questions(reduce(self.protocol, State(), first)[0])
        while numbers:
            start, events, after = next(islice(self._successors(state), numbers.pop(), None))
            yield from (describe_event(event) + ("" if start is state else " (budgets are spent)") for event in events)
            assert isinstance(after, State)
            state = self.allowance.fresh(after) if self.allowance is not None else after


def moved_to(state: State, parts: Parts) -> Parts:
    """Return the parts for a state that differs only in its spent budgets."""
    return {id_: (state.insts[id_], own) for id_, (_, own) in parts.items()}


def backwards(count: int, sources: Sequence[int], targets: Sequence[int], ends: Iterable[int]) -> bytearray:
    """Mark with 1 each of `count` states that can reach one of `ends` over the edges."""
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
