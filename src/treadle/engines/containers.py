"""The containers of a project's runs: opened for a run, found again by their labels, and removed with it."""

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from treadle.agents.processes import Process, lives, look
from treadle.config.model import Config
from treadle.config.project import Project
from treadle.enclosures.container import Container, removal
from treadle.enclosures.engine import Engine, ask, find_engine
from treadle.enclosures.opening import CONTAINER, open_container
from treadle.engines.pinned import pinned
from treadle.errors import PortError
from treadle.store.records import Run

_BY: Final = "treadle.by"


def is_enclosed(config: Config) -> bool:
    """Whether the settings ask for containers."""
    return config.workspace.driver == CONTAINER


async def container_of(project: Project, run: Run) -> Container | None:
    """What a run's agents and checks run in; a `TreadleError` if it cannot be had. Checks left over are ended."""
    config = pinned(run).config
    if not is_enclosed(config):
        return None
    me = look(os.getpid())
    container = await open_container(config.workspace, project, run.id, {_BY: f"{os.getpid()} {me.start if me else 0}"})
    assert container is not None
    await _remove(container.engine, await _abandoned(container.engine, project))
    return container


async def remove_containers(project: Project, runs: Sequence[Run], *, dry: bool) -> int:
    """Remove what is left of runs that have ended; how many that were. No engine, no containers."""
    count = 0
    for run in runs:
        with suppress(PortError):
            count += await _forget(project, run, dry=dry)
    return count


async def _forget(project: Project, run: Run, *, dry: bool) -> int:
    config = pinned(run).config
    if not is_enclosed(config):
        return 0
    engine = await find_engine(config.workspace.engine, config.workspace.image)
    found = await _found(engine, project, f"label=treadle.run={run.id}")
    await _remove(engine, [] if dry else list(found))
    return len(found)


async def _abandoned(engine: Engine, project: Project) -> list[str]:
    """Checks whose Treadle is gone: nobody will ask for what they find. Agents are taken up again instead."""
    found = await _found(engine, project, "label=treadle.what=check")
    return [container for container, by in found.items() if not _lives(by)]


async def _found(engine: Engine, project: Project, more: str) -> dict[str, str]:
    """Containers of a project, and the process that each was started by."""
    labels = ("--filter", f"label=treadle.project={project.root}", "--filter", more)
    shown = f'{{{{.ID}}}} {{{{.Label "{_BY}"}}}}'
    said = await ask([engine.path, "ps", "--all", "--no-trunc", *labels, "--format", shown])
    if said.code != 0:
        raise PortError(
            f"{engine.kind} does not list its containers: {said.first_line}", retryable=True, code="container.unusable"
        )
    lines = (line.partition(" ") for line in said.text.splitlines())
    return {container: by for container, _, by in lines if container}


async def _remove(engine: Engine, containers: Sequence[str]) -> None:
    if containers:
        await ask(removal(engine, *containers))


def _lives(by: str) -> bool:
    words = by.split()
    if len(words) != 2 or not all(word.isdecimal() and len(word) < 20 for word in words):
        return False
    return lives(Process(int(words[0]), 0, int(words[1])))
