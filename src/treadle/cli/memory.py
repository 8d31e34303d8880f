"""`treadle memory`: import, export and show the memory of a project's agents, and check the memory bank of a run."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from treadle.cli.guard import UNWELL
from treadle.cli.options import JsonOption
from treadle.cli.output import STDOUT, print_json, print_table, print_text, write_new
from treadle.config.project import make_local, open_project
from treadle.errors import TreadleError

if TYPE_CHECKING:
    from treadle.memory.store import Memory

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)
_RUN = Annotated[str | None, typer.Option("--run", help="The run; by default the latest one with a memory bank.")]
_OF = Annotated[
    str, typer.Option("--session", "-s", help="Export this dialogue of a run, instead of the project's own graph.")
]


@app.callback()
def memory() -> None:
    """Read, import and export what agents remember of a project: knowledge graph, dialogues, memory banks."""


@app.command("import")
def import_(
    file: Annotated[
        Path,
        typer.Argument(
            help="A JSON Lines file written by @modelcontextprotocol/server-memory, or by `treadle memory export`."
        ),
    ],
) -> None:
    """Import new entries from a file into the project's graph. Import nothing if a line is wrong."""
    from treadle.memory.knowledge_tools import load_graph
    from treadle.memory.store import FILE, Memory, Space

    graph = load_graph(file)
    with closing(Memory(make_local(open_project()) / FILE)) as memory:
        taken = Space(memory).merge(graph)
    left = len(graph.entities) + len(graph.relations) - len(taken.entities) - len(taken.relations)
    rest = f"; {left} were there already" if left else ""
    typer.echo(f"imported {len(taken.entities)} entities and {len(taken.relations)} relations{rest}")


@app.command()
def export(
    file: Annotated[Path, typer.Argument(help="The file to write; - writes to standard output.")] = Path("-"),
    session: _OF = "",
) -> None:
    """Write the project's graph, or a dialogue, as JSON Lines. Never overwrite a file."""
    from treadle.memory.dialogue import sessions_in
    from treadle.memory.knowledge_tools import dump_graph
    from treadle.memory.store import KnowledgeGraph, Space
    from treadle.protocol.findings import suggest

    with _opened() as memory:
        if memory and session and session not in (known := sessions_in(memory)):
            hint = suggest(session, known) or "`treadle memory sessions` lists them"
            raise TreadleError(f"there is no dialogue '{session[:80]}'; {hint}", code="memory.unknown")
        text = dump_graph(Space(memory, session).read_graph() if memory else KnowledgeGraph())
    if str(file) in STDOUT:
        typer.echo(text, nl=False)
    else:
        write_new(file, text)


@app.command()
def sessions() -> None:
    """List the dialogues of runs, latest last."""
    from treadle.memory.dialogue import sessions_in

    with _opened() as memory:
        for line in sessions_in(memory) if memory else ():
            print_text(line)


@app.command()
def show(
    what: Annotated[
        str,
        typer.Argument(
            help="A document by symbol or name: σ₄, s4, context. Add :SECTION for one section: σ₄:R1, σ₄:State."
        ),
    ] = "",
    run: _RUN = None,
    as_json: JsonOption = False,
) -> None:
    """Show a document of a run's memory bank, or list all documents."""
    from treadle.cli.memory_bank import list_documents, read_run_bank, select_documents

    found = select_documents(read_run_bank(run), what)
    if as_json:
        print_json(found)
    elif what:
        for document in found.documents:
            print_text(document.text or f"{document.path} is not written yet")
    else:
        print_table(("", "document", "path", "writer", "is"), list_documents(found), f"Memory bank of {found.run}")


@app.command()
def check(run: _RUN = None, as_json: JsonOption = False) -> None:
    """Check a run's memory bank for broken cross-references and for changed files in the checkout.

    Exit code 0: no findings; 1: findings.
    """
    from treadle.cli.memory_bank import check_bank, examine_bank, read_run_bank

    found = read_run_bank(run)
    findings = check_bank(found)
    if as_json:
        print_json(examine_bank(found))
    else:
        for finding in findings:
            print_text(str(finding))
        if not findings:
            print_text(f"{found.run.id}: no findings")
    if any(finding.level == "error" for finding in findings):
        raise typer.Exit(UNWELL)


@contextmanager
def _opened() -> "Iterator[Memory | None]":
    """Open the project's memory; None if there is none: reading does not create it."""
    from treadle.memory.store import FILE, Memory

    path = open_project().local / FILE
    if not path.is_file():
        yield None
        return
    with closing(Memory(path)) as memory:
        yield memory
