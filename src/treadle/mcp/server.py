"""A stdio server of the Model Context Protocol with the tools of one activity. It needs no network and no store."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from treadle import __version__
from treadle.results.assignment import Assignment
from treadle.results.mcp_tool import EMIT, SERVER, call, offered

_INSTRUCTIONS: Final = f"When the work of this step is done, call {EMIT} with how it ended, then stop."


def serve(task: Assignment, env: Mapping[str, str]) -> None:
    """Serve an activity until the client goes away."""
    asyncio.run(_serve(task, env))


async def _serve(task: Assignment, env: Mapping[str, str]) -> None:
    server = _server(task, env)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def _server(task: Assignment, env: Mapping[str, str]) -> Server[dict[str, Any]]:
    tools = [types.Tool(name=it.name, description=it.about, input_schema=it.takes) for it in offered(task)]

    async def list_tools(
        _context: ServerRequestContext[dict[str, Any]], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def call_tool(
        _context: ServerRequestContext[dict[str, Any]], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        said = await asyncio.to_thread(call, task, env, params.name, params.arguments or {})
        return types.CallToolResult(content=[types.TextContent(text=said.text)], is_error=not said.ok)

    return Server(
        SERVER, version=__version__, instructions=_INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool
    )
