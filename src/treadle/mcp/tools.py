"""The tools of activities as a server of the Model Context Protocol, whatever it is reached by."""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server

from treadle import __version__
from treadle.mcp.served import Served
from treadle.results.mcp_tool import EMIT, SERVER, call, offered

_INSTRUCTIONS: Final = (
    f"When the work of this step is done, call {EMIT} with how it ended, then stop. If the tool cannot be reached, hand"
    " the answer in by the command `treadle emit`, or give it as the last line of your output."
)

Context = ServerRequestContext[dict[str, Any], Any]
ToolServer = Server[dict[str, Any]]


def tool_server(served_in: Callable[[Context], Served]) -> ToolServer:
    """A server of the tools of the activity that a request belongs to."""

    async def list_tools(context: Context, _params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        tools = offered(served_in(context).task)
        return types.ListToolsResult(
            tools=[types.Tool(name=it.name, description=it.about, input_schema=it.takes) for it in tools]
        )

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        task, env = served_in(context)
        said = await asyncio.to_thread(call, task, env, params.name, params.arguments or {})
        return types.CallToolResult(content=[types.TextContent(text=said.text)], is_error=not said.ok)

    return Server(
        SERVER, version=__version__, instructions=_INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool
    )
