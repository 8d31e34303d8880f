"""The agents: which are installed, and whether those that the settings name are."""

import asyncio
import tempfile
from pathlib import Path
from typing import Final

from treadle.agents.one_shot import OneShot
from treadle.agents.registry import Surroundings, runner_of
from treadle.cli.agent_listing import login_of, version_in
from treadle.cli.health.line import Line, missing, ok, warn
from treadle.cli.programs import ask, find_program, plain_environment
from treadle.config.agents import PROGRAMS, STARTED, Program, find_agent, parse_agent
from treadle.config.model import Config
from treadle.config.project import Project
from treadle.config.settings import Settings, Source
from treadle.enclosures.opening import CONTAINER
from treadle.engines.unpriced import blind_limits
from treadle.protocol.model import Limits, Protocol

INSTEAD: Final = "set `agents.default` to `command:PROGRAM ARGS`, or be the agent yourself: `treadle run --level 0`"
_LOG_IN: Final = (
    "log in with `{0}`, or set its key where runs are driven; `treadle agents try {0}` shows whether it works"
)
_OWN: Final = {program.name for program in PROGRAMS} | {"acp"}


async def agent_lines(settings: Settings, project: Project | None) -> list[Line]:
    """Every agent that is known by name, then those that the settings name and that are not among them."""
    chosen = {it.value: it for it in settings.in_force() if it.key.startswith("agents.") and isinstance(it.value, str)}
    said = {parse_agent(str(value)).kind for value, it in chosen.items() if it.source is not Source.DEFAULT}
    with tempfile.TemporaryDirectory(prefix="treadle-doctor-") as home:
        lines = await asyncio.gather(*(_program(it, home, required=it.name in said) for it in PROGRAMS))
    is_inside = settings.config().workspace.driver == CONTAINER
    own = [
        _own(str(value), project, is_inside=is_inside) for value in chosen if parse_agent(str(value)).kind in STARTED
    ]
    if not own and not any(line.state == "ok" for line in lines):
        own = [warn("any agent", "there is none that Treadle drives", INSTEAD, code="agent.missing")]
    return [*lines, *own]


async def _program(program: Program, home: str, *, required: bool) -> Line:
    """One agent's version, told with an empty home and none of the user's keys."""
    what = f"agent {program.name}"
    there = find_agent(program.name)
    if there is None:
        named = ", but the settings name it" if required else ""
        return missing(what, f"not found{named}", program.install, required=required, code="agent.missing")
    env = plain_environment() | {"HOME": home} | program.env
    said = await ask([*there.words, "--version"], env=env, cwd=Path(home))
    if not said.is_well or not said.first_line:
        return warn(
            what,
            f"{there.path} does not tell its version: {said.first_line or f'exit code {said.code}'}",
            f"try `{program.name} --version`",
            code="agent.unusable",
        )
    place = f"{there.path}, by `make agents`" if there.origin == "make agents" else there.path
    told = f"{version_in(said.text) or said.first_line} ({place})"
    if required and not login_of(runner_of(program.name, Surroundings(root=Path(home)))):
        return warn(what, f"{told}, no login or key is found", _LOG_IN.format(program.name), code="agent.login")
    return ok(what, told)


def own_sandboxes(settings: Settings) -> str:
    """What keeps the agents that the settings name to their files, of their own, where no box does."""
    named = dict.fromkeys(str(it.value) for it in settings.in_force() if it.key.startswith("agents."))
    runners = {name: runner_of(name, Surroundings(root=Path())) for name in named if parse_agent(name).kind in _OWN}
    kept = [(name, runner.dialect.sandbox) for name, runner in runners.items() if isinstance(runner, OneShot)]
    return ", ".join(f"{name} has {sandbox}" for name, sandbox in kept if sandbox)


def limit_lines(config: Config, protocol: Protocol | None) -> list[Line]:
    """Which limits do not see what the agents of the settings use, and which do."""
    roles = protocol.roles if protocol else ()
    named = dict.fromkeys((config.agent_of(role) for role in roles) if roles else config.agents.values())
    able = {
        name: runner_of(name, Surroundings(root=Path())).abilities
        for name in named
        if parse_agent(name).kind in {*_OWN, "command"}
    }
    found = blind_limits(config, protocol.limits if protocol else Limits(), able)
    return [
        warn("limits", it.words, it.advice, code="doctor.blind_limit") if it.advice else ok("limits", it.words)
        for it in found
    ]


def _own(value: str, project: Project | None, *, is_inside: bool) -> Line:
    """A program of the user's own; it is looked for, and not started."""
    name = parse_agent(value).words[0]
    if is_inside and ("/" not in name or name.startswith("/")):
        return ok(f"agent {value}", f"{name}, in the image")
    there = find_agent(name) if "/" not in name and parse_agent(value).kind == "acp" else None
    path = there.path if there else find_program(name, project.root if project else None)
    if path is None:
        return missing(
            f"agent {value}",
            f"there is no program '{name}'",
            "mend `agents` in treadle.toml",
            required=True,
            code="agent.missing",
        )
    return ok(f"agent {value}", path)
