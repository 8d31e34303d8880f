"""All agents, by the word before the colon. A new one is one file, one line here, and its name in `config.agents`."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from treadle.agents.acp import KNOWN, Acp, AcpRunner
from treadle.agents.claude import Claude, sandbox_works
from treadle.agents.codex import CODEX_SETTINGS, Codex
from treadle.agents.command import CommandRunner
from treadle.agents.manual import Manual
from treadle.agents.one_shot import OneShot
from treadle.agents.opencode import OPENCODE_SETTINGS, Opencode
from treadle.agents.program import Patience
from treadle.agents.replay import FolderRecording, Recording, Replay
from treadle.agents.script import load_script
from treadle.agents.scripted import Scripted
from treadle.config.agents import SPEAKING_ACP, parse_agent
from treadle.enclosures.port import OPEN, Enclosure
from treadle.errors import PortError, TreadleError
from treadle.ports import Runner
from treadle.protocol.findings import suggest


class AgentSetup(msgspec.Struct, frozen=True, kw_only=True):
    """The surroundings of a runner, beyond its own text."""

    root: Path
    """The root of the user's checkout: paths in the text of an agent are relative to it."""
    allowed: tuple[str, ...] = ()
    """Names of variables that agents may see."""
    patience: Patience = Patience()
    enclosure: Enclosure = OPEN
    """The enclosure for programs."""
    recording: Callable[[str], Recording] | None = None
    """Returns the recorded run with a name; without it, the name is a folder."""


Make = Callable[[str, AgentSetup], Runner]


def _command(text: str, around: AgentSetup) -> Runner:
    return CommandRunner.parse(
        text, root=around.root, allowed=around.allowed, patience=around.patience, enclosure=around.enclosure
    )


def _scripted(text: str, around: AgentSetup) -> Runner:
    """Make a scripted agent; without a box, because it writes its files in this process, outside any box."""
    script = load_script(around.root / text)
    enclosure = around.enclosure if around.enclosure.is_apart else OPEN
    return Scripted(script=script, allowed=around.allowed, patience=around.patience, enclosure=enclosure)


def _replay(text: str, around: AgentSetup) -> Runner:
    if around.recording:
        return Replay(recording=around.recording(text))
    folder = around.root / text
    if not folder.is_dir():
        siblings = [path.name for path in folder.parent.iterdir()] if folder.parent.is_dir() else []
        hint = suggest(folder.name, siblings) or "name a folder of recorded activities"
        raise TreadleError(f"there is no recording {folder} ({hint})", code="recording.missing")
    return Replay(recording=FolderRecording(folder))


def _claude(_text: str, around: AgentSetup) -> Runner:
    is_enclosed = around.enclosure != OPEN
    dialect = Claude(is_enclosed=is_enclosed, has_sandbox=not is_enclosed and sandbox_works())
    return OneShot(dialect=dialect, allowed=around.allowed, patience=around.patience, enclosure=around.enclosure)


def _codex(_text: str, around: AgentSetup) -> Runner:
    dialect = Codex(is_enclosed=around.enclosure != OPEN)
    return OneShot(dialect=dialect, allowed=around.allowed, patience=around.patience, enclosure=around.enclosure)


def _acp(text: str, around: AgentSetup) -> Runner:
    enclosure = around.enclosure
    dialect = Acp.parse(text, around.root, is_enclosed=enclosure != OPEN, is_apart=enclosure.is_apart)
    return AcpRunner(dialect=dialect, allowed=around.allowed, patience=around.patience, enclosure=enclosure)


def _acp_shorthand(command: str) -> Make:
    return lambda _, around: _acp(command, around)


RUNNERS: Final[dict[str, Make]] = {
    **{name: _acp_shorthand(command) for name, command in SPEAKING_ACP.items()},
    "acp": _acp,
    "claude": _claude,
    "codex": _codex,
    "command": _command,
    "manual": lambda _text, _around: Manual(),
    "replay": _replay,
    "scripted": _scripted,
}


def parse_runner(text: str, around: AgentSetup) -> Runner:
    """Return the runner for a text such as `command:./agent.py --fast`, or raise a `TreadleError` with the fault."""
    try:
        agent = parse_agent(text)
    except ValueError as error:
        raise TreadleError(str(error), code="agent.unknown") from None
    return RUNNERS[agent.kind](agent.argument, around)


def logins(home: Path) -> list[Path]:
    """Return the login files of all known agents below a home folder, and the settings that may contain a key."""
    known = [Claude().login, Codex().login, *(agent.login for agent in KNOWN.values())]
    names = [name for files in (*known, CODEX_SETTINGS, OPENCODE_SETTINGS) for name in files]
    return [home / name for name in dict.fromkeys(names)]


def key_variables() -> tuple[str, ...]:
    """Return the variables from which the user's agent settings read keys, under any name."""
    found: list[str] = []
    for agent in (Codex(), Opencode()):
        with suppress(PortError):  # unreadable settings are reported when the agent starts
            found += agent.secrets
    return tuple(found)
