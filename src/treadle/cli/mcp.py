"""`treadle mcp`: the tools of a step, for the agent's program that treadle has started; elsewhere, the memory."""


def mcp() -> None:
    """Serve MCP tools over standard input and output.

    Inside a step, it serves the tools that the step offers its agent; elsewhere, the tools of the project's memory.
    """
    import os

    from treadle.results.assignment import assignment, is_inside

    if is_inside(os.environ):
        task = assignment(os.environ)  # before the SDK, which takes its time to import

        from treadle.mcp.server import serve

        serve(task, os.environ)
        return

    from treadle.config.project import current_folder, make_local, open_project, owner_of
    from treadle.memory.store import FILE

    path = make_local(owner_of(current_folder()) or open_project()) / FILE

    from treadle.mcp.server import serve_memory

    serve_memory(path)
