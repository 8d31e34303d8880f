"""A run of a small protocol in a believing world, with agents of one's choice: what tests of the runtime begin with."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from tests.fakes import BelievingChecks, Journal, PlainWorkspace, RecordingNotifier, SingleAgent, SmoothEffects
from tests.kernel.protocols import agent, graph, protocol, to
from treadle.engines.driver import Driver, Surroundings
from treadle.kernel.events import Event, RunStarted
from treadle.kernel.replay import decode_event
from treadle.kernel.state import State
from treadle.ports import Clock, Runner
from treadle.protocol.digest import digest
from treadle.protocol.items import Item
from treadle.protocol.model import Exit, Field, Protocol, Role
from treadle.runtime.desk import Desk
from treadle.runtime.dispatch import AgentTools, Dispatch
from treadle.runtime.loop import Rests, awaits_only_people
from treadle.runtime.world import RunWorld, SystemClock
from treadle.store.records import Run
from treadle.store.sqlite import Store

ONE_STEP: Protocol = protocol(
    graph(
        {"work": agent({"Ok": to("@end:Done"), "Nok": to("@end:Failed")}, timeout=60, nudge_after=0)},
        input=("task", ""),
        system={
            "!timeout": to("@end:TimedOut"),
            "!crash": to("@end:Crashed"),
            "!invalid": to("@end:Invalid"),
            "!*": to("@end:Failed"),
        },
    ),
    exits={"Ok": Exit(fields={"note": Field(type="text?")})},
    templates={"work.jinja": "Do your part."},
)


def with_role(table: Protocol, **limits: int) -> Protocol:
    """The protocol with a template for its role, its ends declared, and other limits."""
    main = table.graphs[table.root]
    ends = {**main.ends, "TimedOut": (), "Crashed": (), "Invalid": ()}
    return msgspec.structs.replace(
        table,
        roles={"worker": Role(template="work.jinja")},
        graphs={table.root: msgspec.structs.replace(main, ends=ends)},
        limits=msgspec.structs.replace(table.limits, **limits),
    )


class Stage(Surroundings):
    """A store with one run in it, which may be there already."""

    def __init__(
        self, root: Path, table: Protocol, runner: Runner, clock: Clock | None = None, tools: AgentTools | None = None
    ) -> None:
        self.root, self.table, self.runner, self.tools = root, table, runner, tools
        self.clock = clock or SystemClock()
        self.store = Store(root / "store.db", create=True)
        self.told = RecordingNotifier()
        now = self.clock.now()
        start = RunStarted(id="start", ts=now, run="r", protocol=digest(table), input=Item("task", "text:task"))
        run = Run(
            id="r", name="r", protocol="", settings={}, created=now, changed=now, seq=0, acts=0, asks=0, outcome="",
            owner="",
        )  # fmt: skip
        if not self.store.runs():
            self.store.create(run, table, start)

    async def drive(self, rests: Rests = awaits_only_people, changed: Callable[[Desk], None] | None = None) -> State:
        return await Driver(self.store, self).drive("r", changed, rests)

    def world(self, run: Run) -> RunWorld:  # noqa: ARG002
        journal = Journal(self.root / "journal")
        return RunWorld(
            clock=self.clock,
            payloads=self.store.payloads,
            agents=SingleAgent(self.runner),
            workspace=PlainWorkspace(self.root, journal),
            checks=BelievingChecks(journal),
            effects=SmoothEffects(journal),
            notifier=self.told,
        )

    def dispatch(self, run: Run, desk: Desk, world: RunWorld) -> Dispatch:
        return Dispatch(desk, world, self.root / "runs" / run.id, {}, tools=self.tools)

    def events(self) -> list[Event]:
        return [decode_event(body) for _, body in self.store.events("r")]
