"""Starts real coding agents against the model server, where nothing but loopback can be reached.

`play` starts programs one after the other; `inside_apart` runs a function of a test in there, which may start them as
Treadle does. `python -m tests.real_agents JOB` is what runs inside: the server, and the programs or the function.
"""

import asyncio
import functools
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tools.agents.install import FOLDER, program
from tools.box.install import FOLDER as BOX
from treadle.testing.model_server.exchange import Exchange
from treadle.testing.model_server.script_reading import read_scripts
from treadle.testing.model_server.server import ModelServer
from treadle.toolchains.sandbox import Sandbox, candidates, minding, works

ROOT = Path(__file__).parents[1]
KEY = "sk-fake-key"
PATIENCE = 180


class Start(msgspec.Struct, frozen=True):
    """How an agent is started; `{url}` in its words and variables is the server's address."""

    argv: list[str]
    env: dict[str, str]
    cwd: str


class Job(msgspec.Struct, frozen=True):
    """What is to happen inside."""

    scripts: str
    starts: list[Start] = []
    function: str = ""
    """In place of programs: a function, by module and name."""
    folder: str = ""


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
    words, variables = AGENTS[agent](prompt, home)
    env = {"PATH": f"{where.parent}:/usr/bin:/bin", "HOME": str(home), **variables}
    return Start([str(where), *words], env, str(work))


def play(scripts: str, *starts: Start, folder: Path) -> list[Ended]:
    """Start agents one after the other, in a network that has only a loopback if there can be one."""
    done = _run_apart(Job(scripts, list(starts)), folder, None, PATIENCE * len(starts))
    assert done.stdout, done.stderr.decode()
    return msgspec.json.decode(done.stdout, type=list[Ended])


def inside_apart(function: "Inside", folder: Path, scripts: str) -> Any:
    """What a function of a test's module returns, as JSON has it, that is called in such a network by another process.

    It gets the server and the folder, and may assert. Its environment has the agents' programs on PATH, a HOME in the
    folder, a fake key and the address of the server where each agent looks for them, and nothing of ours.
    """
    where = program(FOLDER, "claude").parent
    if not where.exists():
        pytest.skip(f"there are no agents in {FOLDER}; run `make agents`")
    home, answer = folder / "user", folder / "answer.json"
    home.mkdir(parents=True)
    env = {"PATH": f"{where}:{BOX}:/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8"}
    job = Job(scripts, function=named(function), folder=str(folder))
    done = _run_apart(job, folder, env, PATIENCE)
    assert answer.exists(), (done.stdout + done.stderr).decode()
    return json.loads(answer.read_bytes())


def another(function: Callable[[Path], None], folder: Path) -> "subprocess.Popen[bytes]":
    """A function of a test's module in one more process, in the same surroundings: one that can be killed."""
    code = f"import {function.__module__} as module; from pathlib import Path; import sys; "
    code += f"module.{function.__name__}(Path(sys.argv[1]))"
    return subprocess.Popen([sys.executable, "-c", code, str(folder)], cwd=ROOT, stdout=subprocess.PIPE)


def _run_apart(
    job: Job, folder: Path, env: dict[str, str] | None, seconds: float
) -> "subprocess.CompletedProcess[bytes]":
    told = folder / "job.json"
    told.write_bytes(msgspec.json.encode(job))
    command = [sys.executable, "-m", "tests.real_agents", str(told)]
    heard, telling = os.pipe()
    lasts, ends = os.pipe()
    apart = namespace()
    if apart:
        command = [*apart.prefix, *minding(telling, loopback=True, places=()), "0", *command]
    else:
        print("no network of its own can be had here: the agents have that of the machine")  # noqa: T201
    try:
        return subprocess.run(
            command, cwd=ROOT, env=env, stdin=lasts, pass_fds=[telling], capture_output=True,
            timeout=seconds, check=False,
        )  # fmt: skip
    finally:
        for each in (heard, telling, lasts, ends):
            os.close(each)


@functools.cache
def namespace() -> Sandbox | None:
    """What makes such a network here."""
    fit = (each for each in candidates() if each.loopback and not each.narrows)
    return next((each for each in fit if asyncio.run(works(each))), None)


def inside(job: Job) -> list[Ended]:
    """What happens in there."""
    found = []
    with ModelServer(read_scripts(job.scripts, "scripts.yaml")) as server:
        for start in job.starts:
            before = len(server.exchanges)
            done = subprocess.run(
                [word.replace("{url}", server.url) for word in start.argv],
                env={name: value.replace("{url}", server.url) for name, value in start.env.items()},
                cwd=start.cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False,
            )  # fmt: skip
            found.append(Ended(done.returncode, done.stdout, done.stderr, server.exchanges[before:]))
    return found


def inside_function(job: Job) -> None:
    """What happens in there if it is a function that is to be called."""
    module, _, name = job.function.partition(":")
    folder = Path(job.folder)
    with ModelServer(read_scripts(job.scripts, "scripts.yaml")) as server:
        os.environ |= {name: value.replace("{url}", server.url) for name, value in KEYS.items()}
        answer = getattr(importlib.import_module(module), name)(server, folder)
    (folder / "answer.json").write_text(json.dumps(answer))


def named(function: "Inside") -> str:
    return f"{function.__module__}:{function.__name__}"


def _claude(prompt: str, _: Path) -> tuple[list[str], dict[str, str]]:
    words = ["-p", prompt, "--output-format", "stream-json", "--verbose", "--permission-mode", "acceptEdits"]
    words += ["--setting-sources", "", "--strict-mcp-config"]
    return words, {"ANTHROPIC_BASE_URL": "{url}", "ANTHROPIC_API_KEY": KEY, "CLAUDE_CODE_MAX_RETRIES": "2"}


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
    return words, {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": "{url}", "GEMINI_CLI_NO_RELAUNCH": "true"}


def _opencode(prompt: str, _: Path) -> tuple[list[str], dict[str, str]]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": "{url}/v1", "apiKey": KEY},
        "models": {"played-1": {}},
    }
    switches = ("MODELS_FETCH", "AUTOUPDATE", "DEFAULT_PLUGINS")
    variables = {f"OPENCODE_DISABLE_{name}": "1" for name in switches}
    variables["OPENCODE_CONFIG_CONTENT"] = json.dumps({"provider": {"played": provider}})
    return ["run", "--format", "json", "-m", "played/played-1", prompt], variables


Inside = Callable[[ModelServer, Path], Any]
AGENTS = {"claude": _claude, "codex": _codex, "gemini": _gemini, "opencode": _opencode}
KEYS = {
    **_claude("", Path())[1],
    **_opencode("", Path())[1],
    "GEMINI_API_KEY": KEY,
    "GOOGLE_GEMINI_BASE_URL": "{url}",
    "GEMINI_CLI_NO_RELAUNCH": "true",
    "OPENAI_API_KEY": KEY,
    "OPENAI_BASE_URL": "{url}/v1",
}


if __name__ == "__main__":
    told = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Job)
    if told.function:
        inside_function(told)
    else:
        sys.stdout.buffer.write(msgspec.json.encode(inside(told)))
