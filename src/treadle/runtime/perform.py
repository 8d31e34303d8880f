"""Performs each command. Every failure of an activity comes back as an event."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Literal

from treadle.errors import MemoryFailure, TreadleError
from treadle.kernel.activities import failed_checks
from treadle.kernel.advance import is_out
from treadle.kernel.commands import ActivityCommand, AskHuman, Notify, RunAgent, RunChecks, RunEffect
from treadle.kernel.events import Checked, Event, Exited, Failed
from treadle.kernel.state import State
from treadle.ports import Case, Performer, Progress
from treadle.protocol.answers.claim import routed_values
from treadle.protocol.items import Json, Routed
from treadle.protocol.model import base_of, tag_of
from treadle.runtime.agent import AgentJobs
from treadle.runtime.claims import envelope_of, own_fields
from treadle.runtime.desk import Desk
from treadle.runtime.world import RunWorld, event_id
from treadle.store.batch import outbox_key
from treadle.views.evidence_records import read_value
from treadle.views.result import first_advice
from treadle.views.tree import outage_line
from treadle.views.words import report_words


class RunPerformer(Performer):
    """Performs the commands of one run."""

    def __init__(self, desk: Desk, agents: AgentJobs, world: RunWorld) -> None:
        self._desk, self._agents, self._world = desk, agents, world

    async def job(self, job: ActivityCommand, state: State) -> Event:
        """Run an activity and return the event that ends it.

        An exception becomes a failed activity; the kernel decides whether to retry it.
        """
        work: Awaitable[Event]
        if isinstance(job, RunAgent):
            work = self._agents.run(job, state)
        elif isinstance(job, RunEffect):
            work = self._effect(job, state)
        else:
            work = self._checks(job, state)
        why: Literal["crash", "store"] = "crash"
        try:
            return await work
        except MemoryFailure as error:
            why, detail, code = "store", str(error), error.code
        except TreadleError as error:
            detail, code = str(error), error.code
        except Exception as error:  # a bug of Treadle must not end the run
            detail = self._world.bugs.describe(error, f"the step {base_of(job.step)}")
            code = "treadle.bug"
        ref = self._world.payloads.put({"report": detail, "error": code})
        return Failed(id=event_id(job, "failed"), ts=self._world.clock.now(), act=job.id, why=why, detail_ref=ref)

    async def _effect(self, job: RunEffect, state: State) -> Event:
        """Perform an effect (`GitEffects`), and return its exit as `Exited`."""
        outcome = await self._world.effects.perform(job, self._case(state))
        fields = {**outcome.fields, **own_fields(self._desk.protocol, outcome.exit, job, state, self._world.payloads)}
        envelope = envelope_of(self._desk.protocol, outcome.exit, fields, self._world.payloads)
        return Exited(
            id=event_id(job, "exited"),
            ts=self._world.clock.now(),
            act=job.id,
            envelope=envelope,
            channel="effect",
            results=outcome.results,
        )

    async def _checks(self, job: RunChecks, state: State) -> Event:
        """Verify a claim, or run a check step (`ClaimVerifier`), and return the results as `Checked`."""
        payload = self._world.payloads.get(job.payload_ref) if job.payload_ref else {}
        claim = payload if isinstance(payload, dict) else {}
        verdict = await self._world.checks.verify(job, self._case(state, claim, job.id))
        for note in verdict.notes:
            self._world.progress(job.id, Progress(note=note))
        fields: dict[str, Json] = {**claim, **verdict.fields}
        # The kernel decides by the same rule when it reduces `Checked`. Here the rule only chooses the content of the
        # payload: the fields of the exit, or the report for the next attempt.
        if not job.exit or failed_checks(job.checks, verdict.results):
            refs: list[Json] = [{"check": one.check, "ok": one.ok, "report": one.report_ref} for one in verdict.results]
            kept: dict[str, Json] = {"report": verdict.report, "checks": refs}
            derived: dict[str, Routed] = {}
        else:
            kept = fields
            derived = routed_values(self._desk.protocol, tag_of(job.exit), fields, self._world.payloads.put)
            # Advisory checks refuse nothing; the live view shows their advice.
            advisory = [check for check in job.checks if check.advisory]
            for one in verdict.results:
                if not one.ok and any(one.is_of(check) for check in advisory):
                    words = first_advice(report_words(read_value(self._world.payloads.get, one.report_ref)))
                    note = f"{base_of(job.step)} is accepted; advice of {one.check}{f': {words}' if words else ''}"
                    self._world.progress(job.id, Progress(note=note))
        return Checked(
            id=event_id(job, "checked"),
            ts=self._world.clock.now(),
            act=job.id,
            results=verdict.results,
            derived=derived,
            payload_ref=self._world.payloads.put(kept),
            fingerprint=verdict.fingerprint,
        )

    def _case(self, state: State, claim: dict[str, Json] | None = None, act: str = "") -> Case:
        return Case(
            protocol=self._desk.protocol,
            state=state,
            payloads=self._world.payloads,
            claim=claim or {},
            watch=partial(self._world.progress, act),
        )

    async def nudge(self, act: str, count: int) -> None:
        """Remind a silent agent; if it cannot be reached, do nothing more."""
        await self._quietly(lambda: self._agents.nudge(act, count))

    async def ask(self, question: AskHuman, state: State) -> None:
        """Announce a question; its answer arrives in the inbox."""
        await self._quietly(lambda: self._world.notifier.notify(state.run, "question", question.id))

    async def notify(self, message: Notify) -> None:
        """Notify people, and mark the message as performed."""
        text = f"{message.inst}: {message.detail}" if message.detail else message.inst
        if message.what == "outage" and is_out(self._desk.state):  # with the time at which the run continues
            text = f"an agent is {outage_line(self._desk.state)}"
        await self._quietly(lambda: self._world.notifier.notify(self._desk.run, message.what, text))
        self._desk.performed(outbox_key(message))

    def stop_driving(self, *, orderly: bool) -> None:
        """Prepare for the cancellation of all jobs; `AgentJobs.stop_driving` says which agents keep working."""
        self._agents.stop_driving(orderly=orderly)

    async def _quietly(self, tell: Callable[[], Awaitable[None]]) -> None:
        """Run a notification; a failure is recorded as a stray and stops nothing."""
        try:
            await tell()
        except asyncio.CancelledError:
            raise
        except Exception as error:
            self._desk.stray("", "notification", str(error))
