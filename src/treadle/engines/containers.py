"""The containers of a project's runs: opened for a run, found again by their labels, and removed with it."""

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from treadle.agents.processes import Process, find_process, is_running
from treadle.config.model import Config
from treadle.config.project import Project
from treadle.enclosures.container import Container, Engine, find_engine, removal_command, run_program
from treadle.enclosures.selection import CONTAINER, open_container
from treadle.engines.run_settings import settings_of
from treadle.errors import PortError
from treadle.store.records import Run

_BY: Final = "treadle.by"


def uses_containers(config: Config) -> bool:
    """Whether the settings ask for containers."""
    return config.workspace.driver == CONTAINER


async def container_of(project: Project, run: Run) -> Container | None:
    """Return a run's container, or raise a `TreadleError`; abandoned checks are removed first."""
    config = settings_of(run).config
    if not uses_containers(config):
        return None
    me = find_process(os.getpid())
    container = await open_container(config.workspace, project, run.id, {_BY: f"{os.getpid()} {me.start if me else 0}"})
    assert container is not None
    # Remove the checks without a living Treadle. Agents stay: the driver attaches to them again.
    checks = await _list_containers(container.engine, project, "label=treadle.what=check")
    await _remove(container.engine, [id_ for id_, by in checks.items() if not _is_alive(by)])
    return container


async def remove_containers(project: Project, runs: Sequence[Run], *, dry: bool) -> int:
    """Remove the containers of ended runs and return their number; without a container engine there are none."""
    count = 0
    for run in runs:
        with suppress(PortError):
            config = settings_of(run).config
            if uses_containers(config):
                engine = await find_engine(config.workspace.engine, config.workspace.image)
                containers = await _list_containers(engine, project, f"label=treadle.run={run.id}")
                await _remove(engine, [] if dry else list(containers))
                count += len(containers)
    return count


async def _list_containers(engine: Engine, project: Project, more: str) -> dict[str, str]:
    """Return the containers of a project, each with the process that started it."""
    labels = ("--filter", f"label=treadle.project={project.root}", "--filter", more)
    shown = f'{{{{.ID}}}} {{{{.Label "{_BY}"}}}}'
    answer = await run_program([engine.path, "ps", "--all", "--no-trunc", *labels, "--format", shown])
    if answer.code != 0:
        raise PortError(
            f"{engine.kind} does not list its containers: {answer.first_line}",
            retryable=True,
            code="container.unusable",
        )
    lines = (line.partition(" ") for line in answer.text.splitlines())
    return {container: by for container, _, by in lines if container}


async def _remove(engine: Engine, containers: Sequence[str]) -> None:
    if containers:
        await run_program(removal_command(engine, *containers))


def _is_alive(by: str) -> bool:
    """Whether the process of a label (its pid and its start) still runs."""
    words = by.split()
    if len(words) != 2 or not all(word.isdecimal() and len(word) < 20 for word in words):
        return False
    return is_running(Process(int(words[0]), 0, int(words[1])))
