"""Everything that `treadle doctor` looks at, in one list, and how it is told."""

import asyncio
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from treadle.cli import library, settings
from treadle.cli.advice import word
from treadle.cli.health.agents import agent_lines, limit_lines, own_sandboxes
from treadle.cli.health.channels import channel_lines
from treadle.cli.health.hooks import hook_lines
from treadle.cli.health.line import Line, missing
from treadle.cli.health.machine import disk_line, git_line, python_line, sqlite_line
from treadle.cli.health.project import project_lines
from treadle.cli.health.sandbox import agents_line, checks_line, container_line
from treadle.cli.health.tools import toolchain_lines
from treadle.config.model import Config
from treadle.config.project import Project, current_folder, find_project
from treadle.config.settings import Settings
from treadle.errors import TreadleError
from treadle.protocol.model import Protocol


async def checkup() -> list[Line]:
    """Looks at everything, at the same time where that takes long."""
    project = find_project()
    in_force, mistakes = _settings()
    config, protocol, unsound = _default(in_force)
    machine, tools, agents, held, folder = await asyncio.gather(
        git_line(),
        toolchain_lines(config, project or Project(current_folder()), protocol if project else None),
        agent_lines(in_force, project),
        asyncio.gather(
            checks_line(),
            agents_line(config.workspace, project, own_sandboxes(in_force)),
            container_line(config.workspace, project),
        ),
        project_lines(project, config.git.branch_prefix),
    )
    about = [machine, python_line(), sqlite_line(project), disk_line(project)]
    project_part = [line for line in folder if not (mistakes and line.what == "treadle.toml")]
    hooks = await hook_lines(project)
    told = channel_lines(config.notifications)
    limits = limit_lines(config, protocol)
    return [*about, *project_part, *mistakes, *unsound, *tools, *agents, *limits, *hooks, *told, *held]


def _settings() -> tuple[Settings, list[Line]]:
    """What is in force, or the defaults and what is wrong with the settings."""
    try:
        return settings.here(), []
    except TreadleError as error:
        return Settings({}), [missing("treadle.toml", str(error), "mend the settings", required=True, code=error.code)]


def _default(in_force: Settings) -> tuple[Config, Protocol | None, list[Line]]:
    """The protocol of a run that names none, and the settings as they hold for it; or what is wrong with it."""
    name = in_force.config().protocol
    try:
        protocol = library.opened(name).protocol
    except TreadleError as error:
        fix = f"`treadle protocol check {word(name)}`, or set `protocol.default`"
        return (
            in_force.config(),
            None,
            [missing(f"protocol {name}", str(error).splitlines()[0], fix, required=True, code=error.code)],
        )
    return in_force.config(protocol.name), protocol, []


def report(lines: Sequence[Line]) -> Iterator[str]:
    """The lines for a person, and a word on the whole."""
    width = max(len(line.what) for line in lines if len(line.what) < 30)
    for line, after in zip_longest(lines, lines[1:]):
        yield f"{_state(line):<8}{line.what:<{width}}  {line.detail}"
        if (advice := _advice(line)) and (after is None or _advice(after) != advice):
            yield f"{'':<8}{'':<{width}}  → {advice}"
    fatal = [line.what for line in lines if line.is_fatal]
    rest = "; what is absent is optional." if any(_state(line) == "absent" for line in lines) else "."
    yield ""
    yield f"needed and missing: {', '.join(fatal)}" if fatal else f"Everything that is needed is there{rest}"


def _state(line: Line) -> str:
    """In a word; what nobody needs is not called missing."""
    return "absent" if line.state == "missing" and not line.required else line.state


def _advice(line: Line) -> str:
    """What to do about it; neighbours that share it are told once."""
    return line.fix if line.state != "ok" else ""
