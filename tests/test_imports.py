"""The rules about imports: rooms import only rooms above them, and the pure rooms touch nothing of the world."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[1] / "src" / "treadle"

# Imports go up this list only: a room may import itself and the rooms on the lines above its own.
ROOMS = """
    errors codes
    protocol
    kernel
    simulate
    ports
    config
    store
    git
    enclosures
    toolchains
    evidence
    results
    prompts
    agents
    memory
    views
    runtime
    engines
    talk
    testing
    mcp
    hooks
    cli
    __main__
"""

PURE = {"protocol", "kernel", "simulate", "views", "talk"}

WORLD = set(
    """
    asyncio concurrent ctypes fcntl fileinput ftplib getpass glob http importlib locale logging mmap
    multiprocessing os pathlib platform random runpy sched secrets select selectors shelve shutil signal
    socket socketserver sqlite3 ssl subprocess sys tempfile threading time urllib uuid webbrowser
    """.split()
)

# What a room or a file may use all the same.
ALLOWED = {
    "protocol/load.py": {"pathlib"},
    "talk/speaker.py": {"asyncio"},
    "simulate": {"random"},  # as seeded `random.Random(seed)` only
}

CALLS = {"breakpoint", "eval", "exec", "input", "open", "print", "__import__"}
CALLS_OF_KERNEL = CALLS | {"hash", "id"}  # they differ from process to process
CLOCKS = {"now", "utcnow", "today"}

LINE_OF = {room: number for number, line in enumerate(ROOMS.split("\n")) for room in line.split()}


def violations(file: str, source: str) -> list[str]:
    """Every broken rule in the source of `file`, a path relative to src/treadle."""
    nodes = list(ast.walk(ast.parse(source, file)))
    room = room_of(file)
    found = list(against_the_order(file, room, nodes))
    if room in PURE:
        found += against_purity(file, room, nodes)
    return found


def room_of(file: str) -> str:
    return file.split("/", maxsplit=1)[0].removesuffix(".py")


def imports(file: str, nodes: list[ast.AST]) -> Iterator[tuple[int, str]]:
    """Line and full dotted name of everything imported; `from a import b` counts as a.b."""
    package = ["treadle", *file.split("/")[:-1]]
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            start = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{start}.{alias.name}") for alias in node.names)


def against_the_order(file: str, room: str, nodes: list[ast.AST]) -> Iterator[str]:
    if room != "__init__" and room not in LINE_OF:
        yield f"{file}: unknown room '{room}'; give it its line in ROOMS"
        return
    for line, name in imports(file, nodes):
        match name.split("."):
            case ["treadle", other, *_] if other != room and not allowed_above(room, other):
                yield f"{file}:{line}: '{room}' may not import '{other}', which is not above it"


def allowed_above(room: str, other: str) -> bool:
    if other.startswith("__version"):
        return True
    return other in LINE_OF and room in LINE_OF and LINE_OF[other] < LINE_OF[room]


def against_purity(file: str, room: str, nodes: list[ast.AST]) -> Iterator[str]:
    allowed = ALLOWED.get(room, set()) | ALLOWED.get(file, set())
    for line, name in imports(file, nodes):
        top = name.split(".", maxsplit=1)[0]
        if top in WORLD - allowed:
            yield f"{file}:{line}: '{room}' is pure and may not import '{top}'"
        if top == "random" and name not in {"random", "random.Random"}:
            yield f"{file}:{line}: only random.Random(seed) is repeatable, not {name}"
    calls = CALLS_OF_KERNEL if room == "kernel" else CALLS
    for node in nodes:
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in calls:
                yield f"{file}:{node.lineno}: '{room}' is pure and may not call {name}()"
            case ast.Call(func=ast.Attribute(attr=name)) if name in CLOCKS:
                yield f"{file}:{node.lineno}: time enters as an event; '{room}' may not call .{name}()"
            case ast.Call(func=ast.Name(id="Random") | ast.Attribute(attr="Random"), args=[], keywords=[]):
                yield f"{file}:{node.lineno}: Random() without a seed is not repeatable"
            case ast.Attribute(value=ast.Name(id="random"), attr=name) if name != "Random" and "random" in allowed:
                yield f"{file}:{node.lineno}: only random.Random(seed) is repeatable, not random.{name}"


def test_the_sources_obey() -> None:
    # what a demo's repository starts with is data, and another project
    files = sorted(set(SOURCES.rglob("*.py")) - set((SOURCES / "demos").glob("*/repository/**/*.py")))
    assert len(files) > 3
    found = [text for path in files for text in violations(path.relative_to(SOURCES).as_posix(), path.read_text())]
    assert not found, "\n".join(found)


def test_the_played_model_does_not_import_treadle() -> None:
    def tops(path: Path) -> set[str]:
        nodes = list(ast.walk(ast.parse(path.read_text())))
        return {name.split(".", maxsplit=1)[0] for _, name in imports(path.name, nodes)}

    package = sorted((SOURCES.parent / "played_model").glob("*.py"))
    assert len(package) > 3
    assert [path.name for path in package if "treadle" in tops(path)] == []
    importers = {path.relative_to(SOURCES).parts[0] for path in SOURCES.rglob("*.py") if "played_model" in tops(path)}
    assert importers == {"cli", "testing"}


@pytest.mark.parametrize(
    ("file", "source", "message"),
    [
        ("kernel/reduce.py", "from treadle.simulate.world import World", "may not import 'simulate'"),
        ("kernel/reduce.py", "from treadle import cli", "may not import 'cli'"),
        ("kernel/reduce.py", "from ..simulate import world", "may not import 'simulate'"),
        ("kernel/reduce.py", "from .. import simulate", "may not import 'simulate'"),
        ("kernel/deep/er.py", "from ...simulate import world", "may not import 'simulate'"),
        (
            "kernel/reduce.py",
            "def late():\n    import treadle.store",
            "kernel/reduce.py:2: 'kernel' may not import 'store'",
        ),
        ("errors.py", "import treadle.protocol.model", "may not import 'protocol'"),
        ("cli/app.py", "import treadle.web", "may not import 'web'"),
        ("__init__.py", "from treadle.protocol import load", "may not import 'protocol'"),
        ("kernel/reduce.py", "import treadle.utils", "may not import 'utils'"),
        ("utils/misc.py", "", "unknown room 'utils'"),
        ("kernel/reduce.py", "import os.path", "may not import 'os'"),
        ("kernel/reduce.py", "from time import monotonic", "may not import 'time'"),
        ("kernel/reduce.py", "import random", "may not import 'random'"),
        ("views/status.py", "import asyncio as a", "may not import 'asyncio'"),
        ("protocol/model.py", "from pathlib import Path", "may not import 'pathlib'"),
        ("kernel/state.py", "now = datetime.datetime.now(UTC)", "may not call .now()"),
        ("kernel/state.py", "seed = hash(name)", "may not call hash()"),
        ("protocol/load.py", "text = open(path).read()", "may not call open()"),
        ("simulate/world.py", "import random\nrandom.shuffle(x)", "not random.shuffle"),
        ("simulate/world.py", "from random import choice", "not random.choice"),
        ("simulate/world.py", "from random import Random\nr = Random()", "without a seed"),
        ("simulate/world.py", "import random\nr = random.Random()", "without a seed"),
    ],
)
def test_a_planted_violation_is_reported(file: str, source: str, message: str) -> None:
    assert any(message in found for found in violations(file, source)), violations(file, source)


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("kernel/reduce.py", "from treadle.protocol.model import Protocol\nfrom treadle.errors import IllegalEvent"),
        ("kernel/reduce.py", "from . import state\nfrom .state import State\nfrom ..protocol import model"),
        ("kernel/reduce.py", "import dataclasses, re\nfrom datetime import datetime"),
        ("protocol/load.py", "from pathlib import Path\ntext = Path('x').read_text()"),
        ("simulate/world.py", "import random\nr = random.Random(seed)\nr.choice([1])"),
        ("store/sqlite.py", "import os, sqlite3, time\nt = time.time()"),
        ("cli/start.py", "from treadle import __version__\nprint(__version__)"),
    ],
)
def test_an_allowed_import_is_not_flagged(file: str, source: str) -> None:
    assert violations(file, source) == []


def test_no_class_name_is_used_twice() -> None:
    places: dict[str, list[str]] = {}
    for path in sorted(SOURCES.parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(path.relative_to(SOURCES.parent).as_posix())
    assert {name: files for name, files in places.items() if len(files) > 1} == {}
