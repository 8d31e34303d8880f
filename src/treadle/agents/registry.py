"""The agents that there are, by the word before the colon; a new one is one file and one line here."""

import difflib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from treadle.agents.acp.dialect import Acp, AcpRunner
from treadle.agents.acp.known import KNOWN, OPENCODE_SETTINGS, Opencode
from treadle.agents.claude import Claude, sandbox_works
from treadle.agents.codex import CODEX_SETTINGS, Codex
from treadle.agents.command import Command
from treadle.agents.manual import Manual, Tell
from treadle.agents.one_shot import Dialect, OneShot
from treadle.agents.process import Patience
from treadle.agents.replay import FolderRecording, Recording, Replay
from treadle.agents.scripted import Scripted
from treadle.config.agents import SPEAKING_ACP, parse_agent
from treadle.enclosures.enclosure import OPEN, Enclosure
from treadle.errors import PortError, TreadleError
from treadle.ports import Runner


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What runners need to know besides their own text."""

    root: Path
    """The root of the user's checkout: paths in the text of an agent start here."""
    allowed: tuple[str, ...] = ()
    """Names of variables that agents may see."""
    patience: Patience = Patience()
    enclosure: Enclosure = OPEN
    """What programs run in."""
    tell: Tell | None = None
    """How to speak to the person who is a manual agent."""
    recording: Callable[[str], Recording] | None = None
    """The recorded run of a name; without it, the name is a folder."""


Make = Callable[[str, Surroundings], Runner]


def _command(text: str, around: Surroundings) -> Runner:
    return Command.parse(
        text, root=around.root, allowed=around.allowed, patience=around.patience, enclosure=around.enclosure
    )


def _manual(_text: str, around: Surroundings) -> Runner:
    return Manual(tell=around.tell) if around.tell else Manual()


def _scripted(text: str, around: Surroundings) -> Runner:
    """It writes its files in this process, out of any box; that its commands were in one would only mislead."""
    file = around.root / text
    enclosure = around.enclosure if around.enclosure.is_apart else OPEN
    return Scripted.load(file, allowed=around.allowed, patience=around.patience, enclosure=enclosure)


def _replay(text: str, around: Surroundings) -> Runner:
    if around.recording:
        return Replay(recording=around.recording(text))
    folder = around.root / text
    if not folder.is_dir():
        siblings = [path.name for path in folder.parent.iterdir()] if folder.parent.is_dir() else []
        near = difflib.get_close_matches(folder.name, siblings, n=1)
        hint = f"did you mean '{near[0]}'?" if near else "name a folder of recorded activities"
        raise TreadleError(f"there is no recording {folder} ({hint})", code="recording.missing")
    return Replay(recording=FolderRecording(folder))


def _claude(_text: str, around: Surroundings) -> Runner:
    is_enclosed = around.enclosure != OPEN
    return _one_shot(Claude(is_enclosed=is_enclosed, has_sandbox=not is_enclosed and sandbox_works()), around)


def _codex(_text: str, around: Surroundings) -> Runner:
    return _one_shot(Codex(is_enclosed=around.enclosure != OPEN), around)


def _acp(text: str, around: Surroundings) -> Runner:
    enclosure = around.enclosure
    dialect = Acp.parse(text, around.root, is_enclosed=enclosure != OPEN, is_apart=enclosure.is_apart)
    return AcpRunner(dialect=dialect, allowed=around.allowed, patience=around.patience, enclosure=enclosure)


def _short_form(command: str) -> Make:
    return lambda _, around: _acp(command, around)


def _one_shot(dialect: Dialect, around: Surroundings) -> Runner:
    return OneShot(dialect=dialect, allowed=around.allowed, patience=around.patience, enclosure=around.enclosure)


RUNNERS: Final[dict[str, Make]] = {
    **{name: _short_form(command) for name, command in SPEAKING_ACP.items()},
    "acp": _acp,
    "claude": _claude,
    "codex": _codex,
    "command": _command,
    "manual": _manual,
    "replay": _replay,
    "scripted": _scripted,
}


def runner_of(text: str, around: Surroundings) -> Runner:
    """The runner that a text such as `command:./agent.py --fast` names; a `TreadleError` says what is wrong with it."""
    try:
        agent = parse_agent(text)
    except ValueError as error:
        raise TreadleError(str(error), code="agent.unknown") from None
    return RUNNERS[agent.kind](agent.argument, around)


def logins(home: Path) -> list[Path]:
    """Where the agents that are known keep their logins below a home folder, and settings that may hold a key."""
    lent = (
        Claude().login,
        Codex().login,
        *(known.login for known in KNOWN.values()),
        CODEX_SETTINGS,
        OPENCODE_SETTINGS,
    )
    return [home / name for name in dict.fromkeys(name for names in lent for name in names)]


def key_variables() -> tuple[str, ...]:
    """The variables that the user's settings of agents take keys from, whatever they are called."""
    found: list[str] = []
    for agent in (Codex(), Opencode()):
        with suppress(PortError):  # settings that cannot be read are told when the agent starts
            found += agent.secrets
    return tuple(found)
