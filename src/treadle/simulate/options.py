"""All that can happen next in a state, at a small scope."""

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from treadle.kernel.advance import OUTAGE
from treadle.kernel.commands import RunAgent
from treadle.kernel.events import Checked, Event, Exited, Failed, Replied, Signalled, TimerFired, Unavailable
from treadle.kernel.groups import keys_of
from treadle.kernel.state import Activity, Instance, State
from treadle.protocol.model import Protocol
from treadle.simulate.menu import Menu, Verdict, Work
from treadle.simulate.relevance import Relevance
from treadle.simulate.scope import Scope
from treadle.simulate.waits import awaits_go

_WHY: Final[dict[str, Literal["crash", "invalid", "blocked", "store"]]] = {
    "!crash": "crash",
    "!invalid": "invalid",
    "!blocked": "blocked",
    "!store": "store",
}


class Move(NamedTuple):
    """One event; or a claim, and each of the verdicts that may follow it at once."""

    event: Event
    then: tuple[Event, ...] = ()


class Options:
    """The moves of one protocol at one scope."""

    def __init__(self, protocol: Protocol, scope: Scope, relevant: dict[str, Relevance]) -> None:
        self._protocol = protocol
        self._scope = scope
        self._relevant = relevant
        self.menu = Menu(protocol, scope, relevant)

    def moves(self, state: State) -> list[Move]:
        """Every move of a state, always in the same order."""
        found: list[Move] = []
        for id_ in sorted(state.acts):
            found += self._of_activity(state, id_, state.acts[id_])
        for id_ in sorted(state.asks):
            command = state.asks[id_].command
            if command is not None:
                choices = self._scope.menu(command.step, command.choices)
                found += [Move(Replied(id="", ts=0, ask=id_, choice=choice)) for choice in choices]
        found += [
            Move(TimerFired(id="", ts=0, timer=id_))
            for id_ in sorted(state.timers)
            if "!preempt:" in id_ or id_ == OUTAGE
        ]
        for inst in sorted((inst for inst in state.insts.values() if not inst.outcome), key=lambda inst: inst.n):
            found += self._of_people(state, inst)
        return found

    def _of_activity(self, state: State, id_: str, act: Activity) -> Iterator[Move]:
        if act.phase == "held":
            return
        command = act.command
        inst = state.insts[command.inst]
        work = self.menu.work(command.graph, command.step, inst.depth >= self._scope.depth)
        if act.phase == "running":
            for claim in work.claims:
                exited = Exited(id="", ts=0, act=id_, envelope=claim.envelope)
                then = tuple(self._checked(id_, inst, command.step, verdict) for verdict in claim.verdicts)
                yield Move(exited, then if self._scope.atomic else ())
        elif act.phase == "verifying":
            for verdict in self._open_verdicts(work, act):
                yield Move(self._checked(id_, inst, command.step, verdict))
        if "outage" in self._scope.signals and isinstance(command, RunAgent) and not command.retry:
            yield Move(Unavailable(id="", ts=0, act=id_, why="rate"))
        for key in work.failures:
            yield Move(
                TimerFired(id="", ts=0, timer=id_) if key == "!timeout" else Failed(id="", ts=0, act=id_, why=_WHY[key])
            )

    def _open_verdicts(self, work: Work, act: Activity) -> tuple[Verdict, ...]:
        if act.claim is None:
            return work.verdicts
        own = [claim for claim in work.claims if claim.envelope == act.claim]
        refusals = [verdict for claim in work.claims for verdict in claim.verdicts if verdict.failed]
        return (*(verdict for claim in own for verdict in claim.verdicts if not verdict.failed), *refusals)

    def _checked(self, id_: str, inst: Instance, step: str, verdict: Verdict) -> Event:
        print_ = ""
        if verdict.failed and self._relevant[inst.graph].same_failure:
            print_ = inst.failures.get(step, ("same", 0))[0].rpartition("\n")[2]
        return Checked(id="", ts=0, act=id_, results=verdict.results, derived=verdict.derived, fingerprint=print_)

    def _of_people(self, state: State, inst: Instance) -> Iterator[Move]:
        step = awaits_go(self._protocol, state, inst)
        if step:
            yield Move(Signalled(id="", ts=0, inst=inst.id, name="go", step=step))
        if inst.paused:
            yield Move(Signalled(id="", ts=0, inst=inst.id, name="resume"))
        handlers = self._protocol.graphs[inst.graph].handlers
        for name in self._scope.signals:
            known = name in handlers and all(message.name != name for message in inst.mailbox)
            if name == "abort" or (name == "pause" and not inst.paused) or known:
                yield Move(Signalled(id="", ts=0, inst=inst.id, name=name))
        if "go" in self._scope.signals:
            graph = self._protocol.graphs[inst.graph]
            for place in sorted(graph.commanded):
                yield Move(Signalled(id="", ts=0, inst=inst.id, name="go", step=place))
            for place in sorted(graph.itemized):
                for item in keys_of(inst, place, graph.steps[place]):
                    yield Move(Signalled(id="", ts=0, inst=inst.id, name="go", step=place, item=item))
