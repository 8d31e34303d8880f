"""Canonical keys of states: two states with the same key behave the same for ever.

Whatever does not influence behaviour is left out (sequence numbers, times, visits, payloads, history, dead letters,
usage), instances are named by their place in order of creation, counters stop where guards stop telling them apart.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from treadle.kernel.advance import OUTAGE
from treadle.kernel.commanded import newer_source
from treadle.kernel.state import Frame, Group, Instance, Message, State
from treadle.protocol.model import Graph, Protocol
from treadle.simulate.relevance import Literal, Relevance, relevance
from treadle.simulate.scope import Scope

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
        """What each live instance contributes by itself; what has not changed is taken from `known`."""
        found = {}
        for id_, inst in state.insts.items():
            if not inst.outcome:
                old = known.get(id_)
                found[id_] = old if old is not None and old[0] is inst else (inst, self._own(state, inst))
        return found

    def key(self, state: State, parts: Parts) -> bytes:
        """The key of a state whose parts have been made."""
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
        return _ENCODE(
            (
                inst.graph,
                inst.group,
                inst.key,
                inst.depth,
                [_frame(graph, inst, frame, relevant.same_failure) for frame in inst.frames],
                self._memory(inst, relevant),
                _questions(inst, relevant.same_question),
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
        """The budgets, variables and last exits that somebody may still read."""
        steps = tuple(frame.landing or frame.step for frame in inst.frames)
        told = self._may_be_told(inst)
        names = self._readers.get((inst.graph, steps, told))
        if names is None:
            names = self._readers[inst.graph, steps, told] = self._readable(relevant, steps, told)
        found: list[tuple[str, int | str | bool]] = []
        for root, part in names:
            if root == "spent":
                value: int | str | bool | None = inst.spent.get(part)
            elif root == "last":
                value = _known(inst.last.get(part), relevant.told.get(part))
            else:
                value = _clamped(inst.vars.get(part), relevant.bounds.get(part))
            if value:
                found.append((root + part, value))
        return found

    def _readable(self, relevant: Relevance, steps: tuple[str, ...], told: bool) -> list[tuple[str, str]]:
        """(`spent` or `last` or nothing, name) of all that may be read from these positions."""
        names = set(relevant.handlers) if told else set()
        if self._commanded:
            names |= relevant.commands
        names = names.union(*(relevant.live[step] for step in steps))
        parts = [(root, part) for root, _, part in (name.rpartition(".") for name in sorted(names))]
        return [(root, part) for root, part in parts if root != "spent" or self._scope.budgets is not None]

    def _may_be_told(self, inst: Instance) -> bool:
        """Whether there is anybody to send this instance a signal."""
        return bool(inst.parent or inst.depth < self._scope.depth or self._scope.signals)


def _frame(graph: Graph, inst: Instance, frame: Frame, run: int) -> tuple[Any, ...]:
    works = graph.steps[frame.step].kind in _WORK
    attempts = inst.attempts.get(frame.step, 0) if works else 0
    failures = min(inst.failures.get(frame.step, ("", 0))[1], run) if run else 0
    return frame.step, frame.status, frame.signal, frame.landing, attempts, failures, frame.anew


def _questions(inst: Instance, most: int) -> list[tuple[str, int]]:
    """How often each question was asked, as far as guards tell."""
    return sorted((print_, min(times, most)) for print_, times in inst.asked.items()) if most else []


def _known(key: str | None, told: frozenset[Literal] | None) -> str | None:
    """An exit that no guard knows by name is as good as any other such."""
    return key if key is None or told is None or key in told else "any other"


def _clamped(value: int | str | bool | None, bounds: tuple[int, int] | None) -> int | str | bool | None:
    """A counter beyond every number that guards compare it with might as well stand still."""
    if bounds is not None and isinstance(value, int) and not isinstance(value, bool):
        return max(bounds[0], min(bounds[1], value))
    return value


def _standing(graph: Graph, inst: Instance, slot: str) -> int:
    """Not there, out of date, or as good as new. What is out of date stays so until it is written again."""
    return 0 if slot not in inst.slots else 1 if newer_source(graph, inst, slot) else 2


def _group(protocol: Protocol, state: State, inst: Instance, name: str, group: Group, commanded: bool) -> Any:
    """A roster with the fate of its members; of a map that is over, what its next visit will not do again."""
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
        return _fresh(state, inst, graph, name, group) if commanded and name in graph.itemized else None
    chunk = [state.insts[id_].key for id_ in group.current if not state.insts[id_].outcome]
    return fates, chunk, group.pending, group.bad, group.window, group.arrived


def _fresh(state: State, inst: Instance, graph: Graph, name: str, group: Group) -> list[str]:
    """What would stay if one item of a map were done anew."""
    since = max((slot.seq for need in graph.steps[name].needs if (slot := inst.slots.get(need.slot))), default=0)
    members = [(key, state.insts[id_]) for key, id_ in sorted(group.members.items())]
    ok = graph.ok.get(name, ())
    return [key for key, child in members if child.outcome in ok and child.input.seq >= since]


def _relations(state: State, inst: Instance, ranks: dict[str, int]) -> bytes:
    """What an instance has to do with others, and what it is busy with."""
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
