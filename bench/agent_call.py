"""One call of a real agent by Treadle against the same program in a shell script.

The model is played and answers at once, so what takes long in a real call is as short as it can be. Treadle's time is
that of an activity in a real run, from its dispatch to its claim in the log: lane, bundle, HOME, keeper, stream and
answer, and no checks. The script (`agent_call_script.sh`) has the same words, variables, prompt and tools, served by
the same process, and a checkout that stays. Each conversation of Treadle's has a HOME of its own, which some programs
take long to move into, so the script is measured with a new HOME as well as with one that stays, as a user's does.
There is no box on either side; what it costs is told apart.
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
from played_model.server import ModelServer, client_variables
from tools.agents.apart import inside_apart, lacking
from treadle.config.project import Project
from treadle.enclosures.box import BubblewrapBox, find_box
from treadle.mcp.http import HttpTools
from treadle.store.sqlite import opened_store

AGENTS = ("claude", "codex")
ROUNDS = 15
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
    """With a new HOME each time."""
    at_home: list[float]
    """With a HOME that stays."""
    boxed: list[Parts]
    """In a box; empty if there is none here."""


def main() -> None:
    if why := lacking():
        print(why)
        return
    print(f"medians of {ROUNDS} rounds in turn; goal: treadle takes at most {MOST} times as long as a script")
    print(f"{'':<26} {'first s':>8} {'then s':>7} {'treadle : it':>13}")
    for agent in AGENTS:
        with tempfile.TemporaryDirectory(prefix="treadle-bench-") as name:
            folder = Path(name)
            (folder / "agent").write_text(agent)
            tell(agent, msgspec.convert(inside_apart(measure, folder, SCRIPTS, PATIENCE), type=Measured))


def tell(agent: str, found: Measured) -> None:
    treadle = [one.total for one in found.treadle]
    print(f"{agent:<8} {'treadle':<17} {treadle[0]:>8.2f} {median(treadle[1:]):>7.2f}")
    for name, one in (("script, new HOME", found.script), ("script, own HOME", found.at_home)):
        ratio = median(a / b for a, b in zip(treadle[1:], one[1:], strict=True))
        print(f"{agent:<8} {name:<17} {one[0]:>8.2f} {median(one[1:]):>7.2f} {ratio:>13.2f}")
    then = {name: median(getattr(one, name) for one in found.treadle[1:]) for name in Parts.__struct_fields__}
    told = "{sent:>10.3f} s for lane and bundle, {started:.3f} for HOME and keeper, {claimed:.3f} for the claim"
    print(told.format(**then))
    once = found.treadle[0].sent - then["sent"]
    print(f"{once:>10.3f} s once in a process, for its first lane and the server of tools")
    boxed = [a.total - b for a, b in zip(found.boxed[1:], treadle[1:], strict=False)]
    print(f"{median(boxed):>+10.3f} s in a box" if boxed else f"{'':>10} no box can be had here", flush=True)


def measure(server: ModelServer, folder: Path) -> Any:
    """Each in turn, inside of a network that has nothing but loopback."""
    agent = (folder / "agent").read_text()
    os.environ |= client_variables(server.url, folder / "user")
    has_box = isinstance(asyncio.run(find_box()), BubblewrapBox)
    project = Project(folder / "repo")
    agent_call_treadle.lay_out(project.root)
    found = Measured(treadle=[], script=[], at_home=[], boxed=[])
    with opened_store(project, create=True) as store, HttpTools() as tools:
        treadle = agent_call_treadle.Caller(project, store, tools, agent)
        script = agent_call_script.Caller(folder / "script", tools)
        for n in range(ROUNDS + 1):  # the first round makes the pool of lanes and starts the server of tools
            call = treadle.call(f"r{n}")
            found.treadle.append(call.parts)
            found.script.append(script.call(f"s{n}", call, f"home-{n}"))
            found.at_home.append(script.call(f"h{n}", call))
            if has_box:
                found.boxed.append(treadle.call(f"b{n}", "on").parts)
    return msgspec.to_builtins(found)
