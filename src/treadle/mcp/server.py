"""A stdio server of the Model Context Protocol: the tools of one activity, or the project's memory."""

import asyncio
import codecs
import os
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from treadle import __version__
from treadle.config.secrets import redaction_of
from treadle.mcp.offer import Offer, ProjectMemory, ServedActivity, memory_in
from treadle.memory.knowledge_tools import UNREADABLE
from treadle.memory.store import Memory
from treadle.results.assignment import Assignment
from treadle.results.tools import SERVER, ToolReply, ToolSpec

# Messages on standard input and output, one per line.
#
# Input that is not UTF-8 gets a mark, so that nothing stores it as valid text.

_MARKING: Final = "treadle.unreadable"
_ESCAPES: Final = re.compile(r"\\(?:u(?P<code>[0-9a-fA-F]{4})|.)")
_HALF: Final = re.compile(r"\\u[dD][89a-fA-F]")


def _marked(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return UNREADABLE, error.end


codecs.register_error(_MARKING, _marked)


async def read_lines(stream: BinaryIO) -> AsyncIterator[str]:
    """Yield each line as text that every JSON parser accepts."""
    while line := await asyncio.to_thread(stream.readline):
        yield readable(line)


class Answers:
    """Standard output, reserved for answers: prints of other code go to standard error.

    It writes without another thread, as there is one client, and that client waits for the answers.
    """

    def __init__(self) -> None:
        self._file, self._waiting = os.dup(1), b""
        os.dup2(2, 1)

    async def write(self, text: str) -> None:
        self._waiting += text.encode()

    async def flush(self) -> None:
        data, self._waiting = self._waiting, b""
        while data:
            data = data[os.write(self._file, data) :]


def readable(line: bytes) -> str:
    """Decode a line, with a mark in place of bytes that are not UTF-8 and of escapes for half a character."""
    text = line.decode("utf-8", errors=_MARKING)
    return _without_halves(text) if _HALF.search(text) else text


def _without_halves(text: str) -> str:
    parts: list[str] = []
    last, high = 0, None  # the end of what was taken, and where the first half of a pair stands
    for found in _ESCAPES.finditer(text):
        code = int(found["code"], 16) if found["code"] else 0
        if high and not (0xDC00 <= code <= 0xDFFF and high.end() == found.start()):
            parts += [text[last : high.start()], UNREADABLE]
            last, high = high.end(), None
        elif high:
            high = None
            continue
        if 0xD800 <= code <= 0xDBFF:
            high = found
        elif 0xDC00 <= code <= 0xDFFF:
            parts += [text[last : found.start()], UNREADABLE]
            last = found.end()
    if high:
        parts += [text[last : high.start()], UNREADABLE]
        last = high.end()
    return "".join([*parts, text[last:]])


# Tools as a server of the Model Context Protocol, over any transport.

Context = ServerRequestContext[dict[str, Any], Any]
ToolServer = Server[dict[str, Any]]


def tool_server(
    offer_in: Callable[[Context], Offer],
    instructions: str,
    perform: Callable[..., Awaitable[Any]] = asyncio.to_thread,
) -> ToolServer:
    """Create a server of the tools that `offer_in` returns for a request's context; `perform` calls a function."""
    redaction = redaction_of()  # memories must not contain the agent's own key

    async def list_tools(context: Context, _params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        tools = await perform(offer_in(context).tools)
        return types.ListToolsResult(tools=[_tool(it) for it in tools])

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        reply: ToolReply = await perform(offer_in(context).call, params.name, redaction.value(params.arguments or {}))
        result = types.CallToolResult(content=[types.TextContent(text=reply.text)], is_error=not reply.ok)
        if reply.data is not None:
            result.structured_content = reply.data
        return result

    return Server(
        SERVER, version=__version__, instructions=instructions, on_list_tools=list_tools, on_call_tool=call_tool
    )


def _tool(it: ToolSpec) -> types.Tool:
    more: dict[str, Any] = {"title": it.title} if it.title else {}
    if it.hints:
        more["annotations"] = types.ToolAnnotations.model_validate(it.hints)
    if it.gives:
        more["output_schema"] = it.gives
    return types.Tool(name=it.name, description=it.about, input_schema=it.takes, **more)


def serve(task: Assignment, env: Mapping[str, str]) -> None:
    """Serve an activity until the client goes away. It needs no network, and no store but that of its dialogue."""
    path = memory_in(env)
    with closing(Memory(path)) if path else nullcontext() as memory:
        asyncio.run(_serve(ServedActivity(task, env, memory)))


def serve_memory(path: Path) -> None:
    """Serve a project's memory until the client goes away."""
    with closing(Memory(path)) as memory:
        asyncio.run(_serve(ProjectMemory(memory)))


async def _at_once(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in this thread: the only client waits for the answer, and a thread would only cost time."""
    return function(*arguments)


async def _serve(offer: Offer) -> None:
    server = tool_server(lambda _context: offer, offer.instructions, _at_once)
    # The SDK asks a file only for its lines, and its own puts something else in place of what it cannot read.
    stdin, stdout = cast(Any, read_lines(sys.stdin.buffer)), cast(Any, Answers())
    async with stdio_server(stdin, stdout) as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
