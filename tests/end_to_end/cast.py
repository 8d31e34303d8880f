"""Who plays in a story: agents whose turns are taken in order, played for real in their lanes."""

import asyncio
import re
from fnmatch import fnmatchcase
from typing import Any, Final

import msgspec

from treadle.agents.script import AgentScript, ScriptRule, ScriptTurn, read_script
from treadle.agents.scripted import Scripted
from treadle.kernel.state import State
from treadle.ports import Abilities, Ended, Session, Watch, Work
from treadle.protocol.model import base_of

_GLANCE: Final = 0.01
"""Seconds between two looks at how the run stands."""
_BEGUN: Final = re.compile(r"(?P<step>[^#]+)#(?P<visit>\d+)(?:\.(?P<attempt>\d+))?")


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One turn, and for whom it is."""

    step: str
    instance: str
    """A pattern."""
    turn: ScriptTurn
    after: tuple[str, ...] = ()
    """What must be so before the turn is played, see `holds`."""
    reminded: bool = False
    """The agent is silent until it is reminded."""

    @classmethod
    def of(
        cls, step: str, instance: str, after: str | tuple[str, ...] = (), reminded: bool = False, **turn: Any
    ) -> "Part":
        """A part whose turn has the keys of a script's."""
        text = msgspec.json.encode({"agents": [{"turns": [turn]}]}).decode()
        script = read_script(text, f"the turn of {instance}:{step}")
        conditions = (after,) if isinstance(after, str) else after
        return cls(step=step, instance=instance, turn=script.rules[0].turns[0], after=conditions, reminded=reminded)


def holds(state: State, what: str) -> bool:
    """`root/a:impl.TestsPassed`: that exit was taken. `root/a:impl#2.1`: that attempt, or a later one of the same
    visit, has begun. `root/a:stuck`: the instance is there now. `root/a`: it has ended.
    """
    inst, _, at = what.partition(":")
    found = state.insts.get(inst)
    if found is None:
        return False
    if begun := _BEGUN.fullmatch(at):
        visit, attempt = int(begun["visit"]), int(begun["attempt"] or 1)
        seen = found.visits.get(begun["step"], 0)
        return seen > visit or (seen == visit and found.attempts.get(begun["step"], 0) >= attempt)
    if "." in at:
        return at in found.slots
    return any(base_of(frame.step) == at for frame in found.frames) if at else bool(found.outcome)


class Cast:
    """`ports.Runner`: the nth activity of a step of an instance plays the nth turn there is for it, the last again."""

    def __init__(self, conversations: bool = False) -> None:
        self.abilities = Abilities(resume=conversations, fork=conversations)
        self.own: list[Part] = []
        self.others: list[Part] = []
        """Played when a story has no more turns of its own for an activity."""
        self.state = State()
        self.works: dict[str, Work] = {}
        self.reminders: dict[str, list[str]] = {}
        self._order: dict[str, list[str]] = {}

    async def start(self, work: Work, watch: Watch) -> Session:
        part = self._part(work)
        self.works[work.act] = work
        while not all(holds(self.state, what) for what in part.after):
            await asyncio.sleep(_GLANCE)
        rule = ScriptRule(line=1, when={}, turns=(part.turn,))
        scripted = Scripted(script=AgentScript("the story", (rule,)))
        if part.reminded:
            return _Silent(self, scripted, work, watch)
        return _Spoken(await scripted.start(work, watch), self._conversation(work))

    async def attach(self, work: Work, watch: Watch) -> Session | None:  # noqa: ARG002
        return None

    async def harvest(self, work: Work) -> Ended | None:  # noqa: ARG002
        return None

    def _part(self, work: Work) -> Part:
        place = work.act.partition("#")[0]
        inst = place.rpartition(":")[0]
        turns = [
            part for part in (*self.own, *self.others) if part.step == work.step and fnmatchcase(inst, part.instance)
        ]
        assert turns, f"the story has no turn for {work.act}"
        order = self._order.setdefault(place, [])
        if work.act not in order:
            order.append(work.act)
        return turns[min(order.index(work.act), len(turns) - 1)]

    def _conversation(self, work: Work) -> str:
        """A conversation that is continued keeps its name; every other one gets one."""
        if not self.abilities.resume:
            return ""
        return work.session if work.session and not work.fork else f"conversation of {work.act}"


class _Spoken(msgspec.Struct, frozen=True):
    """A session that can be continued by others."""

    session: Session
    conversation: str

    async def wait(self) -> Ended:
        return msgspec.structs.replace(await self.session.wait(), session=self.conversation)

    async def nudge(self, text: str) -> bool:
        return await self.session.nudge(text)

    async def cancel(self) -> None:
        await self.session.cancel()


class _Silent:
    """A session that does nothing until somebody reminds it."""

    def __init__(self, cast: Cast, scripted: Scripted, work: Work, watch: Watch) -> None:
        self._cast, self._scripted, self._work, self._watch = cast, scripted, work, watch
        self._reminded = asyncio.Event()

    async def wait(self) -> Ended:
        await self._reminded.wait()
        session = await self._scripted.start(self._work, self._watch)
        return await session.wait()

    async def nudge(self, text: str) -> bool:
        self._cast.reminders.setdefault(self._work.act, []).append(text)
        self._reminded.set()
        return True

    async def cancel(self) -> None:
        self._reminded.set()
