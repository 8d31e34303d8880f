"""What earlier runs of a project have done of what a new one waits for."""

import asyncio
import shlex

from treadle.config.links import links_of
from treadle.config.project import Project
from treadle.engines.result import result_of
from treadle.errors import TreadleError
from treadle.kernel.lifecycle import ROOT
from treadle.protocol.answers.inputs import Input, load_input
from treadle.protocol.answers.waits import Before
from treadle.protocol.items import RefOf, content_ref
from treadle.protocol.model import Protocol
from treadle.store.records import Run
from treadle.store.sqlite import Store
from treadle.views.tree import is_good_end, step_alone


def given(project: Project, protocol: Protocol, text: str, file: str, ref_of: RefOf = content_ref) -> Input:
    """The input of a run in a project; what its items wait for may have been done there before."""
    return load_input(protocol, text, file, ref_of, links_of(project), done_before(project))


def done_before(project: Project) -> Before:
    """Whether a run has done something, by its key, and the user's branch has that."""

    def before(key: str) -> str | None:
        if not project.store.exists():
            return None
        store = Store(project.store, reading=True)
        try:
            found = [told for run in store.runs() if (told := _told(project, store, run, key)) is not None]
        finally:
            store.close()
        return "" if "" in found else next(iter(found), None)

    return before


def _told(project: Project, store: Store, run: Run, key: str) -> str | None:
    """What one run has to say about it; nothing if it has given it up, or cannot be read."""
    try:
        history = store.load(run.id)
    except TreadleError:
        return None
    protocol, state, name = history.protocol, history.state, shlex.quote(run.id)
    for inst in state.insts.values():
        if inst.parent != ROOT or inst.key != key or (inst.outcome and not is_good_end(protocol, state, inst)):
            continue
        if part := step_alone(protocol, state, inst):
            return f"is not done: {part.then} is next, after what {run.id} has done"
        if not run.outcome:
            return f"is not done yet: the run {run.id} is at it; `treadle status {name}` shows how it stands"
        result = asyncio.run(result_of(project, run))
        if result and not result.taken:
            where = f"{result.into or 'your branch'} has not its result yet"
            return f"is done by the run {run.id}, and {where}; `treadle deliver {name}` comes first"
        return ""
    return None
