"""Transitions that survive a power cut, per second: beside LangGraph's, and beside SQLite alone.

Everybody writes to a file of their own in the same folder, in WAL mode with synchronous=FULL. What is not a transition
(making tables, creating runs) is not measured.
"""

import asyncio
import importlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import msgspec

from bench.driven import create, drive_to_end
from bench.fsyncs import counting
from bench.meter import Meter, Taken
from bench.ring import ring
from treadle.store.sqlite import Store

ROUNDS = 5
LOOP = 1000
WIDTH, LENGTH = 100, 10
Program = Callable[[Path, int, int], Meter]
"""Makes so many runs of so many transitions in a folder."""
IN_TURN = {
    "treadle": "bench.durable:treadle",
    "langgraph, SqliteSaver": "bench.peer_durable:langgraph_in_turn",
    "SQLite alone": "bench.floor:floor",
}
AT_ONCE = {
    "treadle": "bench.durable:treadle",
    "langgraph, SqliteSaver": "bench.peer_durable:langgraph_in_turn",
    "langgraph, AsyncSqliteSaver": "bench.peer_durable:langgraph_at_once",
    f"SQLite alone, {WIDTH} a commit": "bench.floor:floor",
}


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = os.environ | counting(folder)
        print(f"one fdatasync takes {fdatasync(folder) * 1000:.2f} ms here; medians of {ROUNDS} interleaved rounds")
        table(f"one run of {LOOP}", 1, LOOP, IN_TURN, environment)
        table(f"{WIDTH} runs of {LENGTH} at once", WIDTH, LENGTH, AT_ONCE, environment)


def table(title: str, runs: int, length: int, programs: dict[str, str], environment: dict[str, str]) -> None:
    rounds = [{name: taken(it, runs, length, environment) for name, it in programs.items()} for _ in range(ROUNDS)]
    count = runs * length
    rates = {name: count / median(found[name].seconds for found in rounds) for name in programs}
    print(f"\n{title:<30} {'transitions/s':>13} {'fsyncs each':>11} {'treadle is':>11}")
    for name, rate in rates.items():
        counts = [found[name].fsyncs for found in rounds]
        each = "unknown" if None in counts else f"{median(it or 0 for it in counts) / count:.2f}"
        print(f"{name:<30} {rate:>13.0f} {each:>11} {rates['treadle'] / rate:>10.2f}x", flush=True)


def taken(program: str, runs: int, length: int, environment: dict[str, str]) -> Taken:
    """What a program takes in a process of its own, whose memory is not full of the others."""
    code = "import sys; from bench.durable import child; child(*sys.argv[1:])"
    command = [sys.executable, "-c", code, program, str(runs), str(length)]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
    return msgspec.json.decode(done.stdout, type=Taken)


def child(program: str, runs: str, length: str) -> None:
    """Measures after a small first round, which loads and compiles whatever is needed."""
    module, _, name = program.partition(":")
    run: Program = getattr(importlib.import_module(module), name)
    in_new_folder(run, 2, 10)
    sys.stdout.buffer.write(msgspec.json.encode(in_new_folder(run, int(runs), int(length)).taken))


def in_new_folder(run: Program, runs: int, length: int) -> Meter:
    with tempfile.TemporaryDirectory() as folder:
        return run(Path(folder), runs, length)


def treadle(folder: Path, runs: int, length: int) -> Meter:
    """As many runs as wanted, all of them in one process."""
    store, protocol = Store(folder / "store.db", create=True), ring(length)
    names = [f"r{number}" for number in range(runs)]
    for name in names:
        create(store, name, protocol)

    async def everyone() -> list[str]:
        return [state.outcome for state in await asyncio.gather(*(drive_to_end(store, name) for name in names))]

    with Meter() as meter:
        outcomes = asyncio.run(everyone())
    made = sum(store.run(name).seq for name in names)
    store.close()
    if set(outcomes) != {"Done"} or made != runs * (length + 1):
        raise AssertionError(f"{made} events, {set(outcomes)}")
    return meter


def fdatasync(folder: Path) -> float:
    """The median time to get a page to the disk."""
    times: list[float] = []
    with (folder / "page").open("wb", buffering=0) as file:
        for _ in range(50):
            file.write(bytes(4096))
            start = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - start)
    return median(times)
