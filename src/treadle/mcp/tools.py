"""Tools as a server of the Model Context Protocol, whatever it is reached by."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server

from treadle import __version__
from treadle.config.redaction import redaction_of
from treadle.mcp.offer import Offer
from treadle.results.mcp_tool import SERVER
from treadle.results.offered import Offered, Said

Context = ServerRequestContext[dict[str, Any], Any]
ToolServer = Server[dict[str, Any]]


def tool_server(
    offer_in: Callable[[Context], Offer],
    instructions: str,
    perform: Callable[..., Awaitable[Any]] = asyncio.to_thread,
) -> ToolServer:
    """A server of the tools that are offered to whoever a request comes from; `perform` calls a function."""
    redaction = redaction_of()  # what is remembered must not hold the agent's own key

    async def list_tools(context: Context, _params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        tools = await perform(offer_in(context).tools)
        return types.ListToolsResult(tools=[_tool(it) for it in tools])

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        said: Said = await perform(offer_in(context).call, params.name, redaction.value(params.arguments or {}))
        result = types.CallToolResult(content=[types.TextContent(text=said.text)], is_error=not said.ok)
        if said.data is not None:
            result.structured_content = said.data
        return result

    return Server(
        SERVER, version=__version__, instructions=instructions, on_list_tools=list_tools, on_call_tool=call_tool
    )


def _tool(it: Offered) -> types.Tool:
    more: dict[str, Any] = {"title": it.title} if it.title else {}
    if it.hints:
        more["annotations"] = types.ToolAnnotations.model_validate(it.hints)
    if it.gives:
        more["output_schema"] = it.gives
    return types.Tool(name=it.name, description=it.about, input_schema=it.takes, **more)
