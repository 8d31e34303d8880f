"""A run of this project as a recording: what its agents answered and left, for `--agent replay:RUN`."""

from typing import Any

import msgspec

from treadle.agents.activity import Activity
from treadle.agents.replay import FolderRecording, Recorded, Recording
from treadle.config.project import Project
from treadle.engines.opening import opened_store
from treadle.git.names import Names
from treadle.git.packed import refs_of
from treadle.git.refs import Refs
from treadle.git.repository import Repository, open_repository
from treadle.kernel.events import Exited, Failed
from treadle.protocol.model import Protocol
from treadle.store.sqlite import Store
from treadle.views.chronicle import Chronicle, Deed


def recording_of(project: Project, name: str) -> Recording:
    """The recorded run of a name, or a folder of recorded activities; a `TreadleError` if there is neither."""
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
    """Finds activities in the log of a run, as it was when it was first asked, and their files below the run's refs."""

    def __init__(self, project: Project, run: str) -> None:
        self.name = run
        self._project = project
        self._known: Chronicle | None = None
        self._repository: Repository | None = None
        self._refs: dict[str, str] | None = None

    async def find(self, activity: Activity) -> Recorded | None:
        """What the agent did at this place; None if it was never there, or had not come to an end."""
        with opened_store(self._project) as store:
            chronicle = self._chronicle(store)
            deed = _ended(chronicle, activity)
            if deed is None or chronicle.protocol is None:
                return None
            said = _said(store, chronicle.protocol, deed)
        return Recorded(**said, **await self._files(deed.command.id), usage=deed.usage)

    def _chronicle(self, store: Store) -> Chronicle:
        if self._known is None:
            chronicle = Chronicle(store.protocol)
            for body, _ in store.tail(self.name)[1]:
                chronicle.take(body)
            self._known = chronicle
        return self._known

    async def _files(self, act: str) -> dict[str, Any]:
        """Where what it left is: recorded while its claim was checked, or saved as leftovers."""
        if self._repository is None:
            self._repository = await open_repository(self._project)
        names = Names(self.name)
        wanted = [names.of_activity(act, what) for what in ("base", "recorded", "wip")]
        if self._refs is None:
            self._refs = await refs_of(self._repository, Refs(self._repository), names)
        found = self._refs
        base, recorded, wip = (found.get(ref, "") for ref in wanted)
        commit = recorded or wip
        changed = bool(commit) or not base  # without its base, nobody knows whether there was anything
        return {"base": base, "commit": commit, "changed": changed, "objects": str(self._repository.objects)}


def _ended(chronicle: Chronicle, activity: Activity) -> Deed | None:
    """The activity of that place; if a signal stopped it, the one that took its step up again."""
    deed = chronicle.deeds.get(activity.id)
    while deed is not None and deed.stopped == "preempted":
        activity = msgspec.structs.replace(activity, visit=activity.visit + 1)
        deed = chronicle.deeds.get(activity.id)
    return deed if deed is not None and (deed.claim or deed.failures) else None


def _said(store: Store, protocol: Protocol, deed: Deed) -> dict[str, Any]:
    if deed.claim is not None:
        return {"answer": _answer(store, protocol, deed.claim)}
    return _failure(store, deed.failures[-1])


def _answer(store: Store, protocol: Protocol, claim: Exited) -> dict[str, Any]:
    """The claim as its agent made it: what is computed is computed again."""
    envelope = claim.envelope
    value = store.payloads.get(envelope.payload_ref) if envelope.payload_ref else {}
    declared = protocol.exits[envelope.type].fields
    own = {name: field for name, field in declared.items() if field.by != "agent"}
    fields = value if isinstance(value, dict) else {}
    return {"type": envelope.type, **{name: one for name, one in fields.items() if name not in own}}


def _failure(store: Store, failed: Failed) -> dict[str, Any]:
    value = store.payloads.get(failed.detail_ref) if failed.detail_ref else {}
    detail = value if isinstance(value, dict) else {"report": value}
    code = detail.get("code")
    return {
        "how": "done" if failed.why == "invalid" else "failed",
        "detail": str(detail.get("report") or ""),
        "final": str(detail.get("output") or ""),
        "code": code if isinstance(code, int) else None,
    }
