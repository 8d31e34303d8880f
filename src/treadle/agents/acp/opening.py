"""How a conversation with an ACP agent is begun, continued or branched off; the SDK is imported by its client only."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec
from acp import RequestError
from acp.client.connection import ClientSideConnection
from acp.schema import AgentCapabilities, EnvVariable, HttpHeader, HttpMcpServer, McpServerStdio

from treadle.agents.acp.desk import plain
from treadle.agents.acp.job import Job
from treadle.agents.acp.telling import short, tell
from treadle.agents.told import event_of, part, text
from treadle.results.mcp_tool import EMIT, SERVER, mcp_config

_RULES: Final = (
    "You work on one step of a larger run, and nobody reads along: do not ask questions, end the step with the exit "
    f"that says what is missing. Hand in how the step ended with the tool `{EMIT}` of the MCP server `{SERVER}` (your "
    f"list of tools may call it `mcp_{SERVER}_{EMIT}` or `{SERVER}_{EMIT}`), and correct what it does not accept. "
    "Leave your changes in the working tree: they are committed for you."
)
"""The protocol has no place for a system prompt, so this stands before the first prompt of a conversation."""


class Opened(msgspec.Struct, frozen=True):
    """A conversation that waits for its next prompt."""

    name: str
    how: str
    has_tools: bool = False

    def prompt(self, job: Job, words: str) -> str:
        """What the agent is told: also what it cannot know, because the conversation is new."""
        if self.how != "new":
            return words
        if job.session:
            words = _with_the_first(job, words)
        return f"{_RULES}\n\n{words}" if self.has_tools else words


async def open_conversation(agent: ClientSideConnection, job: Job, able: AgentCapabilities) -> Opened:
    """Continue or branch off if that is asked for and the agent can; begin anew if not, and say so."""
    servers = _servers(job, has_http=bool(able.mcp_capabilities and able.mcp_capabilities.http))
    name, how, options = "", "", None
    if job.session:
        try:
            name, how, options = await _continue(agent, job, able, servers)
        except RequestError as error:
            tell("note", text=f"its conversation is not to be had: {short(str(error))}")
        if not name:
            what = "branch off from" if job.fork else "go on with"
            tell("note", text=f"it cannot {what} a conversation: it begins afresh, and is told everything again")
    if not name:
        said = await agent.new_session(job.lane, mcp_servers=servers)
        name, how, options = said.session_id, "new", said.config_options
    tell("session", id=name, how=how)
    await _choose_model(agent, job, name, options)
    return Opened(name, how, bool(servers))


async def _continue(
    agent: ClientSideConnection, job: Job, able: AgentCapabilities, servers: list[Any]
) -> tuple[str, str, Any]:
    """As the agent can: nothing, if it cannot."""
    can = able.session_capabilities
    if job.fork:
        if not (can and can.fork):
            return "", "", None
        branch = await agent.fork_session(job.session, job.lane, mcp_servers=servers)
        return branch.session_id, "forked", branch.config_options
    if can and can.resume:
        resumed = await agent.resume_session(job.session, job.lane, mcp_servers=servers)
        return job.session, "resumed", resumed.config_options
    if able.load_session:
        loaded = await agent.load_session(job.lane, job.session, mcp_servers=servers)
        return job.session, "loaded", loaded.config_options
    return "", "", None


async def _choose_model(agent: ClientSideConnection, job: Job, name: str, options: Any) -> None:
    """Where an agent lets its client choose; others are told when they are started."""
    choice = next((one for one in options or () if "model" in (one.id, one.category) and one.type == "select"), None)
    if not job.model or choice is None or choice.current_value == job.model:
        return
    offered = [value for one in choice.options for value in _values(plain(one))]
    if job.model not in offered:
        near = ", ".join(offered[:10]) or "none"
        raise ValueError(f"it offers no model '{job.model}' (it offers {near}); mend `models` in treadle.toml")
    await agent.set_config_option(choice.id, name, job.model)


def _values(option: dict[str, Any]) -> list[str]:
    inner = option.get("options")
    found = [option, *inner] if isinstance(inner, list) else [option]
    return [one["value"] for one in found if isinstance(one, dict) and isinstance(one.get("value"), str)]


def _servers(job: Job, *, has_http: bool) -> list[Any]:
    """The servers of tools that its bundle names; one that it cannot reach is replaced by one that it starts."""
    try:
        named = part(event_of((Path(job.bundle) / "mcp.json").read_bytes()), "mcpServers")
    except OSError:
        return []
    if not has_http and text(part(named, SERVER), "url"):
        named = mcp_config(os.environ)["mcpServers"]
    return [_server(name, part(named, name)) for name in named]


def _server(name: str, one: dict[str, Any]) -> HttpMcpServer | McpServerStdio:
    if address := text(one, "url"):
        headers = [HttpHeader(name=key, value=str(value)) for key, value in part(one, "headers").items()]
        return HttpMcpServer(type="http", name=name, url=address, headers=headers)
    args = one.get("args")
    return McpServerStdio(
        name=name,
        command=text(one, "command"),
        args=[str(word) for word in args] if isinstance(args, list) else [],
        env=[EnvVariable(name=key, value=str(value)) for key, value in part(one, "env").items()],
    )


def _with_the_first(job: Job, prompt: str) -> str:
    """For an agent that has forgotten what was said before: all of it."""
    with suppress(OSError):
        first = (Path(job.bundle) / "prompt.md").read_text(encoding="utf-8", errors="replace")
        return prompt if first.strip() in prompt else f"{first}\n\n{prompt}"
    return prompt
