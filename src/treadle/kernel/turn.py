"""One turn: the scratch pad for a single event.

It lends out copies of instances, collects commands, and at the end builds the next state. The functions of the other
modules have a turn as their first argument; only the state and the commands outlive it.
"""

import heapq

import msgspec

from treadle.kernel.commands import Cancel, CancelTimer, Command, Notify, SetTimer
from treadle.kernel.state import Activity, Ask, DeadLetter, Frame, Instance, Pool, State
from treadle.protocol.model import Graph, Protocol, Step

_DEAD_LETTERS_KEPT = 64
"""The newest ones, so that the state of a long run does not grow."""


class Turn:
    """The state before the event, the changes, and the new commands."""

    def __init__(self, protocol: Protocol, state: State, ts: int) -> None:
        self.protocol = protocol
        self.state = state
        self.seq = state.seq + 1
        self.now = max(state.now, ts)  # a clock that was set back must not move deadlines
        self.created = state.created
        self.live = state.live
        self.acts = state.acts
        self.asks = state.asks
        self.timers = state.timers
        self.pools = state.pools
        self.dead = state.dead
        self.usage = state.usage
        self.allowances = state.allowances
        self.outage = state.outage
        self.grants = state.grants
        self.outcome = state.outcome
        self.commands: list[Command] = []
        self.freed: list[str] = []
        self.admitted = ""
        """The instance that was just taken from a queue; it starts before the others in that queue."""
        self._drafts: dict[str, Instance] = {}
        self._work: list[tuple[int, str]] = []
        self._waiting: set[str] = set()

    # instances

    def inst(self, id_: str) -> Instance | None:
        """Return an instance for reading."""
        return self._drafts.get(id_) or self.state.insts.get(id_)

    def edit(self, id_: str) -> Instance:
        """Return a copy of an instance to change, and put it on the worklist: `settle` (`reduce`) advances it."""
        draft = self._draft(id_)
        self.touch(draft)
        return draft

    def _draft(self, id_: str) -> Instance:
        # Copied once per turn: the state before the event must not change.
        draft = self._drafts.get(id_)
        if draft is None:
            draft = self._drafts[id_] = self.state.insts[id_].draft()
        return draft

    def add(self, inst: Instance) -> None:
        self._drafts[inst.id] = inst
        self.live += 1
        self.touch(inst)

    def touch(self, inst: Instance) -> None:
        """Put an instance on the worklist, in order of creation."""
        if inst.id not in self._waiting:
            self._waiting.add(inst.id)
            heapq.heappush(self._work, (inst.n, inst.id))

    def touch_everyone(self) -> None:
        """Advance every live instance: something that stopped all of them is over."""
        for inst in self.everyone():
            self.touch(inst)

    def take_work(self) -> Instance | None:
        if not self._work:
            return None
        _, id_ = heapq.heappop(self._work)
        self._waiting.discard(id_)
        return self._draft(id_)

    def everyone(self) -> list[Instance]:
        """Return all live instances, in order of creation; only for rare events, because it visits the whole run."""
        ids = set(self.state.insts) | set(self._drafts)
        found = [inst for id_ in ids if (inst := self.inst(id_)) is not None and inst.live]
        return sorted(found, key=lambda inst: inst.n)

    def graph(self, inst: Instance) -> Graph:
        return self.protocol.graphs[inst.graph]

    def step(self, inst: Instance, frame: Frame) -> Step:
        return self.protocol.graphs[inst.graph].steps[frame.step]

    # activities, asks, timers

    def activity(self, id_: str, *phases: str) -> Activity | None:
        """Return a current activity in one of these phases; None if the event about it is stale (R1)."""
        act = self.acts.get(id_)
        return act if act is not None and act.phase in phases else None

    def put_activity(self, act: Activity) -> None:
        self.acts = self.acts.set(act.command.id, act)

    def end_activity(self, act: Activity) -> None:
        """Forget an activity, free its pools (R13), drop its deadline."""
        id_ = act.command.id
        self.acts = self.acts.delete(id_)
        self.cancel_timer(id_)
        for name in act.pools:
            pool = self.pools[name]
            self.pools = self.pools.set(name, msgspec.structs.replace(pool, held=pool.held - 1))
            self.freed.append(name)

    def put_ask(self, id_: str, ask: Ask) -> None:
        self.asks = self.asks.set(id_, ask)

    def end_ask(self, id_: str) -> None:
        ask = self.asks.get(id_)
        if ask is None:
            return
        self.asks = self.asks.delete(id_)
        self.cancel_timer(f"{id_}!remind")
        self.cancel_timer(f"{id_}!default")
        if ask.command is not None:
            self.commands.append(Cancel(id=id_, why="answered"))

    def set_timer(self, id_: str, seconds: int) -> int:
        due = self.now + seconds * 1000
        self.timers = self.timers.set(id_, due)
        self.commands.append(SetTimer(id=id_, due=due))
        return due

    def cancel_timer(self, id_: str) -> None:
        if id_ in self.timers:
            self.timers = self.timers.delete(id_)
            self.commands.append(CancelTimer(id=id_))

    # pools: persistent queues, first come first served

    def enqueue(self, inst: Instance, name: str) -> None:
        pool = self.pools.get(name) or Pool()
        queue = pool.queue.set(pool.tail, inst.id)
        self.pools = self.pools.set(name, msgspec.structs.replace(pool, queue=queue, tail=pool.tail + 1))
        inst.ticket = (name, pool.tail)

    def dequeue(self, inst: Instance) -> None:
        if inst.ticket is None:
            return
        name, number = inst.ticket
        inst.ticket = None
        pool = self.pools[name]
        self.pools = self.pools.set(name, msgspec.structs.replace(pool, queue=pool.queue.delete(number)))

    def first_in_queue(self, name: str) -> Instance | None:
        """Remove and return the first waiting instance of a pool's queue."""
        pool = self.pools[name]
        head = pool.head
        while head < pool.tail and head not in pool.queue:
            head += 1
        if head == pool.tail:
            self.pools = self.pools.set(name, msgspec.structs.replace(pool, head=head))
            return None
        queue = pool.queue
        self.pools = self.pools.set(name, msgspec.structs.replace(pool, head=head + 1, queue=queue.delete(head)))
        inst = self.edit(queue[head])
        inst.ticket = None
        self.admitted = inst.id
        return inst

    # the end

    def notify(self, inst: str, what: str, detail: str = "") -> None:
        self.commands.append(Notify(id=f"{inst}!{what}#{self.seq}", inst=inst, what=what, detail=detail))

    def bury(self, inst: str, name: str, sender: str) -> None:
        """Add an undeliverable signal to the dead letters."""
        self.dead = (*self.dead, DeadLetter(inst, name, sender))[-_DEAD_LETTERS_KEPT:]

    def finish(self) -> State:
        """Build the next state."""
        insts = self.state.insts
        if self._drafts:
            with insts.mutate() as changed:
                for id_, draft in self._drafts.items():
                    changed[id_] = draft
                insts = changed.finish()
        return msgspec.structs.replace(
            self.state,
            seq=self.seq,
            now=self.now,
            created=self.created,
            live=self.live,
            insts=insts,
            acts=self.acts,
            asks=self.asks,
            timers=self.timers,
            pools=self.pools,
            dead=self.dead,
            usage=self.usage,
            allowances=self.allowances,
            outage=self.outage,
            grants=self.grants,
            outcome=self.outcome,
        )
