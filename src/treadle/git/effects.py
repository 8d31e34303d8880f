"""What the orchestrator itself does with the repository: `ports.Effects` for all that has to do with commits."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

import msgspec

from treadle.errors import PortError
from treadle.git.api.dumped import Dump, dumped
from treadle.git.api.symbol import Api
from treadle.git.api_diff import ApiChange, api_changes, impact
from treadle.git.archive import DATE, Archiving
from treadle.git.change_reasons import change_reasons, reason_for
from treadle.git.checkout import Checkouts
from treadle.git.commit_message import given_to, is_delivered, merge_subject, name_of, papers_of
from treadle.git.delivery import Policy
from treadle.git.fold import Folding
from treadle.git.lanes import Lanes
from treadle.git.merge import Completed, Merging, Refused, Wanted, verify_by
from treadle.git.outcome import Values, outcome
from treadle.git.publish import Publishing
from treadle.git.rebase import Rebasing
from treadle.git.rollback import rollback
from treadle.git.trees import Trees
from treadle.git.verifier import Verifier
from treadle.git.witness import Witness
from treadle.kernel.commands import RunEffect
from treadle.ports import Case, Notifier, Outcome
from treadle.protocol.artifact_place import place_of
from treadle.protocol.items import Json
from treadle.protocol.model import Graph, Step

VerifierOf = Callable[[RunEffect, Case], Verifier]
BodyOf = Callable[[RunEffect], str]
"""What follows the subject of a commit that the user's branch will get."""
_DIFF: Final = 200_000
_MISSING: Final = {
    "notify": "a way to tell people",
}


class GitEffects:
    """Performs effects; each one finds out by itself what of it is done already."""

    def __init__(
        self,
        lanes: Lanes,
        checkouts: Checkouts,
        verifier_of: VerifierOf,
        policy: Policy = "branch",
        notifier: Notifier | None = None,
        dump: Dump | None = None,
        body_of: BodyOf | None = None,
    ) -> None:
        self._lanes, self._checkouts, self._verifier_of, self._notifier = lanes, checkouts, verifier_of, notifier
        self._dump, self._body_of = dump, body_of
        self._merging = Merging(lanes, checkouts, policy)
        self._rebasing = Rebasing(lanes.integration)
        self._folding = Folding(lanes)
        self._archiving, self._publishing = Archiving(lanes.integration), Publishing(lanes.integration)
        self._trees = Trees(lanes.integration.repository)
        self._known: Final[dict[str, Callable[[RunEffect, Case], Awaitable[Outcome]]]] = {
            "merge": self._merge,
            "rebase": self._rebase,
            "rollback": self._rollback,
            "fold": self._fold,
            "archive": self._archive,
            "publish": self._publish,
        }

    async def perform(self, job: RunEffect, case: Case) -> Outcome:
        """Do it, or find that it is done; the exit with all its fields."""
        known = self._known.get(job.effect)
        if known is None and job.effect == "notify" and self._notifier is not None:
            known = self._notify
        if known is None:
            what = _MISSING.get(job.effect, "nothing of that name")
            raise PortError(
                f"the effect '{job.effect}' of the step '{job.step}' cannot be done yet: {what} is missing",
                code="git.effect",
            )
        return await known(job, case)

    async def _merge(self, job: RunEffect, case: Case) -> Outcome:
        subject = merge_subject(job.inst, case, await self._changed(job, case))
        witness = Witness(self._verifier_of(job, case))
        message = self._message(job, case, subject)
        wanted = Wanted(message, self._step(job, case).keep_commits, papers_of(case))
        done = await self._merging.merge(case.state, job.inst, job.id, wanted, verify_by(witness))
        if isinstance(done, Refused):
            return await self._with_results(self._refused(job, case, done), witness, case, done.commit)
        if done.delivered is not None:
            await self._tell(case.state.run, str(done.delivered))
        if not witness.seen:  # verified before a crash, which took the records with it: look again, for the record
            async with self._checkouts.clean(done.commit) as path:
                await verify_by(witness)(path)
        told = await self._merged(done, subject, change_reasons(job, case))
        made = outcome(case.protocol, self._step(job, case), "MergeComplete", told)
        return await self._with_results(made, witness, case, done.commit)

    def _message(self, job: RunEffect, case: Case, subject: str) -> str:
        """The message of a merge. Of a commit that people will get, it says what was proved and where to look."""
        if self._body_of is None or not is_delivered(job.inst, case):
            return f"{subject}\n"
        return f"{subject}\n\n{self._body_of(job)}"

    async def _changed(self, job: RunEffect, case: Case) -> list[str]:
        """The files that an instance has changed."""
        head = await self._lanes.integration.head(case.state, job.inst)
        return [change.path for change in await self._trees.changes(head.base, head.commit)]

    async def _with_results(self, made: Outcome, witness: Witness, case: Case, commit: str) -> Outcome:
        """The outcome with what was checked on the way to it."""
        if not witness.seen:
            return made
        tree = await self._lanes.integration.repository.tree(commit) if commit else ""
        return msgspec.structs.replace(made, results=witness.results(case.payloads, commit, tree))

    async def _merged(self, done: Completed, subject: str, reasons: dict[str, str]) -> Values:
        repository = self._lanes.integration.repository
        printed, problem = await self._printed(done.before, done.commit)
        found = await api_changes(repository, done.before, done.commit, printed)
        reason = f"{subject} (`toolchain.api_dump` has not helped: {problem})" if problem else subject
        entries: list[Json] = [_entry(one, reason_for(one.symbol, reasons, reason)) for one in found]
        return {
            "mergeCommit": done.commit,
            "newParentHead": done.commit,
            "commit": done.commit,
            "diff": await self._trees.diff(done.before, done.commit, _DIFF),
            "files_changed": [change.path for change in await self._trees.changes(done.before, done.commit)],
            "impactLevel": impact(found),
            "changes": entries,
        }

    async def _printed(self, before: str, after: str) -> tuple[tuple[Api, Api] | None, str]:
        """What the project's own command says that two commits export, or why it says nothing that can be used."""
        if self._dump is None:
            return None, ""
        try:
            return (await self._api(self._dump, before), await self._api(self._dump, after)), ""
        except ValueError as error:
            return None, str(error)[:200]

    async def _api(self, dump: Dump, commit: str) -> Api:
        async with self._checkouts.clean(commit) as path:
            return dumped(await dump(path))

    def _refused(self, job: RunEffect, case: Case, done: Refused) -> Outcome:
        values: Values = {
            "reason": done.reason,
            "details": done.details,
            "failingTests": list(done.failing),
            "failing_tests": list(done.failing),
            "conflictFiles": list(done.files),
        }
        return outcome(case.protocol, self._step(job, case), "MergeRejected", values)

    async def _rebase(self, job: RunEffect, case: Case) -> Outcome:
        witness = Witness(self._verifier_of(job, case))
        done = await self._rebasing.rebase(case.state, job.inst, witness)
        step = self._step(job, case)
        values: Values = {
            "newBase": done.base,
            "conflictFiles": list(done.files),
            "changedTests": list(done.changed_tests),
        }
        unclean = "RebaseDrift" if "RebaseDrift" in step.exits else "RebaseConflict"
        made = outcome(case.protocol, step, "RebaseClean" if done.is_clean else unclean, values)
        head = await self._lanes.integration.head(case.state, job.inst)
        return await self._with_results(made, witness, case, head.start)

    async def _rollback(self, job: RunEffect, case: Case) -> Outcome:
        commit = await rollback(self._lanes, case.state, job.inst)
        values: Values = {"restoredCommit": commit, "commit": commit}
        return outcome(case.protocol, self._step(job, case), "RolledBack", values)

    async def _fold(self, job: RunEffect, case: Case) -> Outcome:
        step = self._step(job, case)
        groups = _folded_groups(case.protocol.graphs[job.graph], step)
        done = await self._folding.fold(case.state, job.inst, groups)
        values: Values = {"commit": done.commit, "files_changed": list(done.files), "files": list(done.files)}
        return outcome(case.protocol, step, "Folded" if done.is_clean else "FoldConflict", values)

    async def _archive(self, job: RunEffect, case: Case) -> Outcome:
        """The artifact `delta` becomes one of the artifact `deltas`."""
        artifacts, values = case.protocol.artifacts, given_to(job.inst, case)
        if "delta" not in artifacts or "deltas" not in artifacts:
            raise PortError(
                "the effect 'archive' needs the artifacts 'delta' (what is archived) and 'deltas' (where)",
                code="git.effect",
            )
        source = place_of(artifacts["delta"], values)
        target = place_of(artifacts["deltas"], {**values, "date": DATE})
        if not source or not target:
            raise PortError(
                f"nobody knows where {artifacts['delta'].path} or {artifacts['deltas'].path} lies here",
                code="git.effect",
            )
        date = datetime.fromtimestamp((case.state.now or case.state.started) / 1000, UTC).date().isoformat()
        message = f"{name_of(job.inst, case)}: archive the delta\n"
        done = await self._archiving.archive(case.state, job.inst, source, target, date, message)
        values = {"archive": done.path, "commit": done.commit}
        return outcome(case.protocol, self._step(job, case), "Archived", values)

    async def _publish(self, job: RunEffect, case: Case) -> Outcome:
        """The artifacts that are files of the run; those that are views of its log are written by their views."""
        values = given_to(job.inst, case)
        places = [place_of(one, values) for one in case.protocol.artifacts.values() if not one.view]
        done = await self._publishing.publish(case.state, job.inst, [place for place in places if place])
        files: list[Json] = list(done.files)
        told: Values = {"commit": done.commit, "files": files, "published": files, "kept": list(done.kept)}
        return outcome(case.protocol, self._step(job, case), "Published", told)

    async def _notify(self, job: RunEffect, case: Case) -> Outcome:
        await self._tell(case.state.run, f"{job.inst}: {job.step}")
        return outcome(case.protocol, self._step(job, case), "Notified", {})

    async def _tell(self, run: str, text: str) -> None:
        if self._notifier is not None:
            with suppress(Exception):  # telling people stops nothing
                await self._notifier.notify(run, "result", text)

    @staticmethod
    def _step(job: RunEffect, case: Case) -> Step:
        return case.protocol.graphs[job.graph].steps[job.step]


def _folded_groups(graph: Graph, step: Step) -> tuple[str, ...]:
    """The children that a fold takes in: those it waits for, and those whose results it needs; none named, all."""
    maps = {need.step for need in step.needs if need.step in graph.steps and graph.steps[need.step].kind == "map"}
    return (*(wait.group for wait in step.wait if wait.group), *sorted(maps))


def _entry(change: ApiChange, reason: str) -> Json:
    told = {"from": change.before, "to": change.after}
    kept: dict[str, Json] = {name: text for name, text in told.items() if text}
    return {"symbol": change.symbol, "changeType": change.type, "reason": reason} | kept
