"""How settings name an agent: `claude`, `manual`, `command:PROGRAM ARGS`; and the programs that are known by name."""

import os
import shlex
import shutil
from pathlib import Path
from typing import Final, Literal

import msgspec

from treadle.protocol.findings import suggest


class KnownProgram(msgspec.Struct, frozen=True):
    """A coding agent that people install: the program's name, and how to get it."""

    name: str
    install: str
    env: dict[str, str] = {}
    """Environment variables for `--version`, such as those that keep the program from restarting itself."""


PROGRAMS: Final = (
    KnownProgram("claude", "npm install -g @anthropic-ai/claude-code"),
    KnownProgram("codex", "npm install -g @openai/codex"),
    KnownProgram("gemini", "npm install -g @google/gemini-cli", {"GEMINI_CLI_NO_RELAUNCH": "true"}),
    KnownProgram("opencode", "npm install -g opencode-ai"),
    KnownProgram("goose", "see https://block.github.io/goose/"),
)

BARE: Final = (*(program.name for program in PROGRAMS), "manual")
"""Agents that are named by one word."""
WITH_ARGUMENT: Final = {"command": "PROGRAM ARGS", "acp": "PROGRAM ARGS", "scripted": "FILE", "replay": "RUN"}
"""Agents named as `KIND:ARGUMENT`; the value shows the argument: a program to start, or a file or run to read."""
SPEAKING_ACP: Final = {"gemini": "gemini --acp", "opencode": "opencode acp", "goose": "goose acp"}
"""The programs that are driven by the Agent Client Protocol: `gemini` is short for `acp:gemini --acp`."""
STARTED: Final = ("command", "acp")
"""Those of them that start a program of the user's."""


_INSTALLED: Final = ("claude", "codex", "gemini", "opencode", "claude-agent-acp", "codex-acp")
"""The programs that `make agents` installs in the user's cache."""
_FOLDER_VARIABLE: Final = "TREADLE_AGENTS"
"""Names another folder with such programs."""


class AgentProgram(msgspec.Struct, frozen=True):
    """The program of an agent on this machine."""

    path: str
    words: tuple[str, ...]
    """The command that starts it: the path alone, or a node interpreter and the path."""
    origin: Literal["PATH", "make agents"]


def find_agent(name: str, path: str | None = None) -> AgentProgram | None:
    """Return the program of an agent: in the folders of a PATH (by default ours), else where `make agents` puts it."""
    if program := shutil.which(name, path=path):
        return AgentProgram(program, (program,), "PATH")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = Path(os.environ.get(_FOLDER_VARIABLE) or cache / "treadle" / "agents" / "node_modules" / ".bin")
    if name not in _INSTALLED or not folder.is_absolute() or not (program := shutil.which(name, path=str(folder))):
        return None
    # Its scripts begin with `env node`, which would be any node, or none; the one beside them is theirs.
    node = folder / "node"
    with Path(program).open("rb") as file:
        is_script = file.read(64).startswith(b"#!/usr/bin/env node")
    return AgentProgram(program, (str(node), program) if is_script and node.exists() else (program,), "make agents")


class Agent(msgspec.Struct, frozen=True):
    """An agent as the settings name it."""

    kind: str
    argument: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """The argument split into a program and its arguments."""
        return tuple(shlex.split(self.argument))

    def __str__(self) -> str:
        return f"{self.kind}:{self.argument}" if self.argument else self.kind


def parse_agent(text: str) -> Agent:
    """Parse the name of an agent; raise `ValueError` with the mistake if it names none."""
    kind, colon, argument = text.strip().partition(":")
    argument = argument.strip()
    if kind in BARE:
        if colon:
            raise ValueError(f"'{kind}' takes nothing after it; write `{kind}`, or `command:PROGRAM ARGS`")
        return Agent(kind)
    if kind in WITH_ARGUMENT:
        if not argument:
            raise ValueError(f"'{kind}' needs more: write `{kind}:{WITH_ARGUMENT[kind]}`")
        return Agent(kind, argument)
    known = [name if name in BARE else f"{name}:…" for name in (*BARE, *WITH_ARGUMENT)]
    hint = suggest(kind, (*BARE, *WITH_ARGUMENT)) or f"agents are {', '.join(known)}"
    raise ValueError(f"there is no agent '{kind[:40]}' ({hint})")
