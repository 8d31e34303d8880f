"""Runs a function where nothing but loopback can be reached, with the real agents and a model that is played.

`python -m tools.agents.apart JOB` is what runs inside: the model server, and the function.
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

from played_model.script import read_scripts
from played_model.server import ModelServer
from tools.agents.install import FOLDER, program
from tools.box.install import FOLDER as BOX
from treadle.toolchains.sandbox import Sandbox, candidates, minder_command, works

ROOT = Path(__file__).parents[2]
KEY = "sk-fake-key"
PATIENCE = 500

Inside = Callable[[ModelServer, Path], Any]


class Job(msgspec.Struct, frozen=True):
    """What is to happen inside: a function, by module and name, in a folder."""

    function: str
    folder: str
    scripts: str


def lacking() -> str:
    """Why there is no agent to start; empty if there is."""
    where = program(FOLDER, "claude").parent
    return "" if where.exists() else f"there are no agents in {FOLDER}; run `make agents`"


def inside_apart(function: Inside, folder: Path, scripts: str, seconds: float = PATIENCE) -> Any:
    """What a function of a module returns, as JSON has it, that is called in such a network by another process.

    It gets the server and the folder, and may assert. Its environment has the agents' programs on PATH, a HOME in the
    folder, a fake key and the address of the server where each agent looks for them, and nothing of ours.
    """
    home, told, answer = folder / "user", folder / "job.json", folder / "answer.json"
    home.mkdir(parents=True)
    told.write_bytes(msgspec.json.encode(Job(f"{function.__module__}:{function.__name__}", str(folder), scripts)))
    path = f"{program(FOLDER, 'claude').parent}:{BOX}:/usr/bin:/bin"
    done = _run_apart(told, {"PATH": path, "HOME": str(home), "LANG": "C.UTF-8"}, seconds)
    if not answer.exists():
        raise AssertionError((done.stdout + done.stderr).decode())
    return json.loads(answer.read_bytes())


def another(function: Callable[[Path], None], folder: Path) -> "subprocess.Popen[bytes]":
    """A function of a module in one more process, in the same surroundings: one that can be killed."""
    code = f"import {function.__module__} as module; from pathlib import Path; import sys; "
    code += f"module.{function.__name__}(Path(sys.argv[1]))"
    return subprocess.Popen([sys.executable, "-c", code, str(folder)], cwd=ROOT, stdout=subprocess.PIPE)


def _run_apart(told: Path, env: dict[str, str], seconds: float) -> "subprocess.CompletedProcess[bytes]":
    command = [sys.executable, "-m", "tools.agents.apart", str(told)]
    heard, telling = os.pipe()
    lasts, ends = os.pipe()
    apart = namespace()
    if apart:
        command = [*apart.prefix, *minder_command(telling, loopback=True, places=()), "0", *command]
    else:
        print("no network of its own can be had here: the agents have that of the machine")
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


def inside(job: Job) -> None:
    """What happens in there."""
    module, _, name = job.function.partition(":")
    folder = Path(job.folder)
    with ModelServer(read_scripts(job.scripts, "scripts.yaml")) as server:
        os.environ |= variables(server.url)
        answer = getattr(importlib.import_module(module), name)(server, folder)
    (folder / "answer.json").write_text(json.dumps(answer))


def variables(url: str) -> dict[str, str]:
    """Where each agent looks for the address of its service and for a key."""
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{url}/v1", "apiKey": KEY},
        "models": {"played-1": {}},
    }
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": KEY,
        "CLAUDE_CODE_MAX_RETRIES": "2",
        "GEMINI_API_KEY": KEY,
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_CLI_NO_RELAUNCH": "true",
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": f"{url}/v1",
        **{f"OPENCODE_DISABLE_{name}": "1" for name in ("MODELS_FETCH", "AUTOUPDATE", "DEFAULT_PLUGINS")},
        "OPENCODE_CONFIG_CONTENT": json.dumps({"provider": {"played": provider}}),
    }


if __name__ == "__main__":
    inside(msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Job))
