"""Turns claims into facts: records what an agent left, runs the checks of its exit, computes what nobody is asked."""

import asyncio
import hashlib
import time
from contextlib import suppress
from typing import Literal

import msgspec

from treadle.errors import PortError
from treadle.evidence.by_criterion import by_criterion
from treadle.evidence.cache import Cache
from treadle.evidence.catalogue import CHECKS, POINTLESS_AFTER
from treadle.evidence.counted import changed_files, counted
from treadle.evidence.derived import derived
from treadle.evidence.documents import documents_of
from treadle.evidence.failed_before import told_before
from treadle.evidence.findings import Found, Ran, failed
from treadle.evidence.meanwhile import meanwhile
from treadle.evidence.measure import Measure
from treadle.evidence.needs import Git, Tools
from treadle.evidence.subject import ScopeOf, Subject
from treadle.evidence.suite import RUN_THE_SUITE, bad, measured
from treadle.git.commit_message import papers_of, work_subject
from treadle.git.record import Recorded
from treadle.kernel.commands import RunChecks
from treadle.kernel.events import CheckResult
from treadle.ports import Case, CheckProgress, Progress, Verdict
from treadle.protocol import catalogue
from treadle.protocol.artifact_place import place_of
from treadle.protocol.items import Json, canonical
from treadle.protocol.model import CheckRef
from treadle.toolchains.process import COUNT


class Verifier:
    """`ports.Checks` over a repository and a project's tools."""

    def __init__(self, git: Git, tools: Tools, cache: Cache, scope_of: ScopeOf) -> None:
        self._git, self._tools, self._cache, self._scope_of = git, tools, cache, scope_of

    async def verify(self, job: RunChecks, case: Case) -> Verdict:
        """The verdict on a claim, or on a step of checks. What could not be checked has not passed."""
        subject = await self._subject(job, case)
        outcomes = await _run_all(subject)
        fields = await _fields(subject, outcomes)
        passed = _passed(job.checks, outcomes)
        if passed and job.exit and subject.has_lane:
            await self._keep(subject)
        return Verdict(
            results=tuple(_result(subject, ref, outcomes[_name(ref)]) for ref in job.checks),
            fields=fields if passed else {},
            report="" if passed else report(job.checks, outcomes),
            fingerprint=await _fingerprint(subject, outcomes, passed=passed),
            notes=await _notes(subject, outcomes),
        )

    async def _subject(self, job: RunChecks, case: Case) -> Subject:
        has_lane = case.protocol.graphs[job.graph].steps[job.step].kind == "agent"
        work = await (self._record(job, case) if has_lane else self._head(job, case))
        return Subject(
            job=job,
            case=case,
            git=self._git,
            measure=Measure(self._git, self._tools, self._cache, case.state.run, job.id, papers_of(case)),
            work=work,
            has_lane=has_lane,
            scope_of=self._scope_of,
        )

    async def _record(self, job: RunChecks, case: Case) -> Recorded:
        return await self._git.record(case.state, job.id, work_subject(job, case))

    async def _head(self, job: RunChecks, case: Case) -> Recorded:
        """The accepted work of an instance, seen from where the instance started."""
        commit = await self._git.head(case.state, job.inst, job.id)
        origin = await self._git.origin(case.state, job.inst)
        changed = tuple(await self._git.changes(origin, commit))
        return Recorded(commit=commit, tree=await self._git.tree(commit), base=origin, changed=changed)

    async def _keep(self, s: Subject) -> None:
        """Make accepted work part of the instance: what was recorded, and the documents that the exit returns."""
        protocol = s.case.protocol
        given = documents_of(protocol, s.job.exit, s.case.claim)
        files = {place_of(protocol.artifacts[name], s.input): text.encode() for name, text in given.items()}
        work = await self._git.amended(s.work, files) if files else s.work
        if files or any(ref.name in catalogue.RECORDS for ref in s.job.checks):
            await self._git.accept(s.case.state, s.job, work.commit)


async def _run_all(s: Subject) -> dict[str, Found]:
    """The outcomes in the order of the gate; what has become pointless is not run, and has not passed."""
    outcomes: dict[str, Found] = {}
    for number, ref in enumerate(s.job.checks, 1):
        reason = next((name for name in _refused(s, outcomes) if ref.name in POINTLESS_AFTER.get(name, ())), "")
        if reason:
            said = failed(f"was not looked at, because '{reason}' failed", code="check.skipped")
            outcomes[_name(ref)] = msgspec.structs.replace(said, skipped=True)
        else:
            outcomes[_name(ref)] = await _run(msgspec.structs.replace(s, arg=ref.arg), ref, number)
        _tell(s, ref, number, outcomes[_name(ref)])
    return changed_files(s, outcomes)


def _refused(s: Subject, outcomes: dict[str, Found]) -> list[str]:
    refs = {_name(ref): ref for ref in s.job.checks}
    return [refs[name].name for name, one in outcomes.items() if not one.ok and not refs[name].advisory]


async def _run(s: Subject, ref: CheckRef, number: int) -> Found:
    """One check, and how long it took; its tests are counted while they run."""
    began = time.monotonic()
    _tell(s, ref, number)
    counting = COUNT.set(lambda done, tests: _tell(s, ref, number, tests=(done, tests)))
    try:
        one = await _asked(s, ref)
    finally:
        COUNT.reset(counting)
    return msgspec.structs.replace(one, took=time.monotonic() - began)


def _tell(
    s: Subject, ref: CheckRef, number: int, outcome: Found | None = None, tests: tuple[int, int] = (0, 0)
) -> None:
    """Tell the live view where the checks are; without an outcome, the check runs."""
    ended: Literal["passed", "failed", "skipped"] = "passed"
    if outcome and not outcome.ok:
        ended = "skipped" if outcome.skipped else "failed"
    now = CheckProgress(
        check=_called(ref),
        number=number,
        of=len(s.job.checks),
        state=ended if outcome else "running",
        advisory=ref.advisory,
        elapsed=outcome.took if outcome else 0.0,
        tests_done=tests[0],
        tests=tests[1],
    )
    with suppress(Exception):  # a view that fails, such as a closed pipe, decides nothing about the work
        s.case.watch(Progress(check=now))


async def _asked(s: Subject, ref: CheckRef) -> Found:
    """What a check says; a fault of ours, or of the surroundings, is a failed check that says so."""
    check = CHECKS.get(ref.name)
    if check is None:
        return failed(f"there is no check '{ref.name}'", code="check.unknown")
    try:
        one = await check(s)
        told = {**await by_criterion(s), **await counted(s)} if one.ran and ref.name in RUN_THE_SUITE else {}
        return msgspec.structs.replace(one, facts={**one.facts, **told})
    except asyncio.CancelledError:
        raise
    except PortError as error:
        if error.retryable and not ref.advisory:
            raise
        return failed(f"could not be checked: {error}", code="check.unavailable")
    except Exception as error:
        return failed(
            f"could not be checked, which is a bug in treadle: {type(error).__name__}: {error}", code="check.crashed"
        )


async def _notes(s: Subject, outcomes: dict[str, Found]) -> tuple[str, ...]:
    """What changed beside the work, and what the tests were like before the run, wherever they were run anyway."""
    ran = [name for name, one in outcomes.items() if one.ran and name.partition(":")[0] in RUN_THE_SUITE]
    return (*map(str, meanwhile(s)), *map(str, await told_before(s) if ran else ()))


async def _fields(s: Subject, outcomes: dict[str, Found]) -> dict[str, Json]:
    """Computed fields; a claim without them would be half a fact, so failing to compute one fails the check for it."""
    if not s.job.exit or not _passed(s.job.checks, outcomes):
        return {}
    try:
        return await derived(s)
    except PortError as error:
        ref = next((ref for ref in reversed(s.job.checks) if not ref.advisory and _derives(ref)), None)
        if error.retryable or ref is None:
            raise
        outcomes[_name(ref)] = failed(f"its fields could not be computed: {error}", code="check.unavailable")
        return {}


def _derives(ref: CheckRef) -> bool:
    spec = catalogue.CHECKS.get(ref.name)
    return spec is not None and bool(spec.derives)


def _passed(refs: tuple[CheckRef, ...], outcomes: dict[str, Found]) -> bool:
    return all(ref.advisory or outcomes[_name(ref)].ok for ref in refs)


def _name(ref: CheckRef) -> str:
    return f"{ref.name}:{ref.arg}" if ref.arg else ref.name


def _called(ref: CheckRef) -> str:
    return catalogue.check_name(ref.name, ref.arg)


def _result(s: Subject, ref: CheckRef, one: Found) -> CheckResult:
    """A check's outcome, with its evidence in the payload store; without a command, treadle itself has looked."""
    evidence: dict[str, Json] = {
        "check": _called(ref),
        "ok": one.ok,
        "commit": s.work.commit,
        "tree": one.tree or s.work.tree,
        **(one.ran or Ran(duration=one.took)).evidence,
        "report": one.report,
        "findings": one.findings,
        **one.facts,
    }
    if ref.advisory:
        evidence["advisory"] = True
    if one.skipped:
        evidence["skipped"] = True
    ref_ = s.case.payloads.put(evidence)
    return CheckResult(check=ref.name, ok=one.ok, report_ref=ref_, skipped=one.skipped)


def report(refs: tuple[CheckRef, ...], outcomes: dict[str, Found]) -> str:
    """What an agent has to mend: the checks that refused first, then advice."""
    skipped = [_called(ref) for ref in refs if outcomes[_name(ref)].skipped]
    bad_ones = [(ref, one) for ref in refs if not (one := outcomes[_name(ref)]).ok and not one.skipped]
    parts = [f"### {_called(ref)}\n{one.report}" for ref, one in bad_ones if not ref.advisory]
    parts += [f"### {_called(ref)} (advice, refuses nothing)\n{one.report}" for ref, one in bad_ones if ref.advisory]
    parts += [f"Not looked at because of that: {', '.join(skipped)}"] if skipped else []
    return "\n\n".join(parts)


async def _fingerprint(s: Subject, outcomes: dict[str, Found], *, passed: bool) -> str:
    """What fails, and with which change, whatever was claimed about it: equal ones are the same failure again."""
    problems = [(name, one) for name, found in outcomes.items() for one in found.problems]
    tests = {one.test for _, one in problems if one.test}
    if passed:
        tests = set(bad(await measured(s))) if any(ref.name == "measure" for ref in s.job.checks) else set()
    named: list[Json] = [*sorted(tests)] or [[name, one.file] for name, one in problems]
    if passed and not tests:
        return ""
    value: Json = {"failed": named, "tree": s.work.tree}
    return hashlib.sha256(canonical(value)).hexdigest()
