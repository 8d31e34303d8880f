"""An agent's activity, from dispatch to claim; issued again after a crash, it goes on where it was."""

import asyncio
import re
from typing import Final, Literal

from treadle.kernel.commands import RunAgent
from treadle.kernel.events import Event, Exited, Failed, Idle, SessionStarted
from treadle.kernel.state import State
from treadle.ports import Ended, Progress, Runner, Session, Watch
from treadle.prompts.report import report
from treadle.protocol.items import Json
from treadle.results.read import Reading, owed, read, take, unsaid
from treadle.results.ways import Ways
from treadle.runtime.desk import Desk
from treadle.runtime.dispatch import Dispatch, Dispatched
from treadle.runtime.envelope import envelope_of
from treadle.runtime.inbox import Inbox
from treadle.runtime.own_fields import own_fields
from treadle.runtime.silence import Silence
from treadle.runtime.world import World, event_id

_SURROGATES: Final = re.compile("[\ud800-\udfff]")
"""What stands in a text for bytes that are none; no file or message can hold it."""
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
        runner = self._world.runner_of(job.role)
        if runner is None:
            never: asyncio.Future[Event] = asyncio.get_running_loop().create_future()
            return await never
        try:
            sent, ended = await self._played(job, state, runner)
        except asyncio.CancelledError:
            if not (self._leaving == "at rest" or (self._leaving and runner.abilities.person)):
                await self._stop(job, runner)
            raise
        finally:
            self._sessions.pop(job.id, None)
        reading = await read(sent.work, sent.ways, sent.before, ended.final)
        await take(sent.work)
        return await self._claim(job, state, ended, reading, sent.ways)

    async def _played(self, job: RunAgent, state: State, runner: Runner) -> tuple[Dispatched, Ended]:
        """The session that is still there, or the end of one that is not, or a new session, to its end."""
        silence = Silence(self._world.clock)
        watch = self._watch(job, silence)
        sent = await self._dispatch.earlier(job)
        session = await runner.attach(sent.work, watch) if sent else None
        if sent and session is None and (ended := await runner.harvest(sent.work)):
            return sent, ended
        if sent is None or session is None:
            sent = await self._dispatch.send(job, state, runner.abilities)
            session = await runner.start(sent.work, watch)
        self._sessions[job.id] = session
        return sent, await self._watched(job, session, silence)

    def _watch(self, job: RunAgent, silence: Silence) -> Watch:
        def watch(progress: Progress) -> None:
            silence.broken(progress)
            self._world.progress(job.id, progress)
            self._inbox.wake()

        return watch

    async def _watched(self, job: RunAgent, session: Session, silence: Silence) -> Ended:
        step = self._desk.protocol.graphs[job.graph].steps[job.step]
        waiting = asyncio.ensure_future(session.wait())
        try:
            async for count in silence.beyond(step.nudge_after, waiting):
                id_ = event_id(job, f"idle{count}")
                self._inbox.put(Idle(id=id_, ts=self._world.clock.now(), act=job.id, idle_s=step.nudge_after))
            return await waiting
        finally:
            waiting.cancel()

    async def _stop(self, job: RunAgent, runner: Runner) -> None:
        """End the session, also one that was about to start, and save what it has left."""
        session = self._sessions.get(job.id)
        if session is None and (sent := await self._dispatch.earlier(job)):
            session = await runner.attach(sent.work, lambda _: None)
        if session is not None:
            await session.cancel()
        await self._world.workspace.save(self._desk.run, job.id)

    async def _claim(self, job: RunAgent, state: State, ended: Ended, reading: Reading, ways: Ways) -> Event:
        now = self._world.clock.now()
        for warning in reading.warnings:
            self._desk.stray(job.id, "answer", warning)
        await self._dispatch.keep_notes(job, reading.notes)
        if ended.session:
            self._inbox.put(SessionStarted(id=event_id(job, "session"), ts=now, act=job.id, session=ended.session))
        if reading.claim is None or (reading.channel == "final" and ended.code):
            return self._failure(job, ended, reading, ways, now)
        protocol, name = self._desk.protocol, reading.claim.exit
        own = own_fields(protocol, name, job, state, self._world.payloads)
        envelope = envelope_of(protocol, name, {**reading.claim.fields, **own}, self._world.payloads)
        return Exited(
            id=event_id(job, "exited"),
            ts=now,
            act=job.id,
            envelope=envelope,
            channel=reading.channel,
            usage=ended.usage,
        )

    def _failure(self, job: RunAgent, ended: Ended, reading: Reading, ways: Ways, now: int) -> Failed:
        """No claim: the program is to blame if it broke, the agent if it just did not answer properly."""
        broke = ended.how != "done" or (bool(ended.code) and not reading.problems)
        is_told = broke and bool(ended.detail)
        agent, person = (
            "\n".join([*([] if is_told else [*(reading.problems or [silence]), *_ignored(reading)]), *_words(ended)])
            for silence in (owed(ways), unsaid(ways))
        )
        detail: dict[str, Json] = {
            **report(agent, person),
            "code": ended.code,
            "output": _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", ended.final[-4000:]),
        }
        return Failed(
            id=event_id(job, "failed"),
            ts=now,
            act=job.id,
            why="crash" if broke else "invalid",
            detail_ref=self._world.payloads.put(detail),
            usage=ended.usage,
        )


def _words(ended: Ended) -> list[str]:
    return [ended.detail] if ended.detail else []


def _ignored(reading: Reading) -> list[str]:
    """What was there and did not count: an agent that thinks it has answered must learn that it has not."""
    return [f"an answer that was there does not count: {warning}" for warning in reading.warnings]
