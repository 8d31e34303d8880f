"""The same call by a shell script: the program, its words, its variables and its tools are those of Treadle's call."""

import asyncio
import shutil
import subprocess
import time
from pathlib import Path

import msgspec

from bench.agent_call_treadle import PROTOCOL, Call, lay_out
from treadle.agents.contract import clean_environment, contract_variables
from treadle.mcp.http import HttpTools
from treadle.ports import Work
from treadle.prompts import bundle
from treadle.results.emit import FILE
from treadle.results.exits import StepExits
from treadle.results.tools import mcp_config_at
from treadle.runtime.dispatch import assignment_of

SCRIPT = Path(__file__).with_name("agent_call_script.sh")


class Caller:
    """Has a checkout that stays."""

    def __init__(self, folder: Path, tools: HttpTools) -> None:
        self._folder, self._tools = folder, tools
        self._lane = folder / "checkout"
        lay_out(self._lane)

    def call(self, name: str, like: Call, home_name: str = "home") -> float:
        """The seconds that it takes; the HOME of a name stays."""
        work, runner, home = self._prepared(name, like.work), like.runner, self._folder / home_name
        home.mkdir(exist_ok=True)
        runner.dialect.prepare(work, home)
        env = {
            **clean_environment((*runner.allowed, *runner.dialect.keys)),
            "HOME": str(home),
            **contract_variables(work),
        }
        env |= runner.dialect.env(work, home)
        words = runner.command(work, home, "", env["PATH"])
        files = [self._lane, work.bundle / "prompt.md", work.home / "stream", work.out / FILE]
        began = time.perf_counter()
        done = subprocess.run([SCRIPT, *files, *words], env=env, capture_output=True, text=True, check=False)
        taken = time.perf_counter() - began
        if done.returncode or "Written" not in done.stdout:
            raise AssertionError(f"{done.returncode}: {done.stdout} {done.stderr}")
        return taken

    def _prepared(self, name: str, like: Work) -> Work:
        """An activity as that one, with files, a token and an address of tools of its own."""
        work = msgspec.structs.replace(like, home=self._folder / name, lane=self._lane, token=f"{name}-{like.token}")
        shutil.copytree(like.bundle, work.bundle)
        work.out.mkdir()
        work = msgspec.structs.replace(work, env=bundle.environment(work))
        step = PROTOCOL.graphs[PROTOCOL.root].steps[work.step]
        at = asyncio.run(self._tools.open(assignment_of(work, StepExits(PROTOCOL, step.exits)), work.env))
        (work.bundle / "mcp.json").write_bytes(msgspec.json.encode(mcp_config_at(at, work.token)))
        return work
