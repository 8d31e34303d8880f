"""A scenario reads like a conversation: each line is a claim or an answer, followed by the expected position.

    run = Scenario(load("v3"), spec)
    run.says("InitWork", childSpecs=items("a", "b"))
    run.says("TestsReady", at="root/a:tests")
    assert run.where("root/a") == "impl"

The test plays the world: claims, verdicts of checks, answers, time. State and commands come from the kernel.
"""

from collections.abc import Iterable
from typing import Any, Self

from treadle.kernel.commands import AskHuman, Command, RunAgent, RunChecks, RunEffect
from treadle.kernel.events import (
    Checked,
    CheckResult,
    Envelope,
    Event,
    Exited,
    Failed,
    Idle,
    Outages,
    Replied,
    RunStarted,
    SessionStarted,
    Signalled,
    TimerFired,
    Unavailable,
    Usage,
)
from treadle.kernel.reduce import outstanding, reduce
from treadle.kernel.state import Instance, State
from treadle.protocol.items import Item, Routed
from treadle.protocol.model import Protocol


def items(*keys: str, **fields: Routed) -> tuple[Item, ...]:
    """Items with these keys (and, all of them, these fields)."""
    return tuple(Item(key, f"ref:{key}", dict(fields)) for key in keys)


class Scenario:
    """A run in a world that the test plays."""

    def __init__(self, protocol: Protocol, fields: dict[str, Routed] | None = None, level: Any = 2) -> None:
        self.protocol = protocol
        self.state = State()
        self.commands: tuple[Command, ...] = ()
        self.log: list[Event] = []
        self._clock = 0
        given = Item("root", "ref:input", fields or {})
        self.happens(RunStarted(**self._stamp(), run="run", protocol="digest", input=given, level=level))

    def happens(self, event: Event) -> Self:
        """Apply any event."""
        self.log.append(event)
        self.state, self.commands = reduce(self.protocol, self.state, event)
        return self

    def says(
        self, exit_: str, at: str = "", fails: Iterable[str] = (), fingerprint: str = "", **fields: Routed
    ) -> Self:
        """An activity leaves by an exit; its checks pass, except those in `fails`."""
        act = self.activity(at)
        self.claims(exit_, act, **fields)
        if self._is_verifying(act):
            self.checked(act, fails, fingerprint)
        return self

    def claims(self, exit_: str, at: str = "", **fields: Routed) -> Self:
        """An activity leaves by an exit; its checks have not run yet."""
        act = self.activity(at)
        tag, _, variant = exit_.partition(".")
        envelope = Envelope(tag, variant, fields, f"ref:{act}.{exit_}")
        return self.happens(Exited(**self._stamp(), act=act, envelope=envelope))

    def checked(self, at: str = "", fails: Iterable[str] = (), fingerprint: str = "", report: str = "") -> Self:
        """The checks of an activity have run; where some fail, they leave a report."""
        act = self.activity(at)
        failed = set(fails)
        results = tuple(
            CheckResult(check.name, check.name not in failed, f"report:{check.name}")
            for check in self.state.acts[act].checks
        )
        return self.happens(
            Checked(**self._stamp(), act=act, results=results, fingerprint=fingerprint, payload_ref=report)
        )

    def fails(self, why: Any, at: str = "") -> Self:
        return self.happens(Failed(**self._stamp(), act=self.activity(at), why=why, detail_ref=f"ref:{why}"))

    def is_held_up(self, why: Outages, at: str = "", *, wait: int = 0, grant: str = "") -> Self:
        """An agent's service is out, or a budget is spent."""
        act = self.activity(at)
        return self.happens(
            Unavailable(**self._stamp(), act=act, why=why, wait=wait, grant=grant, detail_ref="ref:why")
        )

    def times_out(self, at: str = "") -> Self:
        return self.fires(self.activity(at))

    def fires(self, timer: str) -> Self:
        return self.happens(TimerFired(**self._stamp(), timer=timer))

    def is_silent(self, at: str = "") -> Self:
        return self.happens(Idle(**self._stamp(), act=self.activity(at), idle_s=60))

    def has_session(self, session: str, at: str = "") -> Self:
        return self.happens(SessionStarted(**self._stamp(), act=self.activity(at), session=session))

    def costs(self, cost: float, exit_: str, at: str = "") -> Self:
        act = self.activity(at)
        usage = Usage(10, 20, cost)
        return self.happens(Exited(**self._stamp(), act=act, envelope=Envelope(exit_), usage=usage))

    def answers(self, choice: str, at: str = "", note: str = "") -> Self:
        """A person answers the open question (at that place)."""
        return self.happens(Replied(**self._stamp(), ask=self.question(at), choice=choice, note_ref=note))

    def signals(self, name: str, to: str = "root", step: str = "", data: str = "ref:signal", item: str = "") -> Self:
        return self.happens(Signalled(**self._stamp(), inst=to, name=name, step=step, data_ref=data, item=item))

    # looking

    def activity(self, at: str = "") -> str:
        """The id of the current activity at a place: `impl`, `root/a:impl`, or a whole id."""
        return self._one("activity", self.state.acts, at)

    def question(self, at: str = "") -> str:
        people = {id_: ask for id_, ask in self.state.asks.items() if ask.command is not None}
        return self._one("question", people, at)

    def inst(self, id_: str = "root") -> Instance:
        return self.state.insts[id_]

    def where(self, id_: str = "root") -> str:
        """The step an instance stands at (that of its top frame), or `@Outcome`."""
        inst = self.inst(id_)
        return f"@{inst.outcome}" if inst.outcome else inst.frames[-1].step

    def status(self, id_: str = "root") -> str:
        return self.inst(id_).frames[-1].status

    def running(self) -> list[str]:
        """The places where activities run, sorted: `root/a:impl`."""
        return sorted(id_.rpartition("#")[0] for id_ in self.state.acts)

    def asked(self) -> list[str]:
        """The places where a person is asked, sorted."""
        return sorted(id_.rpartition("#")[0] for id_, ask in self.state.asks.items() if ask.command is not None)

    def issued(self, kind: type[Command]) -> list[Any]:
        """The commands of a kind that the last event gave rise to."""
        return [command for command in self.commands if isinstance(command, kind)]

    def job(self, at: str = "") -> RunAgent | RunEffect | RunChecks:
        return self.state.acts[self.activity(at)].command

    def open(self) -> list[Command]:
        return list(outstanding(self.state))

    def ask(self, at: str = "") -> AskHuman:
        command = self.state.asks[self.question(at)].command
        assert command is not None
        return command

    def _is_verifying(self, act: str) -> bool:
        found = self.state.acts.get(act)
        return found is not None and found.phase == "verifying"

    def _one(self, what: str, among: Iterable[str], at: str) -> str:
        found = [id_ for id_ in sorted(among) if _is_at(id_, at)]
        if len(found) != 1:
            raise AssertionError(f"{what} at {at or 'anywhere'}: {found or 'none'}; there are {sorted(among)}")
        return found[0]

    def _stamp(self) -> dict[str, Any]:
        self._clock += 1
        return {"id": f"e{self._clock}", "ts": self._clock * 1000}


def _is_at(id_: str, at: str) -> bool:
    place = id_.rpartition("#")[0]
    return at in ("", id_, place) or place.endswith(f":{at}")
