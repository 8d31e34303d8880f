"""A stdio server of the Model Context Protocol: the tools of one activity, or the project's memory."""

import asyncio
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, cast

from mcp.server.stdio import stdio_server

from treadle.mcp.lines import Answers, lines
from treadle.mcp.offer import OF_A_PROJECT, OF_A_STEP, Offer, ProjectMemory
from treadle.mcp.served import Served, memory_in
from treadle.mcp.tools import tool_server
from treadle.memory.store import Memory
from treadle.results.assignment import Assignment


def serve(task: Assignment, env: Mapping[str, str]) -> None:
    """Serve an activity until the client goes away. It needs no network, and no store but that of its dialogue."""
    path = memory_in(env)
    if path is None:
        asyncio.run(_serve(Served(task, env), OF_A_STEP))
        return
    with closing(Memory(path)) as memory:
        asyncio.run(_serve(Served(task, env, memory), OF_A_STEP))


def serve_memory(path: Path) -> None:
    """Serve a project's memory until the client goes away."""
    with closing(Memory(path)) as memory:
        asyncio.run(_serve(ProjectMemory(memory), OF_A_PROJECT))


async def _at_once(function: Callable[..., Any], *arguments: Any) -> Any:
    """There is one client, and it waits for the answer: another thread would only cost time."""
    return function(*arguments)


async def _serve(offer: Offer, instructions: str) -> None:
    server = tool_server(lambda _context: offer, instructions, _at_once)
    # The SDK asks a file only for its lines, and its own puts something else in place of what it cannot read.
    stdin, stdout = cast(Any, lines(sys.stdin.buffer)), cast(Any, Answers())
    async with stdio_server(stdin, stdout) as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
