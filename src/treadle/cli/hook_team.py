"""A task is marked as completed, or an agent of a team has nothing to do: what it is told."""

import asyncio
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Final

from treadle.agents.answer import answered
from treadle.config.project import Project
from treadle.engines.containers import container_of
from treadle.engines.pinned import pinned
from treadle.evidence.checks.project import commands_of
from treadle.evidence.project_tools import ProjectTools
from treadle.evidence.schemas.gherkin import unfinished_parallel
from treadle.hooks.belonging import Mine
from treadle.hooks.call import Call
from treadle.hooks.reply import GOES_ON, NOTHING, Reply
from treadle.kernel.commands import RunAgent
from treadle.ports import Work
from treadle.prompts.variables import given
from treadle.protocol.artifact_place import place_of
from treadle.protocol.model import Step
from treadle.results.files import look, replace
from treadle.store.history import History
from treadle.store.sqlite import Store
from treadle.toolchains.results import Built
from treadle.toolchains.toolchain import toolchain_of

_CHECK: Final = "post_check"
_SCENARIOS: Final = "bdd"
"""The artifact with the tasks of a story."""
_TOLD: Final = "idle"
_SHOWN: Final = 4_000


def completed(project: Project, store: Store, call: Call, mine: Sequence[Mine]) -> Reply:
    """A task of an agent's own list: it does not count before the project's own command succeeds in the lane."""
    for work in (one.work for one in mine):
        for text in _post_checks(store.load(work.run), work):
            built = asyncio.run(_post_check(project, store, work, text))
            if built is not None and not built.is_well:
                named = f" '{call.task[:100]}'" if call.task else ""
                told = f"the task{named} is not completed: `{text}` fails in {work.lane}"
                return Reply(GOES_ON, f"{told}\n{built.output.strip()[-_SHOWN:]}".strip())
    return NOTHING


def idle(store: Store, call: Call, mine: Sequence[Mine], works: Sequence[Work]) -> Reply:
    """An agent of a team has nothing to do: the [P] tasks that nobody has finished; nobody is told the same twice."""
    left: list[str] = []
    for run in dict.fromkeys(one.work.run for one in mine):
        history = store.load(run)
        left += [line for work in works if work.run == run for line in _unfinished(store, history, work)]
    if not left or not _is_news(call, mine[0].work, left):
        return NOTHING
    return Reply(GOES_ON, "\n".join(["[P] tasks that are not finished:", *(f"- {line}" for line in left)]))


def _post_checks(history: History, work: Work) -> list[str]:
    step = _step(history, work)
    refs = [ref for gate in step.gates.values() for ref in gate] if step else []
    return list(dict.fromkeys(ref.arg for ref in refs if ref.name == _CHECK and not ref.advisory))


async def _post_check(project: Project, store: Store, work: Work, text: str) -> Built | None:
    """The last of its commands that was run, which is the first that fails."""
    run = store.run(work.run)
    tools = ProjectTools(toolchain_of(pinned(run).config, project, await container_of(project, run)))
    built = None
    for words in commands_of(text):
        built = await tools.run(words, work.lane)
        if not built.is_well:
            break
    return built


def _unfinished(store: Store, history: History, work: Work) -> Iterator[str]:
    """A task of a wave that is in somebody's hands, or the tasks in the document of a story that one works on alone."""
    job = _job(history, work)
    if job is None or answered(work):
        return
    if job.graph.startswith("task-"):
        yield f"{job.inst}: {work.bundle / 'prompt.md'}, in {work.lane}"
        return
    artifact, spec = history.protocol.artifacts.get(_SCENARIOS), given(job.inputs, store.payloads)
    path = place_of(artifact, spec) if artifact and isinstance(spec, dict) else ""
    text = look(work.lane, path) if path else None
    if isinstance(text, bytes):
        yield from (f"{path}: {task}" for task in unfinished_parallel(text.decode(errors="replace")))


def _step(history: History, work: Work) -> Step | None:
    job = _job(history, work)
    return history.protocol.graphs[job.graph].steps[job.step] if job else None


def _job(history: History, work: Work) -> RunAgent | None:
    act = history.state.acts.get(work.act)
    return act.command if act and isinstance(act.command, RunAgent) else None


def _is_news(call: Call, work: Work, left: Sequence[str]) -> bool:
    """Whether this agent has not been told exactly this; where that cannot be noted, it is told nothing."""
    mark = sha256("\0".join((call.session, call.mate, *left)).encode(errors="replace")).hexdigest()
    folder = work.home.parents[1]
    found = look(folder, _TOLD)
    before = found.decode(errors="replace").split() if isinstance(found, bytes) else []
    if mark in before:
        return False
    try:
        replace(folder, _TOLD, "\n".join([*before[-1000:], mark]).encode())
    except OSError:
        return False
    return True
