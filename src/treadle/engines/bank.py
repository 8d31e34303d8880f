"""The memory bank of a run, read: documents that are made from its log, and those that its agents have written."""

from contextlib import suppress

from treadle.config.project import Project
from treadle.engines.pinned import pinned
from treadle.errors import PortError
from treadle.git.names import Names
from treadle.git.packed import refs_of
from treadle.git.refs import Refs
from treadle.git.repository import open_repository
from treadle.git.trees import Trees
from treadle.kernel.state import State
from treadle.ports import Payloads
from treadle.protocol.memory_bank import fits, is_document, is_view
from treadle.protocol.model import Protocol
from treadle.store.records import Run
from treadle.views.bank.accepted import Texts, accepted_documents
from treadle.views.bank.course import Course
from treadle.views.bank.files import bank


async def read_bank(project: Project, run: Run, course: Course, payloads: Payloads) -> Texts:
    """Artifact → path → text, as accepted so far; what is not written yet is not there."""
    protocol = course.protocol
    if protocol is None:
        return {}
    made = bank(course, payloads.get)
    views = {name: {one.path: made[one.path]} for name, one in protocol.artifacts.items() if is_view(one)}
    found = await _committed(project, run, course.state, protocol)
    for name, texts in accepted_documents(protocol, course, payloads.get).items():
        found[name] = found.get(name, {}) | texts
    return views | found


async def _committed(project: Project, run: Run, state: State, protocol: Protocol) -> Texts:
    """What the branches of a run's instances have; the root's counts first, then that of the latest instance."""
    found: Texts = {}
    with suppress(PortError):
        repository = await open_repository(project)
        trees, names = Trees(repository), Names(run.id, pinned(run).config.git.branch_prefix)
        heads = await refs_of(repository, Refs(repository), names)
        latest = sorted(state.insts.values(), key=lambda it: (it.parent == "", it.n))
        commits = [heads[ref] for it in latest if (ref := names.integration(it.id)) in heads]
        for commit in dict.fromkeys(commits):
            await _add(found, trees, commit, protocol)
    return found


async def _add(found: Texts, trees: Trees, commit: str, protocol: Protocol) -> None:
    paths = [entry.path for entry in await trees.entries(commit)]
    for name, artifact in protocol.artifacts.items():
        listed = list(filter(fits(artifact), paths)) if is_document(artifact) and not is_view(artifact) else []
        for path, data in (await trees.shows(commit, listed)).items():
            if data is not None:
                found.setdefault(name, {})[path] = data.decode(errors="replace")
