"""A run of this project as a recording of its agents' answers and files, for `--agent replay:RUN`."""

from typing import Any

import msgspec

from treadle.agents.contract import ActivityKey
from treadle.agents.replay import FolderRecording, RecordedActivity, Recording
from treadle.config.project import Project
from treadle.git.ref_names import RefNames
from treadle.git.refs import Refs, refs_of_run
from treadle.git.repository import Repository, open_repository
from treadle.protocol.model import Protocol
from treadle.store.sqlite import Store, opened_store
from treadle.views.chronicle import ActivityRecord, Chronicle


def recording_of(project: Project, name: str) -> Recording:
    """Return the recorded run, or folder of activities, with a name; raise a `TreadleError` if there is neither."""
    folder = project.root / name
    if folder.is_dir() and not _is_run(project, name):
        return FolderRecording(folder)
    with opened_store(project) as store:
        return RunRecording(project, store.run(name).id)


def _is_run(project: Project, name: str) -> bool:
    if not project.store.is_file():
        return False
    with opened_store(project) as store:
        return any(run.id == name for run in store.runs())


class RunRecording:
    """A recording of a run: activities from its log, read once, and their files from the run's refs."""

    def __init__(self, project: Project, run: str) -> None:
        self.name = run
        self._project = project
        self._known: Chronicle | None = None
        self._repository: Repository | None = None
        self._refs: dict[str, str] | None = None

    async def find(self, activity: ActivityKey) -> RecordedActivity | None:
        """Return the record of an activity; None if the run never reached it, or it did not end."""
        with opened_store(self._project) as store:
            chronicle = self._chronicle(store)
            deed = _find_ended_activity(chronicle, activity)
            if deed is None or chronicle.protocol is None:
                return None
            end = _recorded_end(store, chronicle.protocol, deed)
        return RecordedActivity(**end, **await self._files(deed.command.id), usage=deed.usage)

    def _chronicle(self, store: Store) -> Chronicle:
        if self._known is None:
            chronicle = Chronicle(store.protocol)
            for body, _ in store.tail(self.name)[1]:
                chronicle.take(body)
            self._known = chronicle
        return self._known

    async def _files(self, act: str) -> dict[str, Any]:
        """Return the commit of the activity's files: recorded when its claim was checked, or saved as leftovers."""
        if self._repository is None:
            self._repository = await open_repository(self._project)
        names = RefNames(self.name)
        wanted = [names.of_activity(act, what) for what in ("base", "recorded", "wip")]
        if self._refs is None:
            self._refs = await refs_of_run(self._repository, Refs(self._repository), names)
        base, recorded, wip = (self._refs.get(ref, "") for ref in wanted)
        commit = recorded or wip
        changed = bool(commit) or not base  # without its base, changes are unknown
        return {"base": base, "commit": commit, "changed": changed, "objects": str(self._repository.objects)}


def _find_ended_activity(chronicle: Chronicle, activity: ActivityKey) -> ActivityRecord | None:
    """Return the ended activity of a place; if a signal stopped it, the one that resumed its step."""
    deed = chronicle.deeds.get(activity.id)
    while deed is not None and deed.stopped == "preempted":
        activity = msgspec.structs.replace(activity, visit=activity.visit + 1)
        deed = chronicle.deeds.get(activity.id)
    return deed if deed is not None and (deed.claim or deed.failures) else None


def _recorded_end(store: Store, protocol: Protocol, deed: ActivityRecord) -> dict[str, Any]:
    """Return the end of an activity: the agent's own claim, or its last failure."""
    if deed.claim is not None:
        envelope = deed.claim.envelope
        value = store.payloads.get(envelope.payload_ref) if envelope.payload_ref else {}
        fields = value if isinstance(value, dict) else {}
        # Without the computed fields: the replay computes them again.
        computed = [name for name, field in protocol.exits[envelope.type].fields.items() if field.by != "agent"]
        own = {name: one for name, one in fields.items() if name not in computed}
        return {"answer": {"type": envelope.type, **own}}
    failed = deed.failures[-1]
    value = store.payloads.get(failed.detail_ref) if failed.detail_ref else {}
    detail = value if isinstance(value, dict) else {"report": value}
    code = detail.get("code")
    return {
        "how": "done" if failed.why == "invalid" else "failed",
        "detail": str(detail.get("report") or ""),
        "final": str(detail.get("output") or ""),
        "code": code if isinstance(code, int) else None,
    }
