"""Ports that nothing stands behind. They fail closed: what cannot be done is never taken for done."""

from treadle.errors import PortError
from treadle.kernel.commands import RunChecks, RunEffect
from treadle.kernel.events import CheckResult
from treadle.ports import Case, Outcome, Verdict


class NoChecks:
    """No check is available, so none passes."""

    async def verify(self, job: RunChecks, case: Case) -> Verdict:
        reports = {check.name: f"this check is not available: {check.name}" for check in job.checks}
        results = tuple(CheckResult(name, ok=False, report_ref=case.payloads.put(it)) for name, it in reports.items())
        return Verdict(results=results, report="\n".join(reports.values()))


class NoEffects:
    """No effect is available."""

    async def perform(self, job: RunEffect, case: Case) -> Outcome:  # noqa: ARG002
        raise PortError(f"this effect is not available: {job.effect}")
