"""An agent's activity, from dispatch to claim. After a crash, the next process continues it where it stopped."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, Final, Literal

import msgspec

from treadle.errors import PortError
from treadle.kernel.activities import DEADLINE
from treadle.kernel.commands import RunAgent
from treadle.kernel.events import Event, Exited, Idle, SessionStarted, Usage
from treadle.kernel.state import State
from treadle.ports import Clock, Ended, Progress, Runner, Session, Work
from treadle.protocol.answers.claim import Claim
from treadle.results.channels import SessionAnswer, mark_taken, missing_answer_hint, read_answer
from treadle.results.handoff import NOTES
from treadle.runtime.claims import (
    AgentReport,
    envelope_of,
    failure_event,
    ignored_answers,
    own_fields,
    unavailable_event,
)
from treadle.runtime.desk import Desk, Inbox
from treadle.runtime.dispatch import Dispatch, DispatchedWork, can_continue
from treadle.runtime.redaction import redact_files
from treadle.runtime.world import Meter, RunWorld, event_id

_FILES: Final = 400
_LONGEST_NAME: Final = 100
ROUNDS: Final = 1
"""The number of times that Treadle asks an agent without an answer to continue."""
DEGRADED: Final = "this agent cannot branch off from a conversation: it begins a new one with a complete prompt"
REMINDER: Final = "REMINDER: Emit a decision to complete this phase."


class AgentJobs:
    """The working agents of one run."""

    def __init__(self, desk: Desk, inbox: Inbox, dispatch: Dispatch, world: RunWorld) -> None:
        self._desk, self._inbox, self._dispatch, self._world = desk, inbox, dispatch, world
        self._sessions: dict[str, Session] = {}
        self._stopping: Literal["", "at rest", "interrupted"] = ""

    def stop_driving(self, *, orderly: bool) -> None:
        """Prepare for the cancellation of all jobs: they stay open, for the next process that drives the run.

        If the run rests (`orderly`), agents and people keep working; if it was interrupted, only people do.
        """
        self._stopping = "at rest" if orderly else "interrupted"

    async def nudge(self, act: str, count: int) -> None:
        """Remind an agent; record a stray if it cannot be reached."""
        session = self._sessions.get(act)
        if session is None or not await session.nudge(REMINDER):
            self._desk.stray(act, "nudge", f"reminder {count} could not be delivered")

    async def run(self, job: RunAgent, state: State) -> Event:
        """Run an agent and return its claim, or its failure."""
        world = self._world
        runner = world.agents.runner_of(job)
        if runner is None:
            # Another process starts this job, or finds it running; wait until the kernel or the loop cancels it.
            never: asyncio.Future[Event] = asyncio.get_running_loop().create_future()
            return await never
        try:
            # The day's budget stops only new starts; activities started before continue.
            breach = world.budgets.of_day(state, world.clock.now())
            if breach and await self._dispatch.find_earlier(job) is None:
                return unavailable_event(job, "budget", breach.words, Usage(), world, grant=breach.grant)
            dispatched, ended, answer = await self._converse(job, state, runner)
        except asyncio.CancelledError:
            if not (self._stopping == "at rest" or (self._stopping and runner.abilities.person)):
                await self._stop(job, runner)
            raise
        finally:
            self._sessions.pop(job.id, None)
            self._dispatch.close_tools(job)
        await mark_taken(dispatched.work)
        await self._dispatch.dismiss(dispatched)
        if ended.session:  # for continuing the conversation later
            self._inbox.put(
                SessionStarted(
                    id=event_id(job, "session"),
                    ts=world.clock.now(),
                    act=job.id,
                    session=ended.session,
                    is_new=bool(job.session) and not can_continue(job, runner.abilities),
                )
            )
        breach = world.budgets.of_step(job, ended.usage)
        if breach and answer.claim is None:
            return unavailable_event(job, "budget", breach.words, ended.usage, world, grant=breach.grant)

        report = AgentReport(job, ended, answer, dispatched.step_exits)
        for warning in answer.warnings:
            self._desk.stray(job.id, "answer", warning)
        await self._dispatch.keep_notes(job, answer.notes)
        # The last output of a program that failed is no answer, even if it looks like one.
        if answer.claim is not None and not (answer.channel == "final" and ended.code):
            return self._claim_event(report, answer.claim, state)
        if ended.outage:
            grant = f"step:{job.id}" if ended.outage == "budget" else ""
            return unavailable_event(job, ended.outage, ended.detail, ended.usage, world, grant=grant, wait=ended.wait)
        return failure_event(report, await self._changed(job.id), world)

    def _claim_event(self, report: AgentReport, claim: Claim, state: State) -> Exited:
        """Return the event of a claim: its envelope, with the fields that Treadle fills in by itself."""
        job, notes, world = report.job, report.answer.notes, self._world
        fields: dict[str, Any] = dict(claim.fields)
        if notes and NOTES in report.step_exits.fields(claim.exit) and not claim.fields.get(NOTES):
            fields[NOTES] = notes  # the agent's handoff notes, if the exit has an empty field for notes
        fields |= own_fields(self._desk.protocol, claim.exit, job, state, world.payloads)
        # A person's name comes from a file that others may have written.
        person = "".join(char for char in report.answer.by if char.isprintable())[:_LONGEST_NAME]
        return Exited(
            id=event_id(job, "exited"),
            ts=world.clock.now(),
            act=job.id,
            envelope=envelope_of(self._desk.protocol, claim.exit, fields, world.payloads),
            channel=report.answer.channel,
            actor=world.agents.name_of(job) or person,
            usage=report.ended.usage,
        )

    async def _converse(
        self, job: RunAgent, state: State, runner: Runner
    ) -> tuple[DispatchedWork, Ended, SessionAnswer]:
        """Return an agent's answer; without one, remind it in the same conversation and let it continue once."""
        dispatched, ended = await self._run_session(job, state, runner)
        answer = await read_answer(dispatched.work, dispatched.step_exits, dispatched.before, ended.final)
        while (
            answer.claim is None
            and ended.how == "done"
            and ended.session
            and not ended.outage
            and runner.abilities.resume
            and dispatched.work.round < ROUNDS
            and not self._world.budgets.of_step(job, ended.usage)
        ):
            problems = answer.problems or [missing_answer_hint(dispatched.step_exits)]
            words = "\n".join([*problems, *ignored_answers(answer), REMINDER])
            dispatched = await self._dispatch.next_round(dispatched, ended, words)
            earlier, ended = ended.refused, await self._start(job, dispatched, runner)
            ended = msgspec.structs.replace(ended, refused=(*earlier, *ended.refused))
            answer = await read_answer(dispatched.work, dispatched.step_exits, dispatched.before, ended.final)
        await self._redact_files(dispatched.work)
        hidden = self._world.agents.secrets()
        return dispatched, hidden.value(ended), hidden.value(answer)

    async def _redact_files(self, work: Work) -> None:
        """Redact the lent keys from an agent's files, before anything of them is stored."""
        for sentence in await asyncio.to_thread(redact_files, work, self._world.agents.secrets()):
            note = f"{sentence}; Treadle has removed it"
            self._desk.stray(work.act, "key", note)
            self._world.progress(work.act, Progress(note=note))

    async def _run_session(self, job: RunAgent, state: State, runner: Runner) -> tuple[DispatchedWork, Ended]:
        """Attach to the running session, harvest an ended one, or start a new one; return how it ended.

        The usage includes that of the earlier rounds.
        """
        dispatched = await self._dispatch.find_earlier(job)
        if dispatched is None:
            if job.session and not can_continue(job, runner.abilities):
                self._world.progress(job.id, Progress(note=DEGRADED))
            dispatched = await self._dispatch.prepare(job, state, runner.abilities)
            return dispatched, await self._start(job, dispatched, runner)
        watch = _SessionWatch(job, dispatched.work, self._world, self._inbox)
        if session := await runner.attach(dispatched.work, watch):
            await self._dispatch.serve_again(dispatched)
            return dispatched, await self._wait(job, session, watch)
        if ended := await runner.harvest(dispatched.work):
            return dispatched, watch.with_usage(ended)
        await self._redact_files(dispatched.work)
        if dispatched.work.round:  # the conversation exists, only its next prompt was not delivered
            await self._dispatch.serve_again(dispatched)
        else:
            dispatched = await self._dispatch.prepare(job, state, runner.abilities)
        return dispatched, await self._start(job, dispatched, runner)

    async def _start(self, job: RunAgent, dispatched: DispatchedWork, runner: Runner) -> Ended:
        watch = _SessionWatch(job, dispatched.work, self._world, self._inbox)
        return await self._wait(job, await runner.start(dispatched.work, watch), watch)

    async def _wait(self, job: RunAgent, session: Session, watch: "_SessionWatch") -> Ended:
        """Wait for the end of a session; report its silences, and end it if its budget is spent."""
        self._sessions[job.id] = session
        step = self._desk.protocol.graphs[job.graph].steps[job.step]
        waiting, stopping = asyncio.ensure_future(session.wait()), asyncio.ensure_future(watch.meter.stop(session))
        try:
            async for count in watch.silence.beyond(0 if job.by_person else step.nudge_after, waiting):
                id_ = event_id(job, f"idle{count}")
                self._inbox.put(Idle(id=id_, ts=self._world.clock.now(), act=job.id, idle_s=step.nudge_after))
            ended = await waiting
            if watch.meter.breach:
                await stopping
            return watch.with_usage(ended)
        finally:
            waiting.cancel()
            stopping.cancel()

    async def _stop(self, job: RunAgent, runner: Runner) -> None:
        """End the session, even one that was about to start, and save its work."""
        session, dispatched = self._sessions.get(job.id), await self._dispatch.find_earlier(job)
        if session is None and dispatched:
            session = await runner.attach(dispatched.work, lambda _: None)
        if session is not None:
            await session.cancel()
        if dispatched:
            await self._redact_files(dispatched.work)
        await self._world.workspace.save(self._desk.run, job.id)

    async def overdue(self, act: str) -> str:
        """Return the changed files of an agent past its timeout, as a payload reference; empty if there are none."""
        changed = await self._changed(act) if act in self._sessions else ()
        return self._world.payloads.put({"report": DEADLINE, "files_changed": list(changed)}) if changed else ""

    async def _changed(self, act: str) -> tuple[str, ...]:
        """Return the files that a session changed, measured in its lane; empty if they cannot be determined."""
        with suppress(PortError):
            return (await self._world.workspace.changed(self._desk.run, act))[:_FILES]
        return ()


# Silence of an agent, measured from its last sign of life, not from the start.


class Silence:
    """The time since an agent's last sign of life."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = clock.elapsed()

    def end(self) -> None:
        """Record a sign of life."""
        self._last = self._clock.elapsed()

    async def beyond(self, seconds: float, ended: "asyncio.Future[Any]") -> AsyncIterator[int]:
        """Yield 1, 2, 3 … each time the silence has lasted that long (never if 0), until the session ends."""
        count = 0
        while not ended.done():
            left = self._last + seconds - self._clock.elapsed() if seconds else None
            if left is not None and left <= 0:
                count += 1
                self._last = self._clock.elapsed()
                yield count
                continue
            nap = asyncio.ensure_future(self._clock.sleep(left)) if left is not None else None
            try:
                await asyncio.wait({ended, *([nap] if nap else [])}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                if nap:
                    nap.cancel()


class _SessionWatch:
    """Receives the progress of an agent's session: measures its silence and its usage."""

    def __init__(self, job: RunAgent, work: Work, world: RunWorld, inbox: Inbox) -> None:
        self._job, self._world, self._inbox = job, world, inbox
        self._secrets = world.agents.secrets()
        self.silence = Silence(world.clock)
        self.meter = Meter(world.budgets, job, work.used, world.agents.prices_of(job.role))

    def __call__(self, progress: Progress) -> None:
        progress = self._secrets.value(progress)
        self.silence.end()
        self._world.progress(self._job.id, progress)
        self._inbox.wake()
        if progress.usage:
            self.meter.count(progress.usage)

    def with_usage(self, ended: Ended) -> Ended:
        """Return the end of the session with the usage of all rounds."""
        return msgspec.structs.replace(ended, usage=self.meter.total(ended))
