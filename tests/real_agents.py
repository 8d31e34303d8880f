"""Starts real coding agents against the model server, where nothing but loopback can be reached.

`play` starts programs one after the other; `inside_apart` runs a function of a test in there, which may start them as
Treadle does.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from played_model.server import Exchange, ModelServer
from tools.agents.apart import KEY, PATIENCE, Inside, another, lacking, variables
from tools.agents.apart import inside_apart as run_apart
from tools.agents.install import FOLDER, program

__all__ = ["AGENTS", "KEY", "PATIENCE", "Ended", "Start", "another", "inside_apart", "play", "starting"]


class Start(msgspec.Struct, frozen=True):
    """How an agent is started; `{url}` in its words and variables is the server's address."""

    argv: list[str]
    env: dict[str, str]
    cwd: str


class Ended(msgspec.Struct, frozen=True):
    """How an agent ended, and what it asked the model."""

    code: int
    out: str
    err: str
    exchanges: list[Exchange]

    @property
    def turns(self) -> list[Exchange]:
        """Those that belong to a conversation with tools."""
        return [each for each in self.exchanges if each.wire and each.body.get("tools")]


def starting(agent: str, prompt: str, folder: Path) -> Start:
    """An agent that works in a folder of its own, with a home of its own and nothing of this environment."""
    where = program(FOLDER, agent)
    if not where.exists():
        pytest.skip(f"{agent} is not in {FOLDER}; run `make agents`")
    home, work = folder / "home", folder / "work"
    home.mkdir(parents=True)
    work.mkdir()
    subprocess.run(["git", "init", "-q", work], check=True)
    words, own = AGENTS[agent](prompt, home)
    env = {"PATH": f"{where.parent}:/usr/bin:/bin", "HOME": str(home), **own}
    return Start([str(where), *words], env, str(work))


def play(scripts: str, *starts: Start, folder: Path) -> list[Ended]:
    """Start agents one after the other, in a network that has only a loopback if there can be one."""
    (folder / "starts.json").write_bytes(msgspec.json.encode(starts))
    return msgspec.convert(run_apart(play_inside, folder, scripts, PATIENCE * len(starts)), type=list[Ended])


def play_inside(server: ModelServer, folder: Path) -> Any:
    """What happens in there."""
    found = []
    for start in msgspec.json.decode((folder / "starts.json").read_bytes(), type=list[Start]):
        before = len(server.exchanges)
        done = subprocess.run(
            [word.replace("{url}", server.url) for word in start.argv],
            env={name: value.replace("{url}", server.url) for name, value in start.env.items()},
            cwd=start.cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        found.append(Ended(done.returncode, done.stdout, done.stderr, server.exchanges[before:]))
    return msgspec.to_builtins(found)


def inside_apart(function: Inside, folder: Path, scripts: str, seconds: float = PATIENCE) -> Any:
    """What a function of a test's module returns that is called there; see `tools.agents.apart`."""
    if why := lacking():
        pytest.skip(why)
    return run_apart(function, folder, scripts, seconds)


def _own(*starts: str) -> dict[str, str]:
    """The variables of one agent."""
    return {name: value for name, value in variables("{url}").items() if name.startswith(starts)}


def _claude(prompt: str, _: Path) -> tuple[list[str], dict[str, str]]:
    words = ["-p", prompt, "--output-format", "stream-json", "--verbose", "--permission-mode", "acceptEdits"]
    words += ["--setting-sources", "", "--strict-mcp-config"]
    return words, _own("ANTHROPIC_", "CLAUDE_")


def _codex(prompt: str, _: Path) -> tuple[list[str], dict[str, str]]:
    settings: dict[str, Any] = {
        "model_provider": "played",
        "model_providers.played.name": "played",
        "model_providers.played.base_url": "{url}/v1",
        "model_providers.played.env_key": "PLAYED_KEY",
        "model_providers.played.wire_api": "responses",
        "model_providers.played.request_max_retries": 2,
        "features.plugins": False,
        "features.apps": False,
        "analytics.enabled": False,
    }
    words = ["exec", "--json", "-s", "workspace-write", "-m", "played-1", "--disable", "unbounded_connection_retries"]
    for name, value in settings.items():
        words += ["-c", f"{name}={json.dumps(value)}"]
    return [*words, prompt], {"PLAYED_KEY": KEY}


def _gemini(prompt: str, home: Path) -> tuple[list[str], dict[str, str]]:
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}}}
    (home / ".gemini").mkdir()
    (home / ".gemini" / "settings.json").write_text(json.dumps(settings))
    words = ["-p", prompt, "-o", "stream-json", "-m", "gemini-2.5-flash", "--approval-mode", "yolo"]
    return words, _own("GEMINI_", "GOOGLE_")


def _opencode(prompt: str, _: Path) -> tuple[list[str], dict[str, str]]:
    return ["run", "--format", "json", "-m", "played/played-1", prompt], _own("OPENCODE_")


AGENTS = {"claude": _claude, "codex": _codex, "gemini": _gemini, "opencode": _opencode}
