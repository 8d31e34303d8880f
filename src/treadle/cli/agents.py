"""`treadle agents`: list the known agents, and try one in a scratch repository.

Also the lines of `treadle doctor` about agents: which programs are installed, and whether the agents named in the
settings are among them.
"""

import asyncio
import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
import typer

from treadle.agents.one_shot import OneShot
from treadle.agents.registry import AgentSetup, parse_runner
from treadle.cli.checkup import Line, missing, ok, warn
from treadle.cli.options import JsonOption
from treadle.cli.output import harmless, print_json, print_table, print_text
from treadle.cli.programs import ProgramAnswer, ask_program, find_program, plain_environment
from treadle.config.agents import PROGRAMS, STARTED, KnownProgram, find_agent, parse_agent
from treadle.config.model import Config
from treadle.config.project import Project
from treadle.config.settings import EffectiveSettings, SettingSource
from treadle.enclosures.box import BubblewrapBox, find_box
from treadle.enclosures.selection import CONTAINER
from treadle.engines.limits import find_ineffective_limits
from treadle.ports import Runner
from treadle.protocol.model import Limits, Protocol

app = typer.Typer(pretty_exceptions_enable=False)


@app.callback(invoke_without_command=True)
def agents(
    context: typer.Context,
    as_json: JsonOption = False,
) -> None:
    """List the known agents: which are installed, what each can do, and where its login is."""
    if context.invoked_subcommand:
        return
    found = asyncio.run(list_agents())
    if as_json:
        print_json(found)
    else:
        print_listing(found)


@app.command("try")
def try_(
    name: Annotated[str, typer.Argument(help="The agent, named as in the settings: claude, codex, acp:PROGRAM ARGS …")],
    played: Annotated[
        bool,
        typer.Option(
            "--played", help="Use a scripted model on this machine: no key, no cost; only the agent's program is real."
        ),
    ] = False,
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", help="Stop the agent after this many seconds.", min=1)
    ] = 240,
    as_json: JsonOption = False,
) -> None:
    """Try an agent on four short steps in a scratch repository. Without --played, the agent uses its paid service.

    Exit code 0: the agent works; 1: it does not.
    """
    from treadle.cli.agent_trial import print_trial, try_agent

    found = try_agent(name, played=played, quiet=as_json, patience=timeout)
    if as_json:
        print_json(found)
    else:
        print_trial(found)
    raise typer.Exit(0 if found.works else 1)


# The known agents: whether each is installed, its abilities, and where its login is.

_KEPT: Final = {"run_commands": "commands", "modify": "changes", "web": "the web"}
_NUMBER: Final = re.compile(r"\b\d+\.\d+")


class KnownAgent(msgspec.Struct, frozen=True, kw_only=True):
    """An agent, as far as can be seen without starting it."""

    name: str
    path: str
    """Empty: it is not installed."""
    origin: Literal["", "PATH", "make agents"] = ""
    """Where it was found: on the PATH, or in the user's cache, where `make agents` installs it."""
    version: str
    login: str
    """The variable or file where a key or login was found, never its content. Empty: none found."""
    resume: bool
    fork: bool
    tools: Literal["http", "stdio"]
    keeps: tuple[str, ...]
    """The actions that its program itself blocks for a role without permission; other limits are only instructions."""
    install: str


class KnownAgents(msgspec.Struct, frozen=True, kw_only=True):
    """`treadle agents --json`."""

    schema: Literal[1] = 1
    agents: tuple[KnownAgent, ...]
    box: str
    """The box that confines an agent's writes; empty: only its own sandbox and the check on the diff do."""


async def list_agents() -> KnownAgents:
    """Describe all known agents; ask their programs concurrently."""
    with tempfile.TemporaryDirectory(prefix="treadle-agents-") as home:
        found = await asyncio.gather(*(_describe_agent(program, Path(home)) for program in PROGRAMS))
    box = await find_box()
    return KnownAgents(agents=tuple(found), box=box.name if isinstance(box, BubblewrapBox) else "")


async def _describe_agent(program: KnownProgram, home: Path) -> KnownAgent:
    there = find_agent(program.name)
    runner = parse_runner(program.name, AgentSetup(root=home))
    return KnownAgent(
        name=program.name,
        path=there.path if there else "",
        origin=there.origin if there else "",
        version=await ask_version(program, home),
        login=find_login(runner),
        resume=runner.abilities.resume,
        fork=runner.abilities.fork,
        tools=runner.abilities.mcp,
        keeps=runner.abilities.holds,
        install=program.install,
    )


async def ask_version(program: KnownProgram, home: Path) -> str:
    """Ask a program for its version, with an empty home and none of the user's keys; empty if it fails."""
    there = find_agent(program.name)
    answer = await _ask_version(program, there.words, home) if there else None
    return find_version_line(answer.text) if answer and answer.is_well else ""


async def _ask_version(program: KnownProgram, words: Sequence[str], home: Path) -> ProgramAnswer:
    env = plain_environment() | {"HOME": str(home)} | program.env
    return await ask_program([*words, "--version"], env=env, cwd=home)


def find_version_line(text: str) -> str:
    """Return the last line with a version number; programs may print warnings before it."""
    lines = [line.strip() for line in text.splitlines() if _NUMBER.search(line)]
    return "".join(char for char in lines[-1] if char.isprintable())[:60] if lines else ""


def find_login(runner: Runner) -> str:
    """Return the first variable that is set or login file that exists; their contents are not read."""
    if not isinstance(runner, OneShot):
        return ""
    keys = [name for name in runner.dialect.keys if name in os.environ and name.endswith(("_KEY", "_TOKEN"))]
    files = [f"~/{name}" for name in runner.dialect.login if (Path.home() / name).is_file()]
    others = [name for name in runner.dialect.otherwise if os.environ.get(name)]
    return next(iter([*keys, *files, *others]), "")


def print_listing(found: KnownAgents) -> None:
    """Print the table of agents, and the next steps."""
    rows: list[tuple[str, ...]] = []
    for one in found.agents:
        version = (harmless(one.version) or "here") if one.path else f"not installed: {one.install}"
        by = ", by `make agents`" if one.origin == "make agents" else ""
        conversations = "resume, fork" if one.fork else "resume" if one.resume else "new only"
        kept = ", ".join(_KEPT[perm] for perm in one.keeps) or "nothing"
        rows.append((one.name, f"{version}{by}", one.login or "none found", conversations, kept))
    print_table(("Agent", "Version", "Login", "Conversations", "Keeps roles from"), rows)
    print_text(f"box of agents: {found.box or 'none; `treadle doctor` explains how to get one'}")
    here = [one for one in found.agents if one.path]
    if here:
        print_text(f"`treadle agents try {here[0].name}` tries one with its service, `--played` without a key")
    print_text("any other program works as `command:PROGRAM ARGS`, or as `acp:PROGRAM ARGS` if it speaks ACP")


# Doctor's lines about agents: which are installed, and whether the configured ones are among them.

INSTEAD: Final = (
    "set `agents.default` to `command:PROGRAM ARGS`, or do the agents' work yourself: `treadle run --level 0`"
)
_LOG_IN: Final = (
    "log in with `{0}`, or set its key where you start runs; `treadle agents try {0}` shows whether it works"
)
_OWN: Final = {program.name for program in PROGRAMS} | {"acp"}


async def agent_lines(settings: EffectiveSettings, project: Project | None) -> list[Line]:
    """Check every known agent, then the user's own programs that the settings name."""
    chosen = {it.value: it for it in settings.in_force() if it.key.startswith("agents.") and isinstance(it.value, str)}
    named = {parse_agent(str(value)).kind for value, it in chosen.items() if it.source is not SettingSource.DEFAULT}
    with tempfile.TemporaryDirectory(prefix="treadle-doctor-") as home:
        lines = await asyncio.gather(*(_known_line(it, Path(home), required=it.name in named) for it in PROGRAMS))
    is_inside = settings.config().workspace.driver == CONTAINER
    own = [
        _own_line(value, project, is_inside=is_inside)
        for value in map(str, chosen)
        if parse_agent(value).kind in STARTED
    ]
    if not own and not any(line.state == "ok" for line in lines):
        own = [warn("any agent", "no known agent is installed", INSTEAD, code="agent.missing")]
    return [*lines, *own]


async def _known_line(program: KnownProgram, home: Path, *, required: bool) -> Line:
    """Check one agent: ask for its version, with an empty home and none of the user's keys."""
    what = f"agent {program.name}"
    there = find_agent(program.name)
    if there is None:
        detail = "not found, but the settings name it" if required else "not found"
        return missing(what, detail, program.install, code="agent.missing", required=required)
    answer = await _ask_version(program, there.words, home)
    if not answer.is_well or not answer.first_line:
        why = answer.first_line or f"exit code {answer.code}"
        detail = f"{there.path} does not print its version: {why}"
        return warn(what, detail, f"try `{program.name} --version`", code="agent.unusable")
    place = f"{there.path}, by `make agents`" if there.origin == "make agents" else there.path
    detail = f"{find_version_line(answer.text) or answer.first_line} ({place})"
    if required and not find_login(parse_runner(program.name, AgentSetup(root=home))):
        return warn(what, f"{detail}, no login or key found", _LOG_IN.format(program.name), code="agent.login")
    return ok(what, detail)


def _own_line(value: str, project: Project | None, *, is_inside: bool) -> Line:
    """Check a program of the user's own: look for it, do not start it."""
    agent = parse_agent(value)
    name = agent.words[0]
    if is_inside and ("/" not in name or name.startswith("/")):
        return ok(f"agent {value}", f"{name}, in the image")
    there = find_agent(name) if "/" not in name and agent.kind == "acp" else None
    path = there.path if there else find_program(name, project.root if project else None)
    if path is None:
        fix = "correct `agents` in treadle.toml"
        return missing(f"agent {value}", f"the program '{name}' was not found", fix, code="agent.missing")
    return ok(f"agent {value}", path)


def own_sandboxes(settings: EffectiveSettings) -> str:
    """List the built-in sandboxes of the agents in the settings, for the case that there is no box."""
    named = dict.fromkeys(str(it.value) for it in settings.in_force() if it.key.startswith("agents."))
    runners = {name: parse_runner(name, AgentSetup(root=Path())) for name in named if parse_agent(name).kind in _OWN}
    kept = [(name, runner.dialect.sandbox) for name, runner in runners.items() if isinstance(runner, OneShot)]
    return ", ".join(f"{name} has {sandbox}" for name, sandbox in kept if sandbox)


def limit_lines(config: Config, protocol: Protocol | None) -> list[Line]:
    """Report which limits cannot measure the usage of the configured agents, and which can."""
    roles = protocol.roles if protocol else ()
    named = dict.fromkeys((config.agent_of(role) for role in roles) if roles else config.agents.values())
    able = {
        name: parse_runner(name, AgentSetup(root=Path())).abilities
        for name in named
        if parse_agent(name).kind in {*_OWN, "command"}
    }
    found = find_ineffective_limits(config, protocol.limits if protocol else Limits(), able)
    return [
        warn("limits", it.words, it.advice, code="doctor.blind_limit") if it.advice else ok("limits", it.words)
        for it in found
    ]
