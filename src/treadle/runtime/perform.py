"""What each command does to the world. Everything that can go wrong comes back as an event."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Literal

from treadle.errors import MemoryFailure, TreadleError
from treadle.kernel.advance import is_out
from treadle.kernel.commands import ActivityCommand, AskHuman, Notify, RunAgent, RunChecks, RunEffect
from treadle.kernel.events import Checked, Event, Exited, Failed
from treadle.kernel.state import State
from treadle.ports import Case, Progress, Verdict
from treadle.protocol.answers.answer import routed
from treadle.protocol.items import Json
from treadle.protocol.model import base_of, tag_of
from treadle.runtime.agent import AgentJobs
from treadle.runtime.desk import Desk
from treadle.runtime.envelope import envelope_of
from treadle.runtime.own_fields import own_fields
from treadle.runtime.world import World, event_id
from treadle.views.advice import first_thing
from treadle.views.evidence_records import anything
from treadle.views.outage import held
from treadle.views.refusal import words_of


class Perform:
    """The commands of one run."""

    def __init__(self, desk: Desk, agents: AgentJobs, world: World) -> None:
        self._desk, self._agents, self._world = desk, agents, world

    async def job(self, job: ActivityCommand, state: State) -> Event:
        """Run an activity to its end, whatever that is."""
        match job:
            case RunAgent():
                return await self._guarded(job, self._agents.run(job, state))
            case RunEffect():
                return await self._guarded(job, self._effect(job, state))
            case RunChecks():
                return await self._guarded(job, self._checks(job, state))

    async def _guarded(self, job: ActivityCommand, work: Awaitable[Event]) -> Event:
        """An activity that broke is lost; the kernel decides whether it is tried again."""
        why: Literal["crash", "store"] = "crash"
        try:
            return await work
        except MemoryFailure as error:
            why, detail, code = "store", str(error), error.code
        except TreadleError as error:
            detail, code = str(error), error.code
        except Exception as error:  # a fault of ours must not take the run with it
            detail = f"this is a bug in treadle: {type(error).__name__}: {error}"
            code = "treadle.bug"
        ref = self._world.payloads.put({"report": detail, "error": code})
        return Failed(id=event_id(job, "failed"), ts=self._world.clock.now(), act=job.id, why=why, detail_ref=ref)

    async def _effect(self, job: RunEffect, state: State) -> Event:
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
        given = self._world.payloads.get(job.payload_ref) if job.payload_ref else {}
        claim = given if isinstance(given, dict) else {}
        verdict = await self._world.checks.verify(job, self._case(state, claim, job.id))
        for note in verdict.notes:
            self._world.progress(job.id, Progress(note=note))
        fields: dict[str, Json] = {**claim, **verdict.fields}
        passed = {one.check for one in verdict.results if one.ok}
        taken = job.exit and all(check.advisory or check.name in passed for check in job.checks)
        for note in self._advice(job, verdict) if taken else ():
            self._world.progress(job.id, Progress(note=note))
        return Checked(
            id=event_id(job, "checked"),
            ts=self._world.clock.now(),
            act=job.id,
            results=verdict.results,
            derived=routed(self._desk.protocol, tag_of(job.exit), fields, self._world.payloads.put) if taken else {},
            payload_ref=self._world.payloads.put(fields if taken else _report(verdict)),
            fingerprint=verdict.fingerprint,
        )

    def _advice(self, job: RunChecks, verdict: Verdict) -> Iterator[str]:
        """What checks advise that refuse nothing."""
        advisory = {check.name for check in job.checks if check.advisory}
        for one in verdict.results:
            if one.check in advisory and not one.ok:
                words = first_thing(words_of(anything(self._world.payloads.get, one.report_ref)))
                yield f"{base_of(job.step)} is accepted; advice of {one.check}{f': {words}' if words else ''}"

    def _case(self, state: State, claim: dict[str, Json] | None = None, act: str = "") -> Case:
        return Case(
            protocol=self._desk.protocol,
            state=state,
            payloads=self._world.payloads,
            claim=claim or {},
            watch=partial(self._world.progress, act),
        )

    async def nudge(self, act: str, count: int) -> None:
        """Remind a silent agent; one that cannot be reached is left in peace."""
        await self._quietly(lambda: self._agents.nudge(act, count))

    async def ask(self, question: AskHuman, state: State) -> None:
        """Make a question known; its answer arrives in the inbox."""
        await self._quietly(lambda: self._world.notifier.notify(state.run, "question", question.id))

    async def notify(self, message: Notify) -> None:
        """Tell people something."""
        text = f"{message.inst}: {message.detail}" if message.detail else message.inst
        if message.what == "outage" and is_out(self._desk.state):  # with the time at which it goes on
            text = f"an agent is {held(self._desk.state)}"
        await self._quietly(lambda: self._world.notifier.notify(self._desk.run, message.what, text))

    def performed(self, address: str) -> None:
        """A command of the outbox needs no repetition."""
        self._desk.performed(address)

    def leave(self, *, orderly: bool) -> None:
        """At rest, agents are left alone; interrupted, only people are."""
        self._agents.leave(orderly=orderly)

    async def _quietly(self, tell: Callable[[], Awaitable[None]]) -> None:
        """What merely informs may fail; that is noted, and stops nothing."""
        try:
            await tell()
        except asyncio.CancelledError:
            raise
        except Exception as error:
            self._desk.stray("", "notification", str(error))


def _report(verdict: Verdict) -> Json:
    return {
        "report": verdict.report,
        "checks": [{"check": one.check, "ok": one.ok, "report": one.report_ref} for one in verdict.results],
    }
