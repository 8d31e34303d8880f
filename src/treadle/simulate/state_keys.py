"""Canonical keys of states: two states with the same key behave the same for ever.

The graph of an instance shows which parts of its past can still influence its way.
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from treadle.kernel.advance import OUTAGE
from treadle.kernel.people import newer_source
from treadle.kernel.state import Frame, Group, Instance, Message, State
from treadle.protocol.guards import Guard, parse
from treadle.protocol.model import Graph, Protocol, Route, Spawn, base_of, exit_keys, row, system_keys, target
from treadle.simulate.scope import Scope, command_sources

GuardLiteral: TypeAlias = int | float | str | bool | None
_FREE: Final = (0, 0)


class Relevance(NamedTuple):
    """The names that the guards, maps and commands of one graph read."""

    live: dict[str, frozenset[str]]
    """Step → names that an instance at that step may still read: `spent.reviews`, `last.review`, `round`."""
    handlers: frozenset[str]
    """Names that handlers may read as long as signals can come."""
    commands: frozenset[str]
    """Names that may be read as long as a person can send the instance elsewhere."""
    last_exits: dict[str, frozenset[GuardLiteral]]
    """Step → the last exits that guards distinguish, if they compare them with literals only."""
    bounds: dict[str, tuple[int, int]]
    """Variables that guards compare with numbers, with bounds beyond which their value makes no difference."""
    slots: tuple[str, ...]
    """Slots with the items of a map."""
    present: tuple[str, ...]
    """Slots that must be there, and not out of date, for a person to send the instance to a step."""
    inputs: tuple[str, ...]
    """Fields of the input that a map reads."""
    same_failure: int
    """The number from which guards no longer distinguish runs of equal failures; 0 if no guard reads it."""
    same_question: int
    """The number from which guards no longer distinguish how often a question was asked; 0 if no guard reads it."""
    fields: dict[str, frozenset[GuardLiteral]]
    """Fields of exits that guards compare, with the literals they compare them to; spawned lists without literals."""


def relevance(protocol: Protocol, graph: Graph) -> Relevance:
    """Determine the names that influence the behaviour of one graph."""
    routes = [route for step in graph.steps.values() for rows in step.routes.values() for route in rows]
    routes += [route for rows in graph.system.values() for route in rows]
    whens = {route.when for route in routes}
    whens |= {option.when for step in graph.steps.values() for option in step.becomes}
    guards = [parse(text) for text in whens - {""}]
    sums = [parse(text) for route in routes for text in route.sets.values()]
    over = [step.over for step in graph.steps.values() if step.over]
    windows = [step.window for step in graph.steps.values() if step.window.startswith("in.")]
    slots = {path.rpartition(".")[0] for path in over if not path.startswith("in.")}
    live = _live(protocol, graph)
    handled = [live[handler.step] for handler in graph.handlers.values()]
    sent = [live[step] for step in graph.commanded]
    return Relevance(
        live=live,
        handlers=frozenset[str]().union(*handled),
        commands=frozenset[str]().union(*sent),
        last_exits={step: literals for step in graph.steps if (literals := _compared_literals(f"last.{step}", guards))},
        bounds={name: bounds for name in graph.vars if (bounds := _bounds(name, guards)) != _FREE},
        slots=tuple(sorted(slots)),
        present=tuple(sorted(command_sources(graph))),
        inputs=tuple(sorted({path[3:] for path in [*over, *windows] if path.startswith("in.")})),
        same_failure=_bounds("same_failure", guards)[1],
        same_question=_bounds("same_question", guards)[1],
        fields=_fields([*guards, *sums], routes, [*over, *windows]),
    )


def _bounds(name: str, guards: list[Guard]) -> tuple[int, int]:
    literals = [value for guard in guards for other, values in guard.comparisons if other == name for value in values]
    numbers = [int(value) for value in literals if isinstance(value, int | float) and not isinstance(value, bool)]
    return (min(numbers) - 1, max(numbers) + 1) if numbers else _FREE


def _compared_literals(name: str, guards: list[Guard]) -> frozenset[GuardLiteral]:
    found: set[GuardLiteral] = set()
    for guard in guards:
        literals = [value for other, values in guard.comparisons if other == name for value in values]
        if name in guard.names and not literals:
            return frozenset()
        found.update(literals)
    return frozenset(found)


def _fields(guards: list[Guard], routes: list[Route], paths: list[str]) -> dict[str, frozenset[GuardLiteral]]:
    found: dict[str, set[GuardLiteral]] = {}
    for guard in guards:
        for name in guard.names:
            if name.startswith("data."):
                found.setdefault(name[5:], set())
        for name, literals in guard.comparisons:
            if name.startswith("data."):
                found[name[5:]].update(literals)
    spawned = {action.over for route in routes for action in route.do if isinstance(action, Spawn)}
    for field in spawned | {path.rpartition(".")[2] for path in paths}:
        found.setdefault(field, set())
    return {field: frozenset(literals) for field, literals in found.items()}


# Live variables.


class _LiveEdge(NamedTuple):
    reads: frozenset[str]
    writes: frozenset[str]
    to: str


def _live(protocol: Protocol, graph: Graph) -> dict[str, frozenset[str]]:
    """Step → the names that some way from there reads before it writes them."""
    edges = {step: list(_edges(protocol, graph, step)) for step in graph.steps}
    live: dict[str, frozenset[str]] = dict.fromkeys(graph.steps, frozenset())
    changed = True
    while changed:
        changed = False
        for step, ways in edges.items():
            now = live[step].union(*(way.reads | (live.get(way.to, frozenset()) - way.writes) for way in ways))
            if now != live[step]:
                live[step], changed = now, True
    return live


def _edges(protocol: Protocol, graph: Graph, step: str) -> Iterator[_LiveEdge]:
    definition = graph.steps[step]
    keys = {*exit_keys(protocol, definition), *system_keys(definition), *definition.routes}
    whens = [option.when for option in definition.becomes]
    for key in sorted(keys):
        rows = row(graph, step, key) or ()
        whens += [route.when for route in rows]
        for route in rows:
            yield _edge(graph, step, route)
            if route.charge:
                yield _edge(graph, step, Route(to=route.over))
    yield _LiveEdge(
        _known_names(graph, frozenset().union(*(parse(text).names for text in whens if text))), frozenset(), ""
    )


def _edge(graph: Graph, step: str, route: Route) -> _LiveEdge:
    sums = {name: parse(text).names for name, text in route.sets.items()}
    reads = _known_names(graph, frozenset().union(*(names - {name} for name, names in sums.items())))
    charge = {f"spent.{route.charge}"} if route.charge else set()
    place = target(route.to).name
    refilled = {f"spent.{name}" for name, budget in graph.budgets.items() if {place, base_of(place)} & {*budget.resets}}
    kept = {name for name, names in sums.items() if name in names}
    return _LiveEdge(reads | charge, frozenset({f"last.{step}", *refilled, *sums} - kept), place)


def _known_names(graph: Graph, names: frozenset[str]) -> frozenset[str]:
    return frozenset(name for name in names if name in graph.vars or name.startswith(("last.", "spent.")))


# Keys of states. A key leaves out everything without influence on behaviour (sequence numbers, times, visits,
# payloads, history, dead letters, usage), names instances by their rank in order of creation, and caps counters where
# guards no longer distinguish them.

_ENCODE = msgspec.msgpack.Encoder(enc_hook=dict).encode
_WORK = frozenset({"agent", "effect", "check"})
Parts = Mapping[str, tuple[Instance, bytes]]


class Canon:
    """Makes keys for the states of one protocol."""

    def __init__(self, protocol: Protocol, scope: Scope) -> None:
        self._protocol = protocol
        self._scope = scope
        self._readers: dict[tuple[str, tuple[str, ...], bool], list[tuple[str, str]]] = {}
        self._commanded = "go" in scope.signals
        self.relevance: dict[str, Relevance] = {
            name: relevance(protocol, graph) for name, graph in protocol.graphs.items()
        }

    def parts(self, state: State, known: Parts) -> dict[str, tuple[Instance, bytes]]:
        """Encode each live instance by itself; unchanged instances reuse their part from `known`."""
        found = {}
        for id_, inst in state.insts.items():
            if not inst.outcome:
                old = known.get(id_)
                found[id_] = old if old is not None and old[0] is inst else (inst, self._own(state, inst))
        return found

    def key(self, state: State, parts: Parts) -> bytes:
        """Return the key of a state from its parts."""
        if state.outcome:
            return state.outcome.encode()
        insts = sorted((inst for inst, _ in parts.values()), key=lambda inst: inst.n)
        ranks = {inst.id: rank for rank, inst in enumerate(insts)}
        digest = hashlib.blake2b(digest_size=16)
        for inst in insts:
            digest.update(parts[inst.id][1])
            digest.update(_relations(state, inst, ranks))
        digest.update(_ENCODE(_queues(state, ranks)))
        if "outage" in self._scope.signals:
            held = sorted((id_, act.phase, act.command.retry) for id_, act in state.acts.items())
            digest.update(_ENCODE((OUTAGE in state.timers, held)))
        return digest.digest()

    def _own(self, state: State, inst: Instance) -> bytes:
        graph = self._protocol.graphs[inst.graph]
        relevant = self.relevance[inst.graph]
        most = relevant.same_question
        return _ENCODE(
            (
                inst.graph,
                inst.group,
                inst.key,
                inst.depth,
                [_frame(graph, inst, frame, relevant.same_failure) for frame in inst.frames],
                self._memory(inst, relevant),
                # How often each question was asked, capped where guards no longer distinguish the number.
                sorted((print_, min(times, most)) for print_, times in inst.asked.items()) if most else [],
                [inst.slots[name].fields if name in inst.slots else None for name in relevant.slots],
                [_standing(graph, inst, name) for name in relevant.present] if self._commanded else (),
                [inst.input.fields.get(name) for name in relevant.inputs],
                [
                    (name, _group(self._protocol, state, inst, name, group, self._commanded))
                    for name, group in sorted(inst.groups.items())
                    if group.members or group.pending
                ],
                sorted(set(inst.released)),
                inst.paused,
            )
        )

    def _memory(self, inst: Instance, relevant: Relevance) -> list[tuple[str, int | str | bool]]:
        """Return the budgets, variables and last exits that may still be read."""
        steps = tuple(frame.landing or frame.step for frame in inst.frames)
        # A signal can come from a parent, from children, or from outside.
        signalled = bool(inst.parent or inst.depth < self._scope.depth or self._scope.signals)
        names = self._readers.get((inst.graph, steps, signalled))
        if names is None:
            names = self._readers[inst.graph, steps, signalled] = self._readable(relevant, steps, signalled)
        found: list[tuple[str, int | str | bool]] = []
        for root, part in names:
            value: int | str | bool | None
            if root == "spent":
                value = inst.spent.get(part)
            elif root == "last":
                # An exit that no guard knows by name is as good as any other such.
                value, known = inst.last.get(part), relevant.last_exits.get(part)
                if value is not None and known is not None and value not in known:
                    value = "any other"
            else:
                # A counter beyond every number that guards compare it with might as well stand still.
                value, bounds = inst.vars.get(part), relevant.bounds.get(part)
                if bounds is not None and isinstance(value, int) and not isinstance(value, bool):
                    value = max(bounds[0], min(bounds[1], value))
            if value:
                found.append((root + part, value))
        return found

    def _readable(self, relevant: Relevance, steps: tuple[str, ...], signalled: bool) -> list[tuple[str, str]]:
        """(`spent` or `last` or nothing, name) of all that may be read from these positions."""
        names = set(relevant.handlers) if signalled else set()
        if self._commanded:
            names |= relevant.commands
        names = names.union(*(relevant.live[step] for step in steps))
        parts = [(root, part) for root, _, part in (name.rpartition(".") for name in sorted(names))]
        return [(root, part) for root, part in parts if root != "spent" or self._scope.budgets is not None]


def _frame(graph: Graph, inst: Instance, frame: Frame, run: int) -> tuple[Any, ...]:
    works = graph.steps[frame.step].kind in _WORK
    attempts = inst.attempts.get(frame.step, 0) if works else 0
    failures = min(inst.failures.get(frame.step, ("", 0))[1], run) if run else 0
    return frame.step, frame.status, frame.signal, frame.landing, attempts, failures, frame.anew


def _standing(graph: Graph, inst: Instance, slot: str) -> int:
    """Classify a slot: absent (0), stale (1) or current (2). A stale slot stays stale until its step writes it
    again.
    """
    return 0 if slot not in inst.slots else 1 if newer_source(graph, inst, slot) else 2


def _group(protocol: Protocol, state: State, inst: Instance, name: str, group: Group, commanded: bool) -> Any:
    """Encode a group with the outcomes of its members; for a finished map, only the items that its next visit skips."""
    graph = protocol.graphs[inst.graph]
    ok = graph.ok.get(name, ())
    fates = []
    for key, id_ in sorted(group.members.items()):
        outcome = state.insts[id_].outcome
        fates.append((key, bool(outcome), outcome in ok))
    if not group.mapped:
        return fates
    if all(frame.step != name or frame.status != "waiting" for frame in inst.frames):
        if graph.steps[name].keep_done:
            return [key for key, _, good in fates if good]
        if not commanded or name not in graph.itemized:
            return None
        # The items that keep their result if a person redoes another item of the map (see the kernel's `begin_map`).
        needed = [slot.seq for need in graph.steps[name].needs if (slot := inst.slots.get(need.slot))]
        since = max(needed, default=0)
        return [key for key, _, good in fates if good and state.insts[group.members[key]].input.seq >= since]
    chunk = [state.insts[id_].key for id_ in group.current if not state.insts[id_].outcome]
    return fates, chunk, group.pending, group.bad, group.window, group.arrived


def _relations(state: State, inst: Instance, ranks: dict[str, int]) -> bytes:
    """Encode the relations of an instance to others, its mailbox, and its current claim."""
    top = inst.frames[-1]
    act = state.acts.get(top.id) if top.status == "active" else None
    claim = act.claim if act is not None else None
    if claim is None and not inst.mailbox and len(inst.frames) == 1:
        return _ENCODE(ranks.get(inst.parent))
    mail = [_message(state, m, ranks) for m in inst.mailbox if not m.ask or m.ask in state.asks]
    served = [[_message(state, message, ranks) for message in frame.signals] for frame in inst.frames[1:]]
    timers = [message.name for message in inst.mailbox if f"{inst.id}!preempt:{message.name}" in state.timers]
    checked = (claim.key, claim.fields) if claim is not None else None
    return _ENCODE((ranks.get(inst.parent), checked, mail, served, timers))


def _message(state: State, message: Message, ranks: dict[str, int]) -> tuple[Any, ...]:
    asks = message.ask and message.ask in state.asks
    return message.name, ranks.get(message.sender), bool(message.ask), bool(asks)


def _queues(state: State, ranks: dict[str, int]) -> list[tuple[Any, ...]]:
    found = []
    for name, pool in state.pools.items():
        if pool.queue:
            owner, _, kind = name.rpartition(":")
            line = [ranks[pool.queue[number]] for number in sorted(pool.queue)]
            found.append((ranks.get(owner, -1), kind, line))
    return sorted(found)
