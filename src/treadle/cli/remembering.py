"""What `treadle memory` reads and writes."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from treadle.config.project import make_local, open_project
from treadle.errors import TreadleError
from treadle.memory.dialogue import sessions_in
from treadle.memory.graph import Graph
from treadle.memory.json_lines import dumped, loaded
from treadle.memory.shape import FILE
from treadle.memory.store import Memory, Space
from treadle.protocol.findings import suggest


def take_in(file: Path) -> str:
    """Take a file into the project's graph; what has come of it."""
    graph = loaded(file)
    with closing(Memory(make_local(open_project()) / FILE)) as memory:
        taken = Space(memory).merge(graph)
    left = len(graph.entities) + len(graph.relations) - len(taken.entities) - len(taken.relations)
    rest = f"; {left} were there already" if left else ""
    return f"imported {len(taken.entities)} entities and {len(taken.relations)} relations{rest}"


def exported(session: str) -> str:
    """A graph as JSON Lines; nobody has remembered anything: nothing."""
    with _opened() as memory:
        if memory and session and session not in (known := sessions_in(memory)):
            near = suggest(session, known)
            raise TreadleError(
                f"there is no dialogue '{session[:80]}'; {near or '`treadle memory sessions` lists them'}",
                code="memory.unknown",
            )
        return dumped(Space(memory, session).read_graph() if memory else Graph())


def sessions() -> list[str]:
    """The dialogues of runs."""
    with _opened() as memory:
        return sessions_in(memory) if memory else []


@contextmanager
def _opened() -> Iterator[Memory | None]:
    """The project's memory, which is not made only to be read."""
    path = open_project().local / FILE
    if not path.is_file():
        yield None
        return
    with closing(Memory(path)) as memory:
        yield memory
