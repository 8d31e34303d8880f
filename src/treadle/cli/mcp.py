"""`treadle mcp`: the tools of a step, for the agent's program that treadle has started."""

import typer

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def mcp() -> None:
    """Serves the tools emit_exit, status and handoff over stdio, from inside of a step."""
    import os

    from treadle.results.assignment import assignment

    task = assignment(os.environ)  # before the SDK, which takes its time to import

    from treadle.mcp.server import serve

    serve(task, os.environ)
