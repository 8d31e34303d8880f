"""What `treadle serve` says while it serves."""

import typer

from treadle.cli.ear import Ear
from treadle.cli.guard import complain
from treadle.cli.interrupting import run_interruptibly
from treadle.cli.output import harmless
from treadle.cli.progress_board import Lines
from treadle.config.project import Project, make_local
from treadle.engines.opening import opened_store
from treadle.engines.serving import Service, only_one
from treadle.mcp import configuration
from treadle.mcp.configuration import Reached
from treadle.mcp.http import HttpTools
from treadle.memory.shape import FILE


def serve(project: Project, listen: str = "") -> int:
    """Serve a project until it is interrupted; the exit code."""
    ear = Ear(project, listen)
    with only_one(project), opened_store(project, create=True) as store, HttpTools() as tools:
        lines = Lines(store.payloads, names_runs=True)
        service = Service(
            project,
            store,
            lambda run, text: complain(harmless(f"{run} {text}")),
            lambda desk: lines.show(desk.run, desk.protocol, desk.state),
            tools=tools,
            hear=lines.hear,
        )

        async def served() -> None:
            typer.echo(f"serving {project.root}; Ctrl-C ends it")  # not before Ctrl-C does
            typer.echo(await _memory_served(project, tools))
            async with ear.open():
                typer.echo(ear.told)
                await service.serve()

        advice = "ending the agents and keeping their work; once more ends at once"
        run_interruptibly(served(), advice)
    return 0


async def _memory_served(project: Project, tools: HttpTools) -> str:
    """Serve the project's own graph to agents that are not of a run; where it is."""
    local = make_local(project)
    before = configuration.before(local)
    badge = f"`{(local / configuration.FILE).relative_to(project.root)}`"
    address = await tools.open_memory(local / FILE, before.token, badge, before.address)
    if not address:
        return "its memory is not served over HTTP: nothing can listen on this machine; `treadle mcp` serves it, too"
    configuration.keep(local, Reached(address, before.token))
    return f"its memory is at {address}, for agents of your own: {badge} is their configuration"
