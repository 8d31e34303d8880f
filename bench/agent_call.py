"""One call of a real agent by Treadle against the same program in a shell script.

The model is played and answers at once, so what takes long in a real call is as short as it can be. Treadle's time is
that of an activity in a real run, from its dispatch to its claim in the log: lane, bundle, HOME, keeper, stream and
answer, and no checks. The script (`agent_call_script.sh`) has the same words, variables, prompt and tools, served by
the same process; its HOME and its checkout stay, as a user's do. There is no box on either side: its cost is told apart.
"""

import asyncio
import os
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from bench import agent_call_script, agent_call_treadle
from bench.agent_call_treadle import Parts
from tools.agents.apart import inside_apart, lacking
from treadle.config.project import Project
from treadle.enclosures.box import Box, find_box
from treadle.engines.opening import opened_store
from treadle.mcp.http import HttpTools
from treadle.testing.model_server.clients import client_variables
from treadle.testing.model_server.server import ModelServer

AGENTS = ("claude", "codex")
ROUNDS = 5
MOST = 1.15
PATIENCE = 900
SCRIPTS = """
scripts:
  call:
    - call:
        first:
          - {tool: Bash, with: {command: "echo two > notes/line.txt"}}
          - {tool: exec_command, with: {cmd: "echo two > notes/line.txt"}}
    - call: {tool: "*emit_exit", with: {exit: {type: Written}}}
    - say: It is written.
"""


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """The calls of one agent, in turn; the first of each is in a process that has called nobody."""

    treadle: list[Parts]
    script: list[float]
    boxed: list[Parts]
    """In a box; empty if there is none here."""


def main() -> None:
    if why := lacking():
        print(why)
        return
    print(f"{'':<7} {'':<10} {'first s':>8} {'then s':>7} {'ratio':>6}   (medians of {ROUNDS} rounds in turn)")
    for agent in AGENTS:
        with tempfile.TemporaryDirectory(prefix="treadle-bench-") as name:
            folder = Path(name)
            (folder / "agent").write_text(agent)
            tell(agent, msgspec.convert(inside_apart(measure, folder, SCRIPTS, PATIENCE), type=Measured))


def tell(agent: str, found: Measured) -> None:
    treadle, script, boxed = [one.total for one in found.treadle], found.script, [one.total for one in found.boxed]
    for name, one in (("treadle", treadle), ("script", script)):
        ratio = median(a / b for a, b in zip(one[1:], script[1:], strict=True))
        goal = f"   (goal: at most {MOST})" if name == "treadle" else ""
        print(f"{agent:<7} {name:<10} {one[0]:>8.2f} {median(one[1:]):>7.2f} {ratio:>6.2f}{goal}")
    parts = {name: median(getattr(one, name) for one in found.treadle[1:]) for name in Parts.__struct_fields__}
    told = "lane and bundle {sent:.3f}, HOME and keeper {started:.3f}, the program and its stream {worked:.3f}, claim {claimed:.3f}"
    print(f"{'':<7} of treadle's seconds: {told.format(**parts)}")
    cost = median(a - b for a, b in zip(boxed[1:], treadle[1:], strict=True)) if boxed else None
    print(f"{'':<7} a box adds {cost:.3f} s" if cost is not None else f"{'':<7} no box can be had here", flush=True)


def measure(server: ModelServer, folder: Path) -> Any:
    """Each in turn, inside of a network that has nothing but loopback."""
    agent = (folder / "agent").read_text()
    os.environ |= client_variables(server.url, folder / "user")
    has_box = isinstance(asyncio.run(find_box()), Box)
    project = Project(folder / "repo")
    agent_call_treadle.lay_out(project.root)
    found = Measured(treadle=[], script=[], boxed=[])
    with opened_store(project, create=True) as store, HttpTools() as tools:
        treadle = agent_call_treadle.Caller(project, store, tools, agent)
        script = agent_call_script.Caller(folder / "script", tools)
        for n in range(ROUNDS + 1):  # the first round makes the pool of lanes and starts the server of tools
            call = treadle.call(f"r{n}")
            found.treadle.append(call.parts)
            found.script.append(script.call(f"s{n}", call))
            if has_box:
                found.boxed.append(treadle.call(f"b{n}", "on").parts)
    return msgspec.to_builtins(found)
