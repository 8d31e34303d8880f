"""The evidence of a run as it is stored, and the merges that it decides about."""

import time
from functools import cache
from typing import Final

from treadle.config.project import Project
from treadle.engines.pinned import agents_of, pinned
from treadle.engines.result import result_of
from treadle.git.outcome import outcome
from treadle.kernel.commands import RunEffect
from treadle.kernel.events import CheckResult
from treadle.kernel.replay import GENESIS, unbroken
from treadle.ports import Case, Effects, Outcome
from treadle.protocol.items import Json
from treadle.store.records import Run
from treadle.store.sqlite import Store
from treadle.views.chronicle import Chronicle
from treadle.views.evidence import Evidence, Proved
from treadle.views.evidence_baseline import with_baseline
from treadle.views.evidence_log import Record
from treadle.views.evidence_of import Beside, evidence, unverified
from treadle.views.result import Result

REASON: Final = "Unverified"
_REJECTED: Final = "MergeRejected"


class _Log:
    """A run's log as it grows, folded into what the evidence is made of."""

    def __init__(self, store: Store, run: str) -> None:
        self._store, self._run, self._last = store, run, GENESIS
        self.chronicle, self.record = Chronicle(cache(store.protocol)), Record()

    def catch_up(self) -> Run:
        """Take what has happened since the last time; each event is held against the chain."""
        seq = self.chronicle.state.seq
        run, rows = self._store.tail(self._run, seq)
        for body, link in unbroken(rows, seq, self._last):
            self._last = link
            self.record.take(self.chronicle.take(body))
        return run


async def stored_evidence(project: Project, store: Store, run: str) -> Evidence:
    """The evidence of a run, from its log, its payloads and the repository."""
    return (await chronicle_and_evidence(project, store, run))[1]


async def chronicle_and_evidence(project: Project, store: Store, run: str) -> tuple[Chronicle, Evidence]:
    """A run's history, and the evidence that follows from it."""
    return _proved(store, run, await result_of(project, store.run(run)))


def logged_evidence(store: Store, run: str) -> Evidence:
    """The evidence of a run, from its log and its payloads; where the result is, only the repository knows."""
    return _proved(store, run, None)[1]


def _proved(store: Store, run: str, result: Result | None) -> tuple[Chronicle, Evidence]:
    log = _Log(store, run)
    record = log.catch_up()
    beside = Beside(
        run=record.id,
        name=record.name,
        agents=agents_of(record, log.chronicle.protocol),
        strays=tuple(store.strays(record.id)),
        result=result,
    )
    now = time.time_ns() // 1_000_000
    found = evidence(log.chronicle, log.record, store.payloads.get, beside, now)
    return log.chronicle, with_baseline(found, pinned(record).baseline, store.payloads.get)


class VerifiedMerges:
    """`ports.Effects` that merges an instance only if each of its criteria is verified, or a person let it pass.

    The verdict is the evidence view's, computed from the log as it stands, so a merge and the page never disagree. A
    protocol whose `MergeRejected` knows no reason `Unverified` was written before there was one: its runs merge as
    they always did, and are held back when they are delivered.
    """

    def __init__(self, effects: Effects, store: Store, run: str) -> None:
        self._effects, self._store, self._log = effects, store, _Log(store, run)

    async def perform(self, job: RunEffect, case: Case) -> Outcome:
        """Do it, or refuse to merge what is not verified."""
        if job.effect == "merge" and _knows_reason(case):
            missing = self._unverified(job.inst)
            if missing:
                return _refused(job, case, missing)
        return await self._effects.perform(job, case)

    def _unverified(self, inst: str) -> list[Proved]:
        self._log.catch_up()
        return unverified(self._log.chronicle, self._log.record, self._store.payloads.get, inst)


def _knows_reason(case: Case) -> bool:
    declared = case.protocol.exits.get(_REJECTED)
    reason = declared.fields.get("reason") if declared else None
    return reason is not None and REASON in reason.type.split(" | ")


def _refused(job: RunEffect, case: Case, missing: list[Proved]) -> Outcome:
    gaps = [(one, gap, code) for one in missing for gap, code in zip(one.missing, one.codes, strict=True)]
    lines = [f"{one.spec}/{one.id}: {gap} [{code}]" for one, gap, code in gaps]
    findings: list[Json] = [
        {"code": code, "what": gap, "criterion": one.id, "spec": one.spec, "instance": one.instance}
        for one, gap, code in gaps
    ]
    details = "\n".join(f"- {line}" for line in lines)
    values: dict[str, Json] = {
        "reason": REASON,
        "details": details,
        "failingTests": [],
        "failing_tests": [],
        "conflictFiles": [],
    }
    step = case.protocol.graphs[job.graph].steps[job.step]
    record: Json = {"check": "verified", "ok": False, "report": details, "findings": findings}
    result = CheckResult(check="verified", ok=False, report_ref=case.payloads.put(record))
    made = outcome(case.protocol, step, _REJECTED, values)
    return Outcome(exit=made.exit, fields=made.fields, results=(result,))
