"""Effects: Treadle's own operations on the repository, `ports.Effects` for all that concerns commits.

Merges, folds and rebases are in `merge.py`; rollback, archive and publication are here, with the exit that each effect
ends by.
"""

import asyncio
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Final

import msgspec

from treadle.errors import PortError
from treadle.git.api.languages import Api
from treadle.git.api.reader import Dump, api_changes, impact, parse_dump
from treadle.git.commit_message import instance_inputs, is_delivered, merge_subject, name_of, papers_of
from treadle.git.delivery import Policy
from treadle.git.files import write_unless_foreign
from treadle.git.integration import Integration
from treadle.git.lanes import Lanes
from treadle.git.merge import (
    CommitVerifier,
    MergeRefusal,
    MergeRequest,
    MergeResult,
    fold_children,
    merge_instance,
    rebase_instance,
)
from treadle.git.slots import Checkouts
from treadle.git.trees import LINK, SUBMODULE, TreeEntry, Trees
from treadle.kernel.commands import RunEffect
from treadle.kernel.events import CheckResult
from treadle.kernel.state import State
from treadle.ports import Case, Effects, Notifier, Outcome
from treadle.protocol.artifacts import place_of
from treadle.protocol.items import Json
from treadle.protocol.model import Field, Protocol, Step

VerifierOf = Callable[[RunEffect, Case], CommitVerifier]
"""Returns the checks of the commits of one merge or rebase (`evidence.merge_verifier.MergeVerifier`)."""
BodyOf = Callable[[RunEffect], str]
"""Returns the message body of a commit that goes to the user's branch (`views.evidence_text.commit_body`)."""
UnverifiedOf = Callable[[str], list[dict[str, Json]]]
"""Returns the missing evidence for the criteria of an instance, as findings with their `spec` and `criterion`; empty if
each criterion is verified or accepted by a person (`engines.evidence.merge_gaps`).
"""
Values = dict[str, Json]
_REJECTED: Final = "MergeRejected"
_UNVERIFIED: Final = "Unverified"
_DIFF: Final = 200_000
_DATE: Final = "{date}"
_SAME_DAY: Final = 100
"""The limit on documents of one name that are archived on one day."""


class GitEffects(Effects):
    """Performs effects; each one detects which of its parts are already done."""

    def __init__(
        self,
        lanes: Lanes,
        checkouts: Checkouts,
        verifier_of: VerifierOf,
        unverified_of: UnverifiedOf,
        policy: Policy = "branch",
        notifier: Notifier | None = None,
        dump: Dump | None = None,
        body_of: BodyOf | None = None,
    ) -> None:
        self._lanes, self._checkouts, self._verifier_of, self._notifier = lanes, checkouts, verifier_of, notifier
        self._policy, self._dump, self._body_of, self._unverified_of = policy, dump, body_of, unverified_of
        self._integration, self._repository = lanes.integration, lanes.integration.repository
        self._trees = Trees(self._repository)

    async def perform(self, job: RunEffect, case: Case) -> Outcome:
        """Perform an effect, or detect that it is done; return the exit with all its fields."""
        step = case.protocol.graphs[job.graph].steps[job.step]
        values: Values
        match job.effect:
            case "merge":
                return await self._merge(job, case, step)
            case "rebase":
                return await self._rebase(job, case, step)
            case "rollback":
                # Reset the lanes to the last accepted commit, after saving their contents.
                commit = (await self._integration.integrate(case.state, job.inst)).start
                await self._lanes.reset(case.state.run, job.inst, commit)
                exit_, values = "RolledBack", {"restoredCommit": commit, "commit": commit}
            case "fold":
                # Fold the groups that the step waits for, or needs results of; without any, all children.
                steps = case.protocol.graphs[job.graph].steps
                maps = {need.step for need in step.needs if need.step in steps and steps[need.step].kind == "map"}
                groups = (*(wait.group for wait in step.wait if wait.group), *sorted(maps))
                folded = await fold_children(self._lanes, case.state, job.inst, groups)
                exit_ = "Folded" if folded.is_clean else "FoldConflict"
                values = {
                    "commit": folded.commit,
                    "files_changed": list(folded.files),
                    "files": list(folded.files),
                }
            case "archive":
                exit_, values = "Archived", await self._archive(job, case)
            case "publish":
                # Publish the artifacts that are files of the run; views of the log write their own files.
                inputs = instance_inputs(job.inst, case)
                places = [place_of(one, inputs) for one in case.protocol.artifacts.values() if not one.view]
                done = await publish_files(self._integration, case.state, job.inst, [one for one in places if one])
                files: list[Json] = list(done.files)
                exit_ = "Published"
                values = {"commit": done.commit, "files": files, "published": files, "kept": list(done.kept)}
            case "notify" if self._notifier is not None:
                await self._notify(case.state.run, f"{job.inst}: {job.step}")
                exit_, values = "Notified", {}
            case _:
                missing = "a notifier" if job.effect == "notify" else "an effect of that name"
                raise PortError(
                    f"the effect '{job.effect}' of the step '{job.step}' cannot be performed: {missing} is missing",
                    code="git.effect",
                )
        return build_outcome(case.protocol, step, exit_, values)

    async def _merge(self, job: RunEffect, case: Case, step: Step) -> Outcome:
        """Merge an instance if each of its criteria is verified, or a person let it pass."""
        if refuses_unverified(case.protocol) and (gaps := self._unverified_of(job.inst)):
            details = "\n".join(f"- {one['spec']}/{one['criterion']}: {one['what']} [{one['code']}]" for one in gaps)
            record: Json = {"check": "verified", "ok": False, "report": details, "findings": list[Json](gaps)}
            result = CheckResult(check="verified", ok=False, report_ref=case.payloads.put(record))
            outcome = build_outcome(case.protocol, step, _REJECTED, _rejection(_UNVERIFIED, details))
            return msgspec.structs.replace(outcome, results=(result,))

        head = await self._integration.integrate(case.state, job.inst)
        changed = [change.path for change in await self._trees.changes(head.base, head.commit)]
        subject = merge_subject(job.inst, case, changed)
        # A commit that people get also names the proofs, and where to find them.
        body = f"\n{self._body_of(job)}" if self._body_of is not None and is_delivered(job.inst, case) else ""
        request = MergeRequest(f"{subject}\n{body}", step.keep_commits, papers_of(case), self._policy)
        verifier = self._verifier_of(job, case)
        done = await merge_instance(self._lanes, case.state, job.inst, job.id, request, verifier)
        if isinstance(done, MergeRefusal):
            values = _rejection(done.reason, done.details, done.failing, done.files)
            outcome = build_outcome(case.protocol, step, _REJECTED, values)
            return await self._with_results(outcome, verifier, case, done.commit)

        if done.delivered is not None:
            await self._notify(case.state.run, str(done.delivered))
        if not verifier.seen:  # verified before a crash, which lost the results: verify again, for the record
            await verifier.verify_merge(done.commit)
        values = await self._describe_merge(done, subject, change_reasons(job, case))
        outcome = build_outcome(case.protocol, step, "MergeComplete", values)
        return await self._with_results(outcome, verifier, case, done.commit)

    async def _describe_merge(self, done: MergeResult, subject: str, reasons: dict[str, str]) -> Values:
        """Return the fields of a complete merge, with each changed export and the reason for it."""
        printed: tuple[Api, Api] | None = None
        if self._dump is not None:
            try:
                printed = await self._print_api(self._dump, done.before), await self._print_api(self._dump, done.commit)
            except ValueError as error:
                subject = f"{subject} (`toolchain.api_dump` failed: {str(error)[:200]})"
        changes = await api_changes(self._repository, done.before, done.commit, printed)
        entries: list[Json] = []
        for change in changes:
            reason = reason_for(change.symbol, reasons, subject)
            entry: Values = {"symbol": change.symbol, "changeType": change.type, "reason": reason}
            signatures: Values = {"from": change.before, "to": change.after}
            entries.append(entry | {name: text for name, text in signatures.items() if text})
        return {
            "mergeCommit": done.commit,
            "newParentHead": done.commit,
            "commit": done.commit,
            "diff": await self._trees.diff(done.before, done.commit, _DIFF),
            "files_changed": [change.path for change in await self._trees.changes(done.before, done.commit)],
            "impactLevel": impact(changes),
            "changes": entries,
        }

    async def _print_api(self, dump: Dump, commit: str) -> Api:
        async with self._checkouts.clean(commit) as path:
            return parse_dump(await dump(path))

    async def _rebase(self, job: RunEffect, case: Case, step: Step) -> Outcome:
        verifier = self._verifier_of(job, case)
        done = await rebase_instance(self._integration, case.state, job.inst, verifier)
        values: Values = {
            "newBase": done.base,
            "conflictFiles": list(done.files),
            "changedTests": list(done.changed_tests),
        }
        unclean = "RebaseDrift" if "RebaseDrift" in step.exits else "RebaseConflict"
        outcome = build_outcome(case.protocol, step, "RebaseClean" if done.is_clean else unclean, values)
        head = await self._integration.integrate(case.state, job.inst)
        return await self._with_results(outcome, verifier, case, head.start)

    async def _archive(self, job: RunEffect, case: Case) -> Values:
        """Move the artifact `delta` to its place among the artifact `deltas`."""
        artifacts, inputs = case.protocol.artifacts, instance_inputs(job.inst, case)
        if "delta" not in artifacts or "deltas" not in artifacts:
            raise PortError(
                "the effect 'archive' needs the artifacts 'delta' (the document) and 'deltas' (its place)",
                code="git.effect",
            )
        source = place_of(artifacts["delta"], inputs)
        target = place_of(artifacts["deltas"], {**inputs, "date": _DATE})
        if not source or not target:
            raise PortError(
                f"the input of {job.inst} gives no path for {artifacts['delta'].path} or {artifacts['deltas'].path}",
                code="git.effect",
            )
        date = datetime.fromtimestamp((case.state.now or case.state.started) / 1000, UTC).date().isoformat()
        message = f"{name_of(job.inst, case)}: archive the delta\n"
        path, commit = await archive_document(self._integration, case.state, job.inst, source, target, date, message)
        return {"archive": path, "commit": commit}

    async def _with_results(self, outcome: Outcome, verifier: CommitVerifier, case: Case, commit: str) -> Outcome:
        """Add the check results to an outcome."""
        if not verifier.seen:
            return outcome
        tree = await self._repository.tree(commit) if commit else ""
        return msgspec.structs.replace(outcome, results=verifier.results(case.payloads, commit, tree))

    async def _notify(self, run: str, text: str) -> None:
        if self._notifier is not None:
            with suppress(Exception):  # a failed notification stops nothing
                await self._notifier.notify(run, "result", text)


def refuses_unverified(protocol: Protocol) -> bool:
    """Whether merges of the protocol can be refused as unverified.

    A protocol without that reason in `MergeRejected` is older than it: its runs merge as before, and are stopped at
    delivery.
    """
    declared = protocol.exits.get(_REJECTED)
    reason = declared.fields.get("reason") if declared else None
    return reason is not None and _UNVERIFIED in reason.type.split(" | ")


def _rejection(reason: str, details: str, failing: Sequence[str] = (), files: Sequence[str] = ()) -> Values:
    return {
        "reason": reason,
        "details": details,
        # One field: v3 and fractal spell it like the first, waterfall like the second. An exit gets what it declares.
        "failingTests": list(failing),
        "failing_tests": list(failing),
        "conflictFiles": list(files),
    }


# Reasons for changed exports, from the approval of the merge.


def change_reasons(job: RunEffect, case: Case) -> dict[str, str]:
    """Return the reasons for changed names from the inputs of the merge; the last one wins."""
    found: dict[str, str] = {}
    for ref in [ref for refs in job.inputs.values() for ref in refs if ref]:
        payload = case.payloads.get(ref)
        reasons = payload.get("changeReasons") if isinstance(payload, dict) else None
        for one in reasons if isinstance(reasons, list) else ():
            if isinstance(one, dict):
                found[str(one.get("symbol", ""))] = str(one.get("reason", ""))
    return found


def reason_for(symbol: str, reasons: dict[str, str], otherwise: str) -> str:
    """Return the reason for a name, which may be recorded under its last part alone, without the module."""
    near = [name for name in reasons if name and (symbol == name or symbol.endswith(f".{name}"))]
    return reasons[max(near, key=len)] if near else otherwise


# An effect's exit as a protocol declares it: every field filled in, and enums in the protocol's own spelling.


def build_outcome(protocol: Protocol, step: Step, exit_: str, values: Values) -> Outcome:
    """Return the exit of a step with its declared fields; raise a `PortError` if the step lacks that exit."""
    if exit_ not in step.exits or exit_ not in protocol.exits:
        raise PortError(
            f"the effect '{step.effect}' ended by {exit_}, which its step has no row for", code="git.effect"
        )
    fields = {name: field for name, field in protocol.exits[exit_].fields.items() if field.by != "kernel"}
    return Outcome(exit=exit_, fields=_fit_fields(protocol, fields, values, exit_))


def _fit_fields(protocol: Protocol, fields: dict[str, Field], values: Values, what: str) -> Values:
    found: Values = {}
    for name, field in fields.items():
        key = next((one for one in (name, *field.also) if one in values), None)
        if key is not None:
            found[name] = _fit_value(protocol, field, values[key])
        elif not field.type.endswith("?"):
            raise PortError(
                f"git has no value for the field '{name}' of {what}; it knows {', '.join(sorted(values))}",
                code="git.effect",
            )
    return found


def _fit_value(protocol: Protocol, field: Field, value: Json) -> Json:
    kind = field.type.removesuffix("?")
    if isinstance(value, str):
        text = value.encode(errors="replace").decode()
        # In an enum's own spelling: `NewExport` becomes `NEW_EXPORT`.
        options = {option.replace("_", "").lower(): option for option in kind.split(" | ")} if " | " in kind else {}
        return options.get(text.replace("_", "").lower(), text)
    if isinstance(value, list):
        record = protocol.types.get(kind.removeprefix("[").removesuffix("]"))
        return [
            _fit_fields(protocol, record.fields, one, kind)
            if record and isinstance(one, dict)
            else _fit_value(protocol, field, one)
            for one in value
        ]
    return value


async def archive_document(
    integration: Integration, state: State, inst: str, source: str, target: str, date: str, message: str
) -> tuple[str, str]:
    """Move a document on the instance's own branch, from `source` to `target` with its `{date}` replaced.

    Return its path and the commit; if it is archived already, that place. Lanes get the change when they are opened
    next.
    """
    repository, trees = integration.repository, Trees(integration.repository)
    head = await integration.integrate(state, inst)
    if head.drift:
        raise PortError(f"{source} cannot be archived: {inst} has conflicts that are not resolved", code="git.conflict")
    listing = (await trees.listing(head.commit)).by_path
    document = listing.get(source)

    if document is None or document.mode == LINK:  # archived before a crash, or by an earlier visit
        place = PurePosixPath(target)
        stem = re.escape(str(place.with_suffix(""))).replace(re.escape(_DATE), r"\d{4}-\d\d-\d\d")
        name = re.compile(stem + r"(-\d+)?" + re.escape(place.suffix))
        found = [path for path in listing if name.fullmatch(path)]
        if not found:
            raise PortError(
                f"there is no {source} to archive, and none in the archive ({target})", code="git.no_object"
            )
        return max(found, key=lambda path: (len(path), path)), head.commit

    # The archive may already have a document of the same day; the same contents need no second name.
    dated = target.replace(_DATE, date)
    place = PurePosixPath(dated)
    names = [dated, *(str(place.with_stem(f"{place.stem}-{n}")) for n in range(2, _SAME_DAY))]
    path = next(name for name in names if name not in listing or listing[name].id == document.id)
    tree = await trees.changed(head.commit, {source: None, path: TreeEntry(document.mode, document.id, path)})
    commit = await repository.commit(tree, (head.commit,), message, await repository.time(head.commit))
    await integration.move(state.run, inst, commit, head.base, head.commit)
    return path, commit


class PublishResult(msgspec.Struct, frozen=True):
    """The published files, and those left alone because a person changed them."""

    commit: str
    files: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


async def publish_files(integration: Integration, state: State, inst: str, paths: list[str]) -> PublishResult:
    """Write files from the instance's head into the user's tree; keep files that a person changed.

    This never deletes a file, and touches neither index nor branch.
    """
    repository, trees = integration.repository, Trees(integration.repository)
    if (await repository.users("rev-parse", "--is-bare-repository")).text == "true":
        raise PortError(
            "nothing can be published: the repository is bare, so there is no checkout to write to", code="git.bare"
        )
    commit = (await integration.integrate(state, inst)).commit
    ref = integration.names(state.run).of_instance(inst, "published")
    trunk = (await integration.trunk(state.run)).commit
    plain = {one.path for one in await trees.entries(commit) if one.mode not in (LINK, SUBMODULE)}
    wanted = [path for path in dict.fromkeys(paths) if path in plain]
    contents = await trees.shows(commit, wanted)
    # A file is ours to replace if it is as we published it last, or as it was when the run began.
    known = [one for one in (await integration.refs.get(ref), trunk) if one]
    earlier = [await trees.shows(one, wanted) for one in known]

    def write(path: str, data: bytes) -> bool:
        ours = [one[path] for one in earlier]
        return write_unless_foreign(repository.root, path, data, lambda there: there not in ours)

    files = [path for path, data in contents.items() if data is not None and await asyncio.to_thread(write, path, data)]
    await integration.refs.put(ref, commit)
    return PublishResult(commit, tuple(files), tuple(path for path in wanted if path not in files))
