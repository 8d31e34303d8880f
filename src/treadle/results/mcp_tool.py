"""The tools that an agent answers with, as data; they are served over stdio or HTTP."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

from treadle.protocol.answers.answer import from_tool
from treadle.protocol.answers.schema import TOOL, Schema, schema, tool_schemas
from treadle.results.assignment import ACCEPTED, Assignment
from treadle.results.faulty import Faulty
from treadle.results.offered import Offered, Said

SERVER: Final = "treadle"
EMIT: Final = "emit_exit"
STATUS: Final = "status"
HANDOFF: Final = "handoff"
_VARIABLE: Final = "TREADLE_"
_NOTHING: Final[Schema] = {"type": "object", "properties": {}, "additionalProperties": False}
_TEXT: Final[Schema] = {
    "type": "object",
    "properties": {"text": {"type": "string", "description": "Markdown; replaces what you left before."}},
    "required": ["text"],
    "additionalProperties": False,
}


HERE: Final = (sys.executable, "-P", "-m", "treadle", "mcp")
"""How the server is started on this machine; `-P` keeps Python from importing what lies in the current folder."""
INSIDE: Final = ("treadle", "mcp")
"""How it is started in a container, whose image has a treadle of its own."""


def mcp_config(env: Mapping[str, str], server: Sequence[str] = HERE) -> dict[str, Any]:
    """The content of `mcp.json`: how an agent's program starts the server, with the activity's own variables."""
    variables = {name: value for name, value in env.items() if name.startswith(_VARIABLE)}
    started = {"type": "stdio", "command": server[0], "args": list(server[1:]), "env": variables}
    return {"mcpServers": {SERVER: started}}


def mcp_config_at(address: str, token: str, server: str = SERVER) -> dict[str, Any]:
    """The content of `mcp.json` where the tools are served already: their address, and what opens it."""
    reached = {"type": "http", "url": address, "headers": {"Authorization": f"Bearer {token}"}}
    return {"mcpServers": {server: reached}}


def offered(task: Assignment) -> list[Offered]:
    """The tools of an activity."""
    protocol, exits = task.ways.protocol, task.ways.exits
    several = tool_schemas(protocol, exits)
    about = {name: protocol.exits[name.removeprefix(TOOL)].help for name in several}
    return [
        Offered(
            EMIT, "End this step: hand in how it ended. Call it once, when your work is done.", schema(protocol, exits)
        ),
        *(Offered(name, f"End this step. {about[name]}".strip(), takes) for name, takes in several.items()),
        Offered(STATUS, "Where you are: the step, its exits, and whether an answer has been handed in.", _NOTHING),
        Offered(HANDOFF, "Leave notes for whoever works on this next: done, open, beware.", _TEXT),
    ]


def call(task: Assignment, env: Mapping[str, str], name: str, arguments: Mapping[str, Any]) -> Said:
    """What a tool does. Whatever the arguments are, the model gets words that help."""
    known = [tool.name for tool in offered(task)]
    if name not in known:
        return Said(f"there is no tool {name[:60]!r}; the tools are {', '.join(known)}", ok=False)
    if name == STATUS:
        return Said(_status(task, env))
    if name == HANDOFF:
        return _handoff(task, arguments)
    answer = dict(arguments) if name == EMIT else from_tool(name, arguments)
    found = task.hand_in(answer, "mcp")
    return _refusal(found) if isinstance(found, Faulty) else Said(f"{found.key}: {ACCEPTED}")


def _handoff(task: Assignment, arguments: Mapping[str, Any]) -> Said:
    text = arguments.get("text")
    if not isinstance(text, str) or not text.strip():
        return Said("not kept: give the notes as `text`", ok=False)
    found = task.leave_notes(text)
    return _refusal(found) if found else Said("kept")


def _refusal(found: Faulty) -> Said:
    lines = "\n".join(f"- {problem}" for problem in found.problems)
    return Said(f"not accepted:\n{lines}\nCorrect this and call the tool again.", ok=False)


def _status(task: Assignment, env: Mapping[str, str]) -> str:
    place = " ".join(
        f"{name.lower()} {env[_VARIABLE + name]}"
        for name in ("STEP", "ROLE", "MODE", "ATTEMPT")
        if env.get(_VARIABLE + name)
    )
    answer = task.handed_in()
    state = f"handed in: {answer}" if answer else "no answer has been handed in yet"
    return f"{place or task.act}\nthis step ends with {' or '.join(task.ways.exits)}\n{state}"
