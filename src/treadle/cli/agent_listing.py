"""The agents that are known by name: whether they are here, what they can do, where their login is."""

import asyncio
import os
import re
import tempfile
from pathlib import Path
from typing import Final, Literal

import msgspec

from treadle.agents.one_shot import OneShot
from treadle.agents.registry import Surroundings, runner_of
from treadle.cli.output import harmless, print_table, say
from treadle.cli.programs import ask, plain_environment
from treadle.config.agents import PROGRAMS, Program, find_agent
from treadle.enclosures.box import Box, find_box
from treadle.ports import Runner

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
    """Where a key or a login was found: a variable or a file, never what it holds. Empty: nowhere."""
    resume: bool
    fork: bool
    tools: Literal["http", "stdio"]
    keeps: tuple[str, ...]
    """What its program itself keeps a role from that may not do it; of the rest, a role is only told."""
    install: str


class KnownAgents(msgspec.Struct, frozen=True, kw_only=True):
    """`treadle agents --json`."""

    schema: Literal[1] = 1
    agents: tuple[KnownAgent, ...]
    box: str
    """What keeps an agent to the files that it may write; empty: only its own sandbox, and the check on the diff."""


async def listed() -> KnownAgents:
    """All of them, asked at once."""
    with tempfile.TemporaryDirectory(prefix="treadle-agents-") as home:
        found = await asyncio.gather(*(_listed(program, Path(home)) for program in PROGRAMS))
    box = await find_box()
    return KnownAgents(agents=tuple(found), box=box.name if isinstance(box, Box) else "")


async def _listed(program: Program, home: Path) -> KnownAgent:
    there = find_agent(program.name)
    runner = runner_of(program.name, Surroundings(root=home))
    return KnownAgent(
        name=program.name,
        path=there.path if there else "",
        origin=there.origin if there else "",
        version=await version_of(program, home),
        login=login_of(runner),
        resume=runner.abilities.resume,
        fork=runner.abilities.fork,
        tools=runner.abilities.mcp,
        keeps=runner.abilities.holds,
        install=program.install,
    )


async def version_of(program: Program, home: Path) -> str:
    """As the program tells it, with another home and none of the user's keys; empty if it does not."""
    there = find_agent(program.name)
    env = plain_environment() | {"HOME": str(home)} | program.env
    said = await ask([*there.words, "--version"], env=env, cwd=home) if there else None
    return version_in(said.text) if said and said.is_well else ""


def version_in(text: str) -> str:
    """The line that tells a version; programs may complain before it."""
    lines = [line.strip() for line in text.splitlines() if _NUMBER.search(line)]
    return "".join(char for char in lines[-1] if char.isprintable())[:60] if lines else ""


def login_of(runner: Runner) -> str:
    """A variable that is set, or a file that is there; what they hold is not looked at."""
    if not isinstance(runner, OneShot):
        return ""
    keys = [name for name in runner.dialect.keys if name in os.environ and name.endswith(("_KEY", "_TOKEN"))]
    files = [f"~/{name}" for name in runner.dialect.login if (Path.home() / name).is_file()]
    others = [name for name in runner.dialect.otherwise if os.environ.get(name)]
    return next(iter([*keys, *files, *others]), "")


def _version(one: KnownAgent) -> str:
    if not one.path:
        return f"not installed: {one.install}"
    said = harmless(one.version) or "here"
    return f"{said}, by `make agents`" if one.origin == "make agents" else said


def print_listing(found: KnownAgents) -> None:
    """A table, and what to do next."""
    rows = [
        (
            one.name,
            _version(one),
            one.login or "none found",
            "resume, fork" if one.fork else "resume" if one.resume else "new only",
            ", ".join(_KEPT[perm] for perm in one.keeps) or "nothing",
        )
        for one in found.agents
    ]
    print_table(("Agent", "Version", "Login", "Conversations", "Keeps roles from"), rows)
    say(f"box of agents: {found.box or 'none; `treadle doctor` says how to get one'}")
    here = [one for one in found.agents if one.path]
    if here:
        say(f"`treadle agents try {here[0].name}` tries one with its service, `--played` without a key")
    say("any other program works as `command:PROGRAM ARGS`, or as `acp:PROGRAM ARGS` if it speaks ACP")
