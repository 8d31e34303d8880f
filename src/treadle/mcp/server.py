"""A stdio server of the Model Context Protocol with the tools of one activity. It needs no network and no store."""

import asyncio
from collections.abc import Mapping

from mcp.server.stdio import stdio_server

from treadle.mcp.served import Served
from treadle.mcp.tools import tool_server
from treadle.results.assignment import Assignment


def serve(task: Assignment, env: Mapping[str, str]) -> None:
    """Serve an activity until the client goes away."""
    asyncio.run(_serve(Served(task, env)))


async def _serve(served: Served) -> None:
    server = tool_server(lambda _context: served)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
