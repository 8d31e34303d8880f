"""One cycle of a lane (worktree, commit, red, green, squash merge, rebase of a sibling) against a shell script.

Agents take no time on either side. The script (`lane_script.sh`) runs the tests as often as Treadle did for each
verdict, each time in a clean checkout, and has a pool of worktrees as well; it believes exit codes, and has neither
witnesses nor canaries nor a sandbox. Both work in the same repository and take turns.
"""

import asyncio
import compileall
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from importlib.metadata import entry_points
from pathlib import Path
from statistics import median

import msgspec

from bench.lane_cycle import CycleRun, Room, open_room
from bench.lane_project import Cycle, cycle, make_project, write
from treadle.toolchains.pytest import KNOWN_PLUGINS, WITNESS
from treadle.toolchains.sandbox import find_sandbox

SIZES = (200, 20_000)
ROUNDS = 3
STAGES = ("sibling", "red", "green", "merge", "rebase")
SCRIPT = Path(__file__).with_name("lane_script.sh")


def main() -> None:
    compileall.compile_dir(WITNESS, quiet=1)  # as an installed package is; from source, every run would compile it
    print(f"treadle's commands run in: {asyncio.run(find_sandbox()).name}")
    print(f"{'files':>6} {'':<10} {'first s':>8} {'then s':>7} {'ratio':>6}   (medians of {ROUNDS} rounds in turn)")
    for size in SIZES:
        with tempfile.TemporaryDirectory(prefix="treadle-bench-") as name:
            asyncio.run(measure(Path(name), size))


async def measure(folder: Path, size: int) -> None:
    root = folder / "repo"
    make_project(root, size)
    room = await open_room(root)
    runs: Counter[str] = Counter()
    times: dict[str, list[float]] = {"treadle": [], "script": []}
    for n in range(ROUNDS + 1):  # the first round makes the pools, and is told apart
        work = cycle(n)
        times["treadle"].append(await by_treadle(room, f"r{n}", folder / f"measured-{n}", work))
        if runs and runs != room.tools.runs:
            raise AssertionError(f"tests were run {room.tools.runs} times, and {runs} before")
        runs = Counter(room.tools.runs)
        room.tools.runs.clear()
        times["script"].append(by_script(root, folder, work, runs))
    told = ", ".join(f"{runs[stage]} for {stage}" for stage in STAGES)
    script = times["script"]
    for name, found in times.items():
        first, then = found[0], median(found[1:])
        ratio = median(one / other for one, other in zip(found[1:], script[1:], strict=True))
        print(f"{size:>6} {name:<10} {first:>8.2f} {then:>7.2f} {ratio:>6.2f}", flush=True)
    print(f"{'':>6} runs of the tests in a cycle, on both sides: {told}", flush=True)


async def by_treadle(room: Room, run: str, measured: Path, work: Cycle) -> float:
    start = time.perf_counter()
    await CycleRun(room, run, measured).go(work)
    return time.perf_counter() - start


def by_script(root: Path, folder: Path, work: Cycle, runs: Counter[str]) -> float:
    files = folder / "files"
    shutil.rmtree(files, ignore_errors=True)
    for name, given in msgspec.structs.asdict(work).items():
        write(files / name, given)
    counts = [str(runs[stage]) for stage in STAGES]
    environment = os.environ | {"PYTHON": sys.executable, "PLUGINS": " ".join(plugins())}
    start = time.perf_counter()
    command = [str(SCRIPT), str(root), str(folder / "pool"), str(files), *counts]
    subprocess.run(command, check=True, env=environment)
    return time.perf_counter() - start


def plugins() -> list[str]:
    """Options that make the script's pytest load what Treadle's does, and no cache."""
    installed = {one.name for one in entry_points(group="pytest11")}
    return ["-p", "no:cacheprovider", *(word for name in sorted(installed & {*KNOWN_PLUGINS}) for word in ("-p", name))]
