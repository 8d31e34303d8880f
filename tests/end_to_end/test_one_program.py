"""Every role is one program, and the driver is killed again and again: the same tree comes out, and no work is lost."""

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from bench import tree_nodes, tree_runner
from bench.tree_nodes import Node, Shape, code, scaffold, spec
from tests.end_to_end import one_program
from tests.git.place import git, write
from treadle.kernel.events import Event, Exited
from treadle.kernel.replay import decode_event
from treadle.store.sqlite import Store

PATIENCE = 900.0
RUN = "tree"
SHAPES: dict[str, Shape] = {"v3": (3, 3), "fractal": (3, 3)}
"""Thirteen nodes on three levels."""
TREADLE = (sys.executable, "-c", "from treadle.cli.start import main; raise SystemExit(main())")
_TESTS = f"{sys.executable} -I -S -B {tree_runner.__file__}"
SETTINGS = (
    "toolchain.kind=junit",
    "verification.minimum=word",
    f"toolchain.test={_TESTS} {{report}}",
    f"toolchain.collect={_TESTS} --list",
    "toolchain.lint=true",
    "toolchain.format=true",
)


class Grown(NamedTuple):
    """What has come of a run."""

    tree: str
    """The id of the result's tree."""
    accepted: Counter[str]
    """The exits of each instance."""


def lay_out(root: Path, protocol: str) -> None:
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    whole = spec(Node((), SHAPES[protocol]), parts=protocol == "fractal")
    (root / "spec.json").write_text(json.dumps(whole))
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "Start")


def begun(root: Path, protocol: str) -> "subprocess.Popen[str]":
    shape = "x".join(map(str, SHAPES[protocol]))
    program = f"{sys.executable} -S {one_program.__file__} {root.parent / 'journal'} {shape}"
    changes = [word for one in SETTINGS for word in ("--set", one)]
    words = ("run", "spec.json", "--protocol", protocol, "--name", RUN, "--agent", f"command:{program}", *changes)
    return started(root, *words)


def started(root: Path, *words: str) -> "subprocess.Popen[str]":
    pipe = subprocess.PIPE
    return subprocess.Popen([*TREADLE, *words], cwd=root, stdout=pipe, stderr=subprocess.STDOUT, text=True)


def finished(driver: "subprocess.Popen[str]") -> None:
    said, _ = driver.communicate(timeout=PATIENCE)
    assert driver.returncode == 0, said


def journal(root: Path) -> list[str]:
    file = root.parent / "journal"
    return file.read_text().splitlines() if file.exists() else []


def killed_at(driver: "subprocess.Popen[str]", root: Path, lines: int) -> bool:
    """Kill it when the agents have noted so much; whether it lived so long."""
    deadline = time.monotonic() + PATIENCE
    while len(journal(root)) < lines and driver.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    driver.send_signal(signal.SIGKILL)
    driver.communicate(timeout=PATIENCE)
    return driver.returncode == -signal.SIGKILL


def events(root: Path) -> list[Event]:
    store = Store(root / ".treadle" / "local" / "store.db")
    try:
        return [decode_event(body) for _, body in store.events(RUN)]
    finally:
        store.close()


def grown(root: Path) -> Grown:
    exits = [one for one in events(root) if isinstance(one, Exited) and not one.envelope.type.startswith("Rebase")]
    taken = Counter(f"{one.act.partition(':')[0]} {one.envelope.type}" for one in exits)
    return Grown(git(root, "rev-parse", f"treadle/{RUN}/result^{{tree}}"), taken)


def written(root: Path, protocol: str) -> str:
    """The id of the tree with everything that the agents are to write, put together without any of them."""
    nodes = below(Node((), SHAPES[protocol]))
    parts = protocol == "fractal"
    files = {name: text for one in nodes for name, text in scaffold(one, parts=parts).items()}
    for one in nodes:
        files |= code(one) | ({} if parts and one.children else tree_nodes.tests(one))
    files = {
        name: text for name, text in files.items() if not name.endswith("/test_manifest.json")
    }  # a paper of the run
    other = root.parent / "written"
    write(other, files | {"spec.json": (root / "spec.json").read_text()})
    git(other, "init", "-q")
    git(other, "add", "-A")
    return git(other, "write-tree")


def below(node: Node) -> list[Node]:
    return [node, *(one for child in node.children for one in below(child))]


@cache
def undisturbed(protocol: str) -> tuple[Grown, int]:
    """How it ends if nobody kills it, and how many lines the agents note."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "repository"
        lay_out(root, protocol)
        finished(begun(root, protocol))
        found = grown(root)
        assert found.tree == written(root, protocol)
        return found, len(journal(root))


@pytest.mark.soak
@pytest.mark.parametrize("protocol", SHAPES)
def test_the_driver_may_be_killed_at_any_moment(protocol: str, tmp_path: Path) -> None:
    root = tmp_path / "repository"
    lay_out(root, protocol)
    expected, most = undisturbed(protocol)
    driver = begun(root, protocol)
    kills = 0
    for share in (0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95):
        kills += killed_at(driver, root, int(most * share))
        driver = started(root, "resume", RUN)
    finished(driver)

    assert kills >= 5
    assert grown(root) == expected
    noted = [line.split() for line in journal(root)]
    ended = [act for what, act, _ in noted if what == "ends"]
    again = [act for act, count in Counter(ended).items() if count > 1]
    assert not again, "an agent that had done its work was started once more"
    claimed = {one.act for one in events(root) if isinstance(one, Exited) and one.channel == "final"}
    assert set(ended) == claimed, "what an agent did was lost, or made up"
    assert git(root, "status", "--porcelain") == ""
