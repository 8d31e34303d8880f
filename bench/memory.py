"""The memory beside the public knowledge-graph memory server, both over stdio, with the same graph and the same calls.

The client writes a line and waits for a line: what is measured is what the servers take, not what a client does then.
Theirs writes its file anew for each call, and promises nothing after a power cut; ours has each write on the disk
within a second.
"""

import os
import random
import subprocess
import tempfile
import time
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from tools.mcp.install import MEMORY_SERVER, NODE
from treadle.memory.knowledge_tools import dump_graph
from treadle.memory.store import FILE, Entity, KnowledgeGraph, Memory, Relation, Space
from treadle.results.tools import HERE

ENTITIES, OBSERVATIONS = 10_000, 10
ROUNDS = 15
WORDS = [f"{one}{two}" for one in "alpha beta gamma delta lane token merge spec plan test".split() for two in range(80)]
WRITES, READS = 50.0, 1.0
"""How many times as fast as theirs ours has to be at least."""
KINDS = {
    "add one observation": WRITES,
    "create one entity": WRITES,
    "open one": READS,
    "search, one hit": READS,
    "search, no hit": READS,
    "search, two letters": READS,
    "search, hundreds of hits": READS,
}
"""What is asked for, with its goal; two letters have no trigram, they begin some."""


def main() -> None:
    if not MEMORY_SERVER.exists():
        print(f"the public server is not in {MEMORY_SERVER.parents[3]}; run `make mcp-tools`")
        return
    graph = made(random.Random(1))
    with tempfile.TemporaryDirectory() as name:
        servers = {"treadle": ours(Path(name), graph), "server-memory": theirs(Path(name), graph)}
        with ExitStack() as stack:
            taken = measured({name: stack.enter_context(closing(server)) for name, server in servers.items()})
    print(f"{ENTITIES} entities, {ENTITIES * OBSERVATIONS} observations; milliseconds a call, medians of {ROUNDS}")
    print(f"{'':<28} {'treadle':>9} {'server-memory':>14} {'treadle is':>12}   goal: at least")
    for what, found in taken.items():
        here, there = found["treadle"] * 1000, found["server-memory"] * 1000
        told = "reached" if there / here >= KINDS[what] else "MISSED"
        print(f"{what:<28} {here:>9.1f} {there:>14.1f} {there / here:>10.1f} x {KINDS[what]:>6.0f} x, {told}")


def made(chance: random.Random) -> KnowledgeGraph:
    """The same graph each time."""
    entities = tuple(
        Entity(f"entity {n}", chance.choice(("person", "module", "decision")), tuple(said(chance, n)))
        for n in range(ENTITIES)
    )
    ends = [(chance.randrange(ENTITIES), chance.randrange(ENTITIES)) for _ in range(ENTITIES)]
    return KnowledgeGraph(entities, tuple(Relation(f"entity {one}", f"entity {two}", "knows") for one, two in ends))


def said(chance: random.Random, n: int) -> list[str]:
    return [f"{k} of {n}: {' '.join(chance.choices(WORDS, k=12))}" for k in range(OBSERVATIONS)]


class Server:
    """A server, and how long it takes to answer."""

    def __init__(self, command: list[str], env: dict[str, str], cwd: Path) -> None:
        # Errors go nowhere: theirs greets there.
        self._process = subprocess.Popen(
            command, env=env, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        self.ask("initialize", hello)
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def ask(self, method: str, params: dict[str, Any]) -> tuple[float, Any]:
        """Seconds, and the result."""
        assert self._process.stdout
        start = time.perf_counter()
        self._write({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        line = self._process.stdout.readline()
        return time.perf_counter() - start, msgspec.json.decode(line)["result"]

    def close(self) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.wait(timeout=30)
        self._process.stdout.close()

    def _write(self, message: dict[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(msgspec.json.encode(message) + b"\n")
        self._process.stdin.flush()


def ours(folder: Path, graph: KnowledgeGraph) -> Server:
    (folder / "treadle.toml").touch()
    local = folder / ".treadle" / "local"
    local.mkdir(parents=True)
    start = time.perf_counter()
    with closing(Memory(local / FILE)) as memory:
        Space(memory).merge(graph)
    print(f"treadle memory import takes {time.perf_counter() - start:.1f} s")
    return Server([*HERE], {}, folder)


def theirs(folder: Path, graph: KnowledgeGraph) -> Server:
    file = folder / "memory.jsonl"
    file.write_text(dump_graph(graph))
    env = {"PATH": os.environ["PATH"], "MEMORY_FILE_PATH": str(file)}
    return Server([str(NODE), str(MEMORY_SERVER)], env, folder)


def calls(what: str, n: int) -> dict[str, Any]:
    """The n-th call of a kind, which nobody has made before."""
    at = f"entity {n * 601 % ENTITIES}"
    asked: dict[str, tuple[str, dict[str, Any]]] = {
        "add one observation": (
            "add_observations",
            {"observations": [{"entityName": at, "contents": [f"new {n} alpha"]}]},
        ),
        "create one entity": (
            "create_entities",
            {"entities": [{"name": f"new {n}", "entityType": "t", "observations": ["x y z"]}]},
        ),
        "open one": ("open_nodes", {"names": [at]}),
        "search, one hit": ("search_nodes", {"query": f"3 OF {n * 601 % ENTITIES}: "}),
        "search, two letters": ("search_nodes", {"query": f"q{chr(ord('a') + n)}"}),
        "search, no hit": ("search_nodes", {"query": f"nowhere at all {n}"}),
        "search, hundreds of hits": ("search_nodes", {"query": f": {WORDS[n]} "}),
    }
    name, arguments = asked[what]
    return {"name": name, "arguments": arguments}


def measured(servers: dict[str, Server]) -> dict[str, dict[str, float]]:
    """Seconds of each kind of call by server, in turn; all must say the same."""
    found: dict[str, dict[str, float]] = {}
    for what in KINDS:
        heard: dict[str, list[tuple[float, Any]]] = {name: [] for name in servers}
        for n in range(ROUNDS):
            for name, server in servers.items():
                heard[name].append(server.ask("tools/call", calls(what, n)))
        said = {msgspec.json.encode([it["structuredContent"] for _, it in each]) for each in heard.values()}
        assert len(said) == 1, f"{what}: the servers do not say the same"
        found[what] = {name: median(seconds for seconds, _ in each) for name, each in heard.items()}
    return found
