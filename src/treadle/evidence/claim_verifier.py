"""Turns claims into facts: records an agent's work, runs the checks of its exit, and computes the derived fields.

Theory of operation. An exit is a claim, and no word of it is evidence. The command `RunChecks` verifies it in five
steps:

1. *Record.* `Lanes.record` turns the lane into a commit of Treadle's own, whatever the gate. The checks look at that
   commit, and measure in clean checkouts of it, never in the lane: a process that the agent left behind can change
   nothing any more. The same lane gives the same commit, so the verification can be repeated after a crash. A step of
   checks has no lane; it judges the accepted work of its instance.
2. *Check.* The checks of the gate run in its order. A check that an earlier refusal makes pointless is skipped, and a
   skipped check has not passed. The checks of one activity share their measurements (`ActivityMeasurements`), so
   several of them need only one run of the tests.
3. *Derive.* If every check that is not advisory has passed, Treadle computes the fields of the exit that are its own.
4. *Note.* Then it notes the commit as pending, before the kernel sees any result. A crash after the acceptance loses
   nothing: `Integration.integrate` integrates the commit only if the log shows that the kernel has accepted the claim.
5. *Report.* Every check leaves its evidence as a payload. A refused claim also gets a report for the next attempt, and
   a fingerprint, by which the kernel recognises the same failure.

Checks fail closed: an unknown check, a lasting fault of the surroundings and a bug of ours are failed checks with codes
of their own. A fault that may pass (`PortError.retryable`) is no verdict on the work. It ends the activity as a
`crash`, and the kernel issues the activity again a few times, at no cost of an attempt.
"""

import asyncio
import hashlib
import time
from collections.abc import Collection
from contextlib import suppress
from typing import Final, Literal

import msgspec

from treadle.config.bug_reports import NO_REPORTS, BugReports
from treadle.errors import PortError
from treadle.evidence.baseline import baseline_notes, sent_back
from treadle.evidence.catalogue import CHECKS, POINTLESS_AFTER
from treadle.evidence.checks.commits import changes_meanwhile
from treadle.evidence.derived_fields import derive_fields
from treadle.evidence.findings import CheckOutcome, CheckProblem, CommandRun, problem, refuse
from treadle.evidence.measurements import ActivityMeasurements, Cache
from treadle.evidence.project_facts import ProjectTools, RepositoryFacts
from treadle.evidence.subject import ProofOf, ScopeOf, Subject, no_proof
from treadle.evidence.suite import (
    RUN_THE_SUITE,
    add_changed_files,
    bad_tests,
    count_tests,
    file_of,
    gate_run,
    results_by_criterion,
    suite_before,
    suite_on_work,
)
from treadle.git.checkpoint import Checkpoint
from treadle.git.commit_message import papers_of, work_subject
from treadle.kernel.activities import failed_checks
from treadle.kernel.commands import RunChecks
from treadle.kernel.events import CheckResult
from treadle.ports import Case, CheckProgress, Checks, Progress, Verdict
from treadle.protocol import vocabulary
from treadle.protocol.artifacts import documents_of, place_of
from treadle.protocol.items import Json, canonical
from treadle.protocol.model import CheckRef
from treadle.protocol.paths import collecting_folders
from treadle.toolchains.process import COUNT
from treadle.toolchains.results import TestResult, TestRun


class ClaimVerifier(Checks):
    """`ports.Checks` over a repository and a project's tools."""

    def __init__(
        self,
        git: RepositoryFacts,
        tools: ProjectTools,
        cache: Cache,
        scope_of: ScopeOf,
        proof_of: ProofOf = no_proof,
        bugs: BugReports = NO_REPORTS,
    ) -> None:
        self._git, self._tools, self._cache, self._scope_of, self._proof_of = git, tools, cache, scope_of, proof_of
        self._bugs = bugs

    async def verify(self, job: RunChecks, case: Case) -> Verdict:
        """Return the verdict on a claim, or on a step of checks. A check that could not run has not passed."""
        subject = await self._subject(job, case)
        outcomes = await _run_all(subject, self._bugs)
        results = _results(subject, outcomes)
        fields: dict[str, Json] = {}
        if job.exit and not failed_checks(job.checks, results):
            fields = await _fields(subject, outcomes)
            results = _results(subject, outcomes)  # again: a field that cannot be computed fails its check
        passed = not failed_checks(job.checks, results)
        if passed and job.exit and subject.has_lane:
            await self._note_pending(subject)
        return Verdict(
            results=results,
            fields=fields,
            report="" if passed else report(job.checks, outcomes),
            fingerprint=await _fingerprint(subject, outcomes, passed=passed),
            notes=await _notes(subject, outcomes),
        )

    async def _subject(self, job: RunChecks, case: Case) -> Subject:
        """Record the lane of an agent step as a commit, with any gate; the checks look at that commit."""
        has_lane = case.protocol.graphs[job.graph].steps[job.step].kind == "agent"
        if has_lane:
            work = await self._git.lanes.record(case.state.run, job.id, case.state.started, work_subject(job, case))
        else:  # the accepted work of the instance, seen from where the instance started
            commit = await self._git.head(case.state, job.inst, job.id)
            origin = await self._git.origin(case.state, job.inst)
            changed = tuple(await self._git.changes(origin, commit))
            work = Checkpoint(commit=commit, tree=await self._git.tree(commit), base=origin, changed=changed)
        before = await self._git.entries(work.base)
        # A test that is put beside code of the product does not make it code of the tests.
        added = collecting_folders(one.path for one in work.changed)
        fresh = [folder for folder in added if not any(path.startswith(f"{folder}/") for path in before)]
        return Subject(
            job=job,
            case=case,
            git=self._git,
            measure=ActivityMeasurements(self._git, self._tools, self._cache, case.state.run, job.id, papers_of(case)),
            work=work,
            has_lane=has_lane,
            scope_of=self._scope_of,
            proof_of=self._proof_of,
            test_folders=(*collecting_folders(before), *fresh),
        )

    async def _note_pending(self, s: Subject) -> None:
        """Note the recorded commit, with the documents that the exit returns, as pending.

        Without such documents, and without a check of `vocabulary.RECORDS` in the gate, the work is not part of the
        exit. `Integration.integrate` integrates the commit after the kernel has accepted the claim.
        """
        protocol = s.case.protocol
        given = documents_of(protocol, s.job.exit, s.case.claim)
        files = {place_of(protocol.artifacts[name], s.input): text.encode() for name, text in given.items()}
        work = await self._git.amended(s.work, files) if files else s.work
        if files or any(ref.name in vocabulary.RECORDS for ref in s.job.checks):
            await self._git.integration.note_pending(s.case.state, s.job, work.commit)


async def _run_all(s: Subject, bugs: BugReports) -> dict[str, CheckOutcome]:
    """Run the checks in the order of the gate.

    A check that an earlier failure makes pointless is skipped, and has not passed.
    """
    outcomes: dict[str, CheckOutcome] = {}
    refused: list[str] = []
    for number, ref in enumerate(s.job.checks, 1):
        reason = next((name for name in refused if ref.name in POINTLESS_AFTER.get(name, ())), "")
        if reason:
            skipped = refuse(f"was not run, because '{reason}' failed", code="check.skipped")
            outcomes[_key(ref)] = msgspec.structs.replace(skipped, skipped=True)
        else:
            outcomes[_key(ref)] = await _run_timed(msgspec.structs.replace(s, arg=ref.arg), ref, number, bugs)
        _report_progress(s, ref, number, outcomes[_key(ref)])
        if not outcomes[_key(ref)].ok and not ref.advisory:
            refused.append(ref.name)
    return add_changed_files(s, outcomes)


async def _run_timed(s: Subject, ref: CheckRef, number: int, bugs: BugReports) -> CheckOutcome:
    """Run one check and measure its time; report the count of its tests while they run."""
    began = time.monotonic()
    _report_progress(s, ref, number)
    counting = COUNT.set(lambda done, tests: _report_progress(s, ref, number, tests=(done, tests)))
    try:
        one = await _run_check(s, ref, bugs)
    finally:
        COUNT.reset(counting)
    return msgspec.structs.replace(one, took=time.monotonic() - began)


def _report_progress(
    s: Subject, ref: CheckRef, number: int, outcome: CheckOutcome | None = None, tests: tuple[int, int] = (0, 0)
) -> None:
    """Report the progress of the checks to the live view; without an outcome, the check is running."""
    ended: Literal["passed", "failed", "skipped"] = "passed"
    if outcome and not outcome.ok:
        ended = "skipped" if outcome.skipped else "failed"
    now = CheckProgress(
        check=_display_name(ref),
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


async def _run_check(s: Subject, ref: CheckRef, bugs: BugReports) -> CheckOutcome:
    """Run one check. A fault of its surroundings that stays becomes a failed check.

    A bug in a check says nothing about the work: it stops the verification with a `PortError`, so that no attempt is
    charged and a person is asked. Of an advisory check, only the advice is missing.
    """
    check = CHECKS.get(ref.name)
    if check is None:
        return refuse(f"there is no check '{ref.name}'", code="check.unknown")
    try:
        one = await _explain_refusal(s, await check(s))
        facts = (
            {**await results_by_criterion(s), **await count_tests(s)} if one.ran and ref.name in RUN_THE_SUITE else {}
        )
        return msgspec.structs.replace(one, facts={**one.facts, **facts})
    except asyncio.CancelledError:
        raise
    except PortError as error:
        if error.retryable and not ref.advisory:
            raise
        return refuse(f"could not be checked: {error}", code="check.unavailable")
    except Exception as error:
        said = bugs.describe(error, f"the check '{_display_name(ref)}'")
        if not ref.advisory:
            raise PortError(said, code="check.crashed") from error
        return refuse(said, code="check.crashed")


async def _notes(s: Subject, outcomes: dict[str, CheckOutcome]) -> tuple[str, ...]:
    """Return notes on changes beside the work, and, where a check ran the suite, on its tests before the run."""
    ran = [name for name, one in outcomes.items() if one.ran and name.partition(":")[0] in RUN_THE_SUITE]
    return (*map(str, changes_meanwhile(s)), *map(str, await baseline_notes(s) if ran else ()))


async def _fields(s: Subject, outcomes: dict[str, CheckOutcome]) -> dict[str, Json]:
    """Compute the fields of the exit. If one cannot be computed, the check that provides it fails."""
    try:
        return await derive_fields(s)
    except PortError as error:
        deriving = {name for name, spec in vocabulary.CHECKS.items() if spec.derives}
        ref = next((ref for ref in reversed(s.job.checks) if not ref.advisory and ref.name in deriving), None)
        if error.retryable or ref is None:
            raise
        outcomes[_key(ref)] = refuse(f"its fields could not be computed: {error}", code="check.unavailable")
        return {}


def _key(ref: CheckRef) -> str:
    return f"{ref.name}:{ref.arg}" if ref.arg else ref.name


def _display_name(ref: CheckRef) -> str:
    return vocabulary.check_name(ref.name, ref.arg)


def _results(s: Subject, outcomes: dict[str, CheckOutcome]) -> tuple[CheckResult, ...]:
    """Return the results of all checks, in the order of the gate."""
    return tuple(_result(s, ref, outcomes[_key(ref)]) for ref in s.job.checks)


def _result(s: Subject, ref: CheckRef, one: CheckOutcome) -> CheckResult:
    """Store the evidence of a check as a payload, and return the result that refers to it."""
    evidence: dict[str, Json] = {
        "check": _display_name(ref),
        "ok": one.ok,
        "commit": s.work.commit,
        "tree": one.tree or s.work.tree,
        **(one.ran or CommandRun(duration=one.took)).evidence,
        "report": one.report,
        "findings": one.findings,
        **one.facts,
    }
    if ref.advisory:
        evidence["advisory"] = True
    if one.skipped:
        evidence["skipped"] = True
    ref_ = s.case.payloads.put(evidence)
    return CheckResult(check=ref.name, ok=one.ok, report_ref=ref_, skipped=one.skipped, arg=ref.arg)


def report(refs: tuple[CheckRef, ...], outcomes: dict[str, CheckOutcome]) -> str:
    """Format the problems that an agent must repair: refusing checks first, then advice."""
    skipped = [_display_name(ref) for ref in refs if outcomes[_key(ref)].skipped]
    bad_ones = [(ref, one) for ref in refs if not (one := outcomes[_key(ref)]).ok and not one.skipped]
    parts = [f"### {_display_name(ref)}\n{one.report}" for ref, one in bad_ones if not ref.advisory]
    parts += [
        f"### {_display_name(ref)} (advice, refuses nothing)\n{one.report}" for ref, one in bad_ones if ref.advisory
    ]
    parts += [f"Skipped because of these failures: {', '.join(skipped)}"] if skipped else []
    return "\n\n".join(parts)


async def _fingerprint(s: Subject, outcomes: dict[str, CheckOutcome], *, passed: bool) -> str:
    """Hash the failures and the tree, but not the claim: equal fingerprints mean the same failure again."""
    problems = [(name, one) for name, found in outcomes.items() for one in found.problems]
    tests = {one.test for _, one in problems if one.test}
    if passed:
        tests = set(bad_tests(await suite_on_work(s))) if any(ref.name == "measure" for ref in s.job.checks) else set()
    named: list[Json] = [*sorted(tests)] or [[name, one.file] for name, one in problems]
    if passed and not tests:
        return ""
    value: Json = {"failed": named, "tree": s.work.tree}
    return hashlib.sha256(canonical(value)).hexdigest()


# Complete the findings of a refusal: the reason why tests are lost, and the way to send tests back.

_LOST: Final = frozenset({"green.lost", "unbroken.lost"})
_NONE: Final = "red.none"
_OWN_WORD: Final = frozenset({"green.skipped", "green.expected_failure"})
"""Verdicts that a test gives itself: an implementation cannot prevent them."""
_SHOWN: Final = 3
"""Lines of a compiler, or of an import that fails."""


async def _explain_refusal(s: Subject, outcome: CheckOutcome) -> CheckOutcome:
    """Return the outcome of a check with the reasons and the ways out that its problems have in common."""
    problems = outcome.problems
    if any(one.code in _LOST or one.code == _NONE for one in problems):
        old = bad_tests(await suite_before(s)).keys()
        problems = tuple(_with_reason(problems, await gate_run(s), old))
    if any(one.code in _OWN_WORD for one in problems) and (way := sent_back(s, "If the test decides that itself")):
        problems = tuple(
            msgspec.structs.replace(one, expected=f"{one.expected}{way}") if one.code in _OWN_WORD else one
            for one in problems
        )
    return msgspec.structs.replace(outcome, problems=problems)


def _with_reason(problems: tuple[CheckProblem, ...], run: TestRun, old: Collection[str]) -> list[CheckProblem]:
    """Replace the problems of lost tests by one problem for each unreadable file or package.

    If no new test fails, an unreadable file is the reason, too, unless it is among `old`, the earlier failures.
    """
    reasons: list[CheckProblem] = []
    is_none = any(one.code == _NONE for one in problems)
    rest = list(problems)
    for id_, test in bad_tests(run).items():
        inside = (
            [one for one in rest if one.code in _LOST and _is_in(one.test, id_, run)] if _is_unreadable(test) else []
        )
        if inside or (is_none and _is_unreadable(test) and id_ not in old):
            said = [one for one in rest if one.test == id_] or [_describe_unreadable(test, len(inside))]
            rest = [one for one in rest if one not in (*inside, *said)]
            reasons += said
    return [*reasons, *rest]


def _is_unreadable(test: TestResult) -> bool:
    return test.phase == "collect" and test.verdict == "error"


def _is_in(lost: str, unread: str, run: TestRun) -> bool:
    """Whether a lost test was in a file or package that cannot be read now."""
    return lost.startswith(f"{unread}::") or lost.partition("::")[0] == file_of(unread, run)


def _describe_unreadable(test: TestResult, count: int) -> CheckProblem:
    lines = [line.strip() for line in test.message.splitlines() if line.strip() and not line.startswith("#")]
    said = "\n".join(lines[:_SHOWN])
    tests = f" ({count} ran before)" if count else ""
    what = f"cannot be compiled or imported, so none of its tests runs{tests}: {said}"
    return problem(what, test.file, test.line, test.id, "code and tests that compile", code="tests.uncollectable")
