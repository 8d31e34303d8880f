"""An agent's activity, from dispatch to claim; issued again after a crash, it goes on where it was."""

import asyncio
from contextlib import suppress
from typing import Final, Literal

import msgspec

from treadle.errors import PortError
from treadle.kernel.commands import RunAgent
from treadle.kernel.events import Event, Idle, SessionStarted, Usage
from treadle.kernel.state import State
from treadle.kernel.timers import DEADLINE
from treadle.ports import Ended, Progress, Runner, Session, Watch, Work
from treadle.results.read import Reading, owed, read, take
from treadle.runtime.agent_events import Told, claim, failure, ignored, outage, spent
from treadle.runtime.budgets import Breach
from treadle.runtime.cleansing import cleanse
from treadle.runtime.desk import Desk
from treadle.runtime.dispatch import Dispatch, Dispatched, goes_on
from treadle.runtime.inbox import Inbox
from treadle.runtime.meter import Meter
from treadle.runtime.silence import Silence
from treadle.runtime.world import World, event_id

_FILES: Final = 400
ROUNDS: Final = 1
"""How often an agent that ends without an answer is told to go on."""
DEGRADED: Final = "this agent cannot branch off from a conversation: it begins anew, and its prompt has what was agreed"
REMINDER: Final = "REMINDER: Emit a decision to complete this phase."


class AgentJobs:
    """The agents of one run that are at work."""

    def __init__(self, desk: Desk, inbox: Inbox, dispatch: Dispatch, world: World) -> None:
        self._desk, self._inbox, self._dispatch, self._world = desk, inbox, dispatch, world
        self._sessions: dict[str, Session] = {}
        self._leaving: Literal["", "at rest", "interrupted"] = ""

    def leave(self, *, orderly: bool) -> None:
        """From now on a cancelled job is only left: at rest its agent works on, interrupted only a person does."""
        self._leaving = "at rest" if orderly else "interrupted"

    async def nudge(self, act: str, count: int) -> None:
        """Remind an agent; noted if it cannot be reached."""
        session = self._sessions.get(act)
        if session is None or not await session.nudge(REMINDER):
            self._desk.stray(act, "nudge", f"reminder {count} could not be delivered")

    async def run(self, job: RunAgent, state: State) -> Event:
        """The claim that an agent makes, or how it failed to make one."""
        runner = self._world.runner_of(job)
        if runner is None:
            never: asyncio.Future[Event] = asyncio.get_running_loop().create_future()
            return await never
        try:
            if breach := await self._refused(job, state):
                return spent(job, breach, Usage(), self._world)
            sent, ended, reading = await self._heard(job, state, runner)
        except asyncio.CancelledError:
            if not (self._leaving == "at rest" or (self._leaving and runner.abilities.person)):
                await self._stop(job, runner)
            raise
        finally:
            self._sessions.pop(job.id, None)
            self._dispatch.ended(job)
        await take(sent.work)
        await self._dispatch.left(sent)
        self._remember(job, ended, runner)
        breach = self._world.budgets.of_step(job, ended.usage)
        if breach and reading.claim is None:
            return spent(job, breach, ended.usage, self._world)
        return await self._said(Told(job, ended, reading, sent.ways), state)

    async def _heard(self, job: RunAgent, state: State, runner: Runner) -> tuple[Dispatched, Ended, Reading]:
        """An agent's answer; one that ends without any is told so in the same conversation, and may go on once."""
        sent, ended = await self._played(job, state, runner)
        reading = await self._read(sent, ended)
        while self._may_go_on(job, sent.work, ended, reading, runner):
            words = "\n".join([*(reading.problems or [owed(sent.ways)]), *ignored(reading), REMINDER])
            sent = await self._dispatch.go_on(sent, ended, words)
            earlier, ended = ended.refused, await self._started(job, sent, runner)
            ended = msgspec.structs.replace(ended, refused=(*earlier, *ended.refused))
            reading = await self._read(sent, ended)
        await self._cleanse(sent.work)
        hidden = self._world.hidden()
        return sent, hidden.value(ended), hidden.value(reading)

    async def _read(self, sent: Dispatched, ended: Ended) -> Reading:
        return await read(sent.work, sent.ways, sent.before, ended.final)

    async def _cleanse(self, work: Work) -> None:
        """Take out of what an agent has left the keys that it was lent, before anything of it is kept."""
        for found in await asyncio.to_thread(cleanse, work, self._world.hidden()):
            told = f"{found}; it is taken out"
            self._desk.stray(work.act, "key", told)
            self._world.progress(work.act, Progress(note=told))

    async def _played(self, job: RunAgent, state: State, runner: Runner) -> tuple[Dispatched, Ended]:
        """The session that is still there, or the end of one that is not, or a new session, to its end.

        What it has used is told with what the rounds before have used.
        """
        sent = await self._dispatch.earlier(job)
        if sent is None:
            if job.session and not goes_on(job, runner.abilities):
                self._world.progress(job.id, Progress(note=DEGRADED))
            sent = await self._dispatch.send(job, state, runner.abilities)
            return sent, await self._started(job, sent, runner)
        watched = _Watched(self._world, job, sent.work)
        if session := await runner.attach(sent.work, self._watch(watched)):
            await self._dispatch.serve_again(sent)
            return sent, await self._watched(watched, session)
        if ended := await runner.harvest(sent.work):
            return sent, watched.counted(ended)
        await self._cleanse(sent.work)
        if sent.work.round:  # the conversation is there, and only what it was to be told next is not
            await self._dispatch.serve_again(sent)
        else:
            sent = await self._dispatch.send(job, state, runner.abilities)
        return sent, await self._started(job, sent, runner)

    async def _started(self, job: RunAgent, sent: Dispatched, runner: Runner) -> Ended:
        watched = _Watched(self._world, job, sent.work)
        return await self._watched(watched, await runner.start(sent.work, self._watch(watched)))

    def _watch(self, watched: "_Watched") -> Watch:
        hidden = self._world.hidden()

        def watch(said: Progress) -> None:
            progress = hidden.value(said)
            watched.silence.broken(progress)
            self._world.progress(watched.job.id, progress)
            self._inbox.wake()
            if progress.usage:
                watched.meter.count(progress.usage)

        return watch

    async def _refused(self, job: RunAgent, state: State) -> Breach | None:
        """Why nothing may be started today; what was started before goes on."""
        breach = self._world.budgets.of_day(state, self._world.clock.now())
        return breach if breach and await self._dispatch.earlier(job) is None else None

    def _may_go_on(self, job: RunAgent, work: Work, ended: Ended, reading: Reading, runner: Runner) -> bool:
        """Whether an agent that has not answered properly can be told so in the conversation that it has just left."""
        is_over = ended.how == "done" and reading.claim is None and bool(ended.session) and not ended.outage
        able = runner.abilities.resume and work.round < ROUNDS
        return is_over and able and not self._world.budgets.of_step(job, ended.usage)

    async def _watched(self, watched: "_Watched", session: Session) -> Ended:
        job = watched.job
        self._sessions[job.id] = session
        step = self._desk.protocol.graphs[job.graph].steps[job.step]
        waiting, stopping = asyncio.ensure_future(session.wait()), asyncio.ensure_future(watched.meter.stop(session))
        try:
            async for count in watched.silence.beyond(0 if job.by_person else step.nudge_after, waiting):
                id_ = event_id(job, f"idle{count}")
                self._inbox.put(Idle(id=id_, ts=self._world.clock.now(), act=job.id, idle_s=step.nudge_after))
            ended = await waiting
            if watched.meter.breach:
                await stopping
            return watched.counted(ended)
        finally:
            waiting.cancel()
            stopping.cancel()

    async def _stop(self, job: RunAgent, runner: Runner) -> None:
        """End the session, also one that was about to start, and save what it has left."""
        session, sent = self._sessions.get(job.id), await self._dispatch.earlier(job)
        if session is None and sent:
            session = await runner.attach(sent.work, lambda _: None)
        if session is not None:
            await session.cancel()
        if sent:
            await self._cleanse(sent.work)
        await self._world.workspace.save(self._desk.run, job.id)

    async def _said(self, told: Told, state: State) -> Event:
        job, ended, reading = told.job, told.ended, told.reading
        for warning in reading.warnings:
            self._desk.stray(job.id, "answer", warning)
        await self._dispatch.keep_notes(job, reading.notes)
        if reading.claim is not None and not (reading.channel == "final" and ended.code):
            return claim(told, reading.claim, self._desk.protocol, state, self._world)
        if ended.outage:
            return outage(told, ended.outage, self._world)
        return failure(told, await self._changed(job.id), self._world)

    def _remember(self, job: RunAgent, ended: Ended, runner: Runner) -> None:
        """The conversation, so that it can be continued; and whether it is another one than was meant."""
        if ended.session:
            self._inbox.put(
                SessionStarted(
                    id=event_id(job, "session"),
                    ts=self._world.clock.now(),
                    act=job.id,
                    session=ended.session,
                    is_new=bool(job.session) and not goes_on(job, runner.abilities),
                )
            )

    async def overdue(self, act: str) -> str:
        """What an agent has changed whose time is up, as a reference to a payload; empty if that is nothing."""
        changed = await self._changed(act) if act in self._sessions else ()
        return self._world.payloads.put({"report": DEADLINE, "files_changed": list(changed)}) if changed else ""

    async def _changed(self, act: str) -> tuple[str, ...]:
        """What a session has changed that has not said so itself; nothing where that cannot be told."""
        with suppress(PortError):
            return (await self._world.workspace.changed(self._desk.run, act))[:_FILES]
        return ()


class _Watched:
    """A session of an agent, as it is watched."""

    def __init__(self, world: World, job: RunAgent, work: Work) -> None:
        self.job = job
        self.silence = Silence(world.clock)
        self.meter = Meter(world.budgets, job, work.used, world.prices_of(job.role))

    def counted(self, ended: Ended) -> Ended:
        """Its end, with what all rounds have used."""
        return msgspec.structs.replace(ended, usage=self.meter.total(ended))
