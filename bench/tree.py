"""A tree of V3, from its spec to one merged commit, with agents that take no time: what the orchestrator itself costs.

Everything is real (host, store, git lanes, gates, merges, rebases) but for the agents, which are played in the process,
and the tests, which a small runner runs (`tree_runner.py`), not pytest. The large tree is ten times the small one
below two more levels: each merge sends every sibling a rebase, so what a leaf costs grows with its family, and only
trees of the same families can be compared. The small one is grown before and after the large one: whatever else the
machine does, it does to both.
"""

import asyncio
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path

import msgspec

from bench.tree_agents import growing
from bench.tree_nodes import Node, Shape, spec
from tests.fakes import SingleAgent
from treadle.config.project import Project
from treadle.config.settings import load_settings
from treadle.engines.driver import Driver, Surroundings
from treadle.engines.start import StartRequest, inspect_request, start_run
from treadle.engines.surroundings import ProjectSurroundings
from treadle.kernel.events import Checked, Exited, Failed
from treadle.kernel.replay import decode_event
from treadle.kernel.state import State
from treadle.ports import Runner
from treadle.protocol.load import load
from treadle.runtime.desk import Desk
from treadle.runtime.dispatch import Dispatch
from treadle.runtime.loop import awaits_only_people
from treadle.runtime.world import RunWorld
from treadle.store.records import Run
from treadle.store.sqlite import Store, opened_store

SMALL: Shape = (4, 5)
LARGE: Shape = (2, 5, *SMALL)
RUN = "tree"
RUNNER = Path(__file__).with_name("tree_runner.py")
_TESTS = f"{sys.executable} -I -S -B {RUNNER}"
_SETTINGS = (
    "toolchain.kind=junit",
    "verification.minimum=word",
    f"toolchain.test={_TESTS} {{report}}",
    f"toolchain.collect={_TESTS} --list",
    "limits.instances=1000",
    "limits.depth=5",
)
_GIT = ("git", "-c", "user.name=User", "-c", "user.email=user@localhost")
MOST_MEGABYTES = 250
MOST_GROWTH = 1.2


class Grown(msgspec.Struct, frozen=True, kw_only=True):
    """What it took to grow a tree."""

    leaves: int
    nodes: int
    events: int
    exits: dict[str, int]
    """How often each exit of the orchestrator's own steps was taken."""
    wall: float
    own: float
    """Seconds of processor time of the orchestrator."""
    below: float
    """Seconds of processor time of what it started: git, and the tests."""
    megabytes: float
    """The most memory that the orchestrator had at once."""

    @property
    def a_leaf(self) -> dict[str, float]:
        """What a leaf of it has cost, in seconds."""
        costs = {"wall": self.wall, "own": self.own, "own and below": self.own + self.below}
        return {name: seconds / self.leaves for name, seconds in costs.items()}


@dataclass(frozen=True)
class Growing(Surroundings):
    """The surroundings of a project, with agents of ours."""

    real: ProjectSurroundings
    runner: Runner

    async def prepare(self, run: Run) -> None:
        await self.real.open(run)

    def world(self, run: Run) -> RunWorld:
        world = self.real.world(run)
        return replace(world, agents=SingleAgent(self.runner, world.agents))

    def dispatch(self, run: Run, desk: Desk, world: RunWorld) -> Dispatch:
        return self.real.dispatch(run, desk, world)


def main() -> None:
    print("agents take no time, a small runner runs the tests; seconds are wall, processor time of the orchestrator,")
    print("and processor time of what it starts (git, the tests)")
    head = f"{'leaves':>6} {'tree':>6} {'nodes':>5} {'events':>6} {'rebases':>7}"
    print(f"{head} {'wall':>7} {'own':>6} {'below':>6} {'MB':>4}")
    before, large, after = [measured(shape) for shape in (SMALL, LARGE, SMALL)]
    ratios = {name: 2 * cost / (before.a_leaf[name] + after.a_leaf[name]) for name, cost in large.a_leaf.items()}
    told = ", ".join(f"{name} {value:.2f}" for name, value in ratios.items())
    print(f"cost of a leaf, {large.leaves} : {before.leaves}   {told}   (goal: at most {MOST_GROWTH})")
    print(f"most memory {large.megabytes:.0f} MB   (goal: below {MOST_MEGABYTES})")


def measured(shape: Shape) -> Grown:
    """A tree grown in a process of its own, whose memory nobody else has touched."""
    code = "import sys; from bench.tree import child; child(*sys.argv[1:])"
    command = [sys.executable, "-c", code, *map(str, shape)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    one = msgspec.json.decode(done.stdout, type=Grown)
    rebases = sum(count for name, count in one.exits.items() if name.startswith("Rebase"))
    counts = f"{one.leaves:>6} {'x'.join(map(str, shape)):>6} {one.nodes:>5} {one.events:>6} {rebases:>7}"
    print(f"{counts} {one.wall:>7.1f} {one.own:>6.1f} {one.below:>6.1f} {one.megabytes:>4.0f}", flush=True)
    return one


def child(*shape: str) -> None:
    with tempfile.TemporaryDirectory(prefix="treadle-bench-") as folder:
        grown = grow(Path(folder) / "repo", tuple(map(int, shape)))
    sys.stdout.buffer.write(msgspec.json.encode(grown))


def grow(root: Path, shape: Shape) -> Grown:
    """A repository, a spec, a run, and what it took."""
    lay_out(root)
    project = Project(root)
    wanted = StartRequest(
        config=load_settings(None, {}, _SETTINGS).config("v3"),
        spec=msgspec.json.encode(spec(Node((), shape))).decode(),
        file="spec.json",
        name=RUN,
        agents=("command:true",),
    )
    with opened_store(project, create=True) as store:
        start_run(store, inspect_request(project, load("v3"), wanted))
        began, before = time.monotonic(), os.times()
        state = asyncio.run(drive(project, store, growing(shape)))
        after, wall = os.times(), time.monotonic() - began
        if state.outcome != "Merged":
            raise AssertionError(f"{state.outcome or list(state.asks)}: {refusals(store)}")
        return Grown(
            leaves=prod(shape),
            nodes=len(state.insts),
            events=state.seq,
            exits=exits(store),
            wall=wall,
            own=after.user + after.system - before.user - before.system,
            below=after.children_user + after.children_system - before.children_user - before.children_system,
            megabytes=most_memory(),
        )


async def drive(project: Project, store: Store, runner: Runner) -> State:
    real = ProjectSurroundings(project, store)
    return await Driver(store, Growing(real, runner)).drive(RUN, rests=awaits_only_people)


def lay_out(root: Path) -> None:
    (root / "src" / "tree").mkdir(parents=True)
    (root / "README.md").write_text("A tree of numbers.\n")
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "Start")):
        subprocess.run([*_GIT, *words], cwd=root, check=True, env=os.environ | {"GIT_CONFIG_GLOBAL": os.devnull})


def exits(store: Store) -> dict[str, int]:
    """How often each exit of the orchestrator's own steps was taken."""
    events = (decode_event(body) for _, body in store.events(RUN))
    return dict(Counter(one.envelope.type for one in events if isinstance(one, Exited) and one.channel == "effect"))


def refusals(store: Store) -> list[object]:
    """What was refused, and why; nothing should be."""
    events = (decode_event(body) for _, body in store.events(RUN))
    checked = (one for one in events if isinstance(one, Checked | Failed))
    refs = (
        one.detail_ref if isinstance(one, Failed) else "" if all(it.ok for it in one.results) else one.payload_ref
        for one in checked
    )
    return [store.payloads.get(ref) for ref in refs if ref]


def most_memory() -> float:
    """In megabytes, of this process alone. The kernel's own count would have the parent's memory in it."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_000_000
