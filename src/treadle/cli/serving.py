"""What `treadle serve` says while it serves."""

import typer

from treadle.cli.guard import complain
from treadle.cli.interrupting import run_interruptibly
from treadle.cli.output import harmless
from treadle.cli.progress_board import Lines
from treadle.config.project import Project
from treadle.engines.opening import opened_store
from treadle.engines.serving import Service, only_one
from treadle.mcp.http import HttpTools


def serve(project: Project) -> int:
    """Serve a project until it is interrupted; the exit code."""
    with only_one(project), opened_store(project, create=True) as store, HttpTools() as tools:
        lines = Lines(store.payloads, names_runs=True)
        service = Service(
            project,
            store,
            lambda run, text: complain(harmless(f"{run} {text}")),
            lambda desk: lines.show(desk.run, desk.protocol, desk.state),
            tools=tools,
        )

        async def served() -> None:
            typer.echo(f"serving {project.root}; Ctrl-C ends it")  # not before Ctrl-C does
            await service.serve()

        advice = "ending the agents and keeping their work; once more ends at once"
        run_interruptibly(served(), advice)
    return 0
