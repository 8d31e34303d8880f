"""`claude`: Claude Code, started once for each activity as `claude -p`, which tells a stream of JSON."""

import functools
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import msgspec

from treadle.agents.claude_stream import TOOL, ClaudeReader
from treadle.ports import Abilities, Work
from treadle.protocol.model import HELD, Perm
from treadle.results import executor_result, handoff
from treadle.results.mcp_tool import EMIT, SERVER

_FOLDER: Final = ".claude"
_SYSTEM: Final = (
    "You work on one step of a larger plan, without anybody who could answer questions. The prompt says who you are in "
    "it, what to do, and which files you may change; what you claim is checked. Leave your changes uncommitted. "
    f"When you are done, call the tool {TOOL}{EMIT} once: nothing else ends the step. If it refuses your answer, "
    "correct the answer and call it again."
)
"""The same for everybody: a conversation keeps the one that it began with, whoever goes on with it."""
_UNUSED: Final = (
    *("AskUserQuestion", "CronCreate", "CronDelete", "CronList", "DesignSync", "EnterPlanMode", "EnterWorktree"),
    *("ExitPlanMode", "ExitWorktree", "ListAgents", "ScheduleWakeup", "SendMessage"),
)
"""Tools that lead out of the lane, to other agents, to a person, or beyond the end of the step."""
_TOOLS: Final[dict[Perm, tuple[str, ...]]] = {
    "run_commands": ("Bash", "Monitor"),
    "modify": ("Edit", "NotebookEdit", "Write"),
    "web": ("WebFetch", "WebSearch"),
}
"""The tools that a role has only if it may: others are refused them, in a box too."""
_ASKED: Final[tuple[Perm, ...]] = ("run_commands", "web")
"""What it would ask about; for changes there are rules of their own."""
_RETRIES: Final = "2"
"""How often it asks a service again by itself. More is not its business: the run waits, and costs no attempt."""
_NETWORK: Final = (
    "NODE_EXTRA_CA_CERTS",
    *(name for upper in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY") for name in (upper, upper.lower())),
)
_KEYS: Final = (
    *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS"),
    *("CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_MODEL", "ANTHROPIC_DEFAULT_*"),
)
_CLOUDS: Final = {
    "CLAUDE_CODE_USE_BEDROCK": ("AWS_*", "ANTHROPIC_BEDROCK_*"),
    "CLAUDE_CODE_USE_VERTEX": (
        "GOOGLE_*",
        "GCLOUD_PROJECT",
        "CLOUD_ML_REGION",
        "ANTHROPIC_VERTEX_*",
        "VERTEX_REGION_*",
    ),
    "CLAUDE_CODE_USE_FOUNDRY": ("ANTHROPIC_FOUNDRY_*", "AZURE_*"),
}
"""Other services that offer the model: their variables are handed on only if one is in use."""
_NAME: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_PLAIN: Final = re.compile(r"[\w./*@+-]+")
"""A glob that means the same in a rule of its permissions."""
_ANSWERS: Final = (executor_result.FILE, handoff.FILES[0])
_TRIAL: Final = "--ro-bind / / --dev /dev --proc /proc --unshare-net --unshare-pid true".split()


class Claude(msgspec.Struct, frozen=True, kw_only=True):
    """How Claude Code is started, and how it tells what it does."""

    is_enclosed: bool = False
    """Whether something else keeps it to what it may write; then it need not ask."""
    has_sandbox: bool = False
    """Whether its own sandbox for commands works here; used only where nothing else encloses it."""
    program: str = "claude"
    abilities: Abilities = Abilities(resume=True, fork=True, survives=True, mcp="http", tells="prices", holds=HELD)
    login: tuple[str, ...] = (f"{_FOLDER}/.credentials.json",)
    """Not `.claude.json`: what an agent may write there, the user's own programs would start."""
    otherwise: tuple[str, ...] = tuple(_CLOUDS)
    cumulative: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """Its variables; those of a cloud only if that is in use."""
        used = [name for name in _CLOUDS if os.environ.get(name)]
        return (*_KEYS, *_NETWORK, *used, *(name for cloud in used for name in _CLOUDS[cloud]))

    @property
    def sandbox(self) -> str:
        """Its sandbox is for commands; its rules are for its file tools, and hold in any case."""
        return "" if self.is_enclosed else "its own sandbox" if self.has_sandbox else "its own rules"

    def prepare(self, work: Work, home: Path) -> None:
        """Nothing: all that it has to know is said on its command line."""

    def argv(self, work: Work, home: Path, session: str) -> list[str]:
        """Everything each time: a conversation that goes on keeps its words, not its permissions or its model."""
        words = ["-p", "--output-format", "stream-json", "--verbose", "--append-system-prompt", _SYSTEM]
        refused = (*_UNUSED, *(tool for perm, tools in _TOOLS.items() if not work.may(perm) for tool in tools))
        words += ["--setting-sources", "", "--strict-mcp-config", "--disallowedTools", ",".join(refused)]
        words += self._permissions(work)
        if (servers := work.bundle.absolute() / "mcp.json").exists():
            words += ["--mcp-config", str(servers)]
        if work.model:
            words += ["--model", work.model]
        if work.turns:
            words += ["--max-turns", str(work.turns)]
        if _is_kept(home, session):
            words += ["--resume", session, *(["--fork-session"] if work.fork else [])]
        return words

    def env(self, work: Work, home: Path) -> dict[str, str]:  # noqa: ARG002
        """Where its files are, whatever HOME an image has; no search for tools, no updates, no long waits."""
        own = {
            "CLAUDE_CONFIG_DIR": str(home / _FOLDER),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": _RETRIES,
            "DISABLE_AUTOUPDATER": "1",
            "ENABLE_TOOL_SEARCH": "false",
        }
        return own | ({"IS_SANDBOX": "1"} if self.is_enclosed else {})

    def reader(self) -> ClaudeReader:
        return ClaudeReader()

    def _permissions(self, work: Work) -> list[str]:
        """Nobody answers questions, so what is not allowed is refused."""
        if self.is_enclosed:
            return ["--permission-mode", "bypassPermissions"]
        allowed = [tool for perm in _ASKED if work.may(perm) for tool in _TOOLS[perm]]
        allowed += [f"mcp__{SERVER}", f"Read(/{work.bundle.absolute()}/**)"]
        mode = "acceptEdits"
        if not work.may("modify"):
            mode = "dontAsk"
        elif work.writes is not None and all(map(_PLAIN.fullmatch, work.writes)):
            mode, allowed = "dontAsk", [*allowed, *(f"Edit(/{glob})" for glob in (*work.writes, *_ANSWERS))]
        words = ["--permission-mode", mode, "--allowedTools", *allowed]
        return [*words, "--settings", json.dumps({"sandbox": _sandbox(work)})] if self.has_sandbox else words


def _is_kept(home: Path, session: str) -> bool:
    """Whether there is such a conversation; who asks for another one begins anew, with a prompt that says all."""
    return bool(_NAME.fullmatch(session)) and any((home / _FOLDER / "projects").glob(f"*/{session}.jsonl"))


def _sandbox(work: Work) -> dict[str, Any]:
    """Commands write to the lane and hand in answers; a sandbox that fails is an error, not a gap."""
    files = {"allowWrite": [str(work.out.absolute())]}
    return {"enabled": True, "failIfUnavailable": True, "allowUnsandboxedCommands": False, "filesystem": files}


@functools.cache
def sandbox_works() -> bool:
    """Whether its own sandbox for commands can be had on this machine."""
    program = shutil.which("bwrap")
    if not program or not shutil.which("socat"):
        return False
    try:
        return subprocess.run([program, *_TRIAL], capture_output=True, timeout=10, check=False).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False
