"""One turn of an ACP conversation: open it, prompt, collect the answer and count the usage.

Only the client program imports this module, and only while the agent starts: the SDK needs a second to load.
"""

import asyncio
import os
import time
from asyncio.subprocess import Process
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, cast

import msgspec
from acp import PROTOCOL_VERSION, RequestError, connect_to_agent
from acp.client.connection import ClientSideConnection
from acp.interfaces import Client
from acp.schema import (
    AgentCapabilities,
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    EnvVariable,
    FileSystemCapabilities,
    HttpHeader,
    HttpMcpServer,
    Implementation,
    McpServerStdio,
    PermissionOption,
    ReadTextFileResponse,
    RequestPermissionResponse,
    TextContentBlock,
    ToolCallUpdate,
    WriteTextFileResponse,
)
from pydantic import BaseModel, ValidationError

from treadle import __version__
from treadle.agents import gemini, opencode
from treadle.agents.acp_client import AcpJob, Complaints, call_refusal, print_event, write_refusal
from treadle.agents.event_stream import each, event_of, one_line, part, text, whole
from treadle.agents.files import MAX_FINAL
from treadle.agents.lane_files import LaneFiles
from treadle.errors import PortError
from treadle.results.tools import EMIT, SERVER, mcp_config

# Requests and updates of an ACP agent.


def _short(words: str, length: int = 200) -> str:
    return one_line(words, length)


class AcpClient:
    """Our side of the protocol: it answers the agent's requests and receives its updates."""

    def __init__(self, job: AcpJob, complaints: Complaints) -> None:
        self.job, self.complaints = job, complaints
        self.is_heard = False
        """Whether updates count: those before the prompt are a replay of the old conversation."""
        self.last_news = 0.0
        self.cost = 0.0
        self._text = ""
        self._shown, self._shown_at = "", 0.0
        self._calls: dict[str, dict[str, Any]] = {}
        self._refused: set[str] = set()

    @property
    def final(self) -> str:
        """The agent's text since its last tool call."""
        return self._text.encode()[-MAX_FINAL:].decode(errors="ignore")

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **_: Any
    ) -> RequestPermissionResponse:
        """Allow a tool call once, or refuse it, so the agent asks each time."""
        del session_id
        self.complaints.sign_of_life()
        call = wire_message(tool_call)
        self._work(call)
        why = call_refusal(self.job, call)
        if why:
            self._refuse(call, why)
        kinds = ("reject_once", "reject_always") if why else ("allow_once", "allow_always")
        chosen = [one for kind in kinds for one in options if one.kind == kind]
        if not chosen:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen[0].option_id))

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        """Print the agent's progress."""
        del session_id
        self.last_news = time.monotonic()
        if not self.is_heard:
            return
        news = wire_message(update)
        kind = text(news, "sessionUpdate")
        if kind != "available_commands_update":
            self.complaints.sign_of_life()
        match kind:
            case "agent_message_chunk":
                self._add_text(text(part(news, "content"), "text"))
            case "tool_call" | "tool_call_update":
                self._work(news)
            case "usage_update":
                amount = part(news, "cost").get("amount")
                self.cost = float(amount) if isinstance(amount, int | float) else self.cost

    async def write_text_file(self, session_id: str, path: str, content: str, **_: Any) -> WriteTextFileResponse:
        """Write a file for the agent, or refuse."""
        del session_id
        self.complaints.sign_of_life()
        if why := write_refusal(self.job, path):
            print_event("refused", what=f"writing {_short(path)}", why=why)
            raise RequestError.invalid_params({"details": f"{path} may not be written: {why}"})
        root = next(root for root in (self.job.out, self.job.lane) if _below(path, root))
        try:
            LaneFiles(Path(root)).write(_below(path, root), content)
        except (OSError, PortError) as error:
            raise RequestError.internal_error({"details": str(error)}) from None
        return WriteTextFileResponse()

    async def read_text_file(
        self, session_id: str, path: str, line: int | None = None, limit: int | None = None, **_: Any
    ) -> ReadTextFileResponse:
        """Refuse: agents read files by themselves."""
        del session_id, path, line, limit
        raise RequestError.method_not_found("fs/read_text_file")

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Refuse extensions of the protocol."""
        del params
        raise RequestError.method_not_found(method)

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        """Ignore extensions of the protocol."""

    def show(self) -> None:
        """Print the last line of the agent's text."""
        self._shown_at = time.monotonic()
        line = _short(self._text[-800:].strip().rpartition("\n")[2])
        if line and line != self._shown:
            self._shown = line
            print_event("progress", text=line)

    def _add_text(self, words: str) -> None:
        self._text += words
        if len(self._text) > 4 * MAX_FINAL:
            self._text = self._text[-2 * MAX_FINAL :]
        if time.monotonic() - self._shown_at > 0.5:
            self.show()

    def _work(self, news: dict[str, Any]) -> None:
        """Record a tool call. Some agents report a call only when they ask for permission, or when it is done."""
        name, before = text(news, "toolCallId"), self._calls.get(text(news, "toolCallId"))
        if before is None:
            self.show()
            self._text = ""
        call = self._calls[name] = {**(before or {}), **news}
        if (title := text(call, "title")) and title != text(before or {}, "title"):
            print_event("progress", text=_short(title))
        self.complaints.tool(name, is_at_work=text(call, "status") not in ("completed", "failed"))
        if text(news, "status") == "failed" and (why := call_refusal(self.job, call)):
            self._refuse(call, why)  # by the agent's own rules

    def _refuse(self, call: dict[str, Any], why: str) -> None:
        name = text(call, "toolCallId")
        if name not in self._refused:
            self._refused.add(name)
            print_event("refused", what=_short(text(call, "title") or "a tool"), why=_short(why))


def wire_message(one: BaseModel) -> dict[str, Any]:
    """Return a message of the protocol as it looks on the wire."""
    return one.model_dump(mode="json", by_alias=True, exclude_none=True)


def _below(path: str, root: str) -> str:
    """Return a path relative to a folder, or an empty text if it is not below it."""
    try:
        place = (Path(root) / path).resolve()
        return place.relative_to(Path(root).resolve()).as_posix()
    except (OSError, ValueError, RuntimeError):
        return ""


# Starting, continuing or forking a conversation.

_RULES: Final = (
    "You work on one step of a larger run, and no person can answer you: do not ask questions, but end the step with "
    f"the exit that names what is missing. Hand in your exit with the tool `{EMIT}` of the MCP server `{SERVER}` (your "
    f"list of tools may call it `mcp_{SERVER}_{EMIT}` or `{SERVER}_{EMIT}`), and correct what it refuses. "
    "Leave your changes in the working tree: Treadle commits them."
)
"""Instructions before the first prompt of a conversation, because the protocol has no system prompt."""


class AcpConversation(msgspec.Struct, frozen=True):
    """A conversation that waits for its next prompt."""

    name: str
    how: str
    has_tools: bool = False

    def prompt(self, job: AcpJob, words: str) -> str:
        """Return the prompt; in a new conversation, with the rules and the first prompt before it."""
        if self.how != "new":
            return words
        if job.session:  # the agent has lost its conversation
            with suppress(OSError):
                first = (Path(job.bundle) / "prompt.md").read_text(encoding="utf-8", errors="replace")
                words = words if first.strip() in words else f"{first}\n\n{words}"
        return f"{_RULES}\n\n{words}" if self.has_tools else words


async def open_conversation(agent: ClientSideConnection, job: AcpJob, able: AgentCapabilities) -> AcpConversation:
    """Continue or fork the job's conversation; if the agent cannot, begin a new one and print a note."""
    servers = _servers(job, has_http=bool(able.mcp_capabilities and able.mcp_capabilities.http))
    name, how, options = "", "", None
    if job.session:
        try:
            name, how, options = await _continue(agent, job, able, servers)
        except RequestError as error:
            print_event("note", text=f"it could not load its conversation: {_short(str(error))}")
        if not name:
            what = "branch off from" if job.fork else "continue"
            print_event("note", text=f"it cannot {what} a conversation: it begins a new one with a complete prompt")
    if not name:
        session = await agent.new_session(job.lane, mcp_servers=servers)
        name, how, options = session.session_id, "new", session.config_options
    print_event("session", id=name, how=how)
    await _choose_model(agent, job, name, options)
    return AcpConversation(name, how, bool(servers))


async def _continue(
    agent: ClientSideConnection, job: AcpJob, able: AgentCapabilities, servers: list[Any]
) -> tuple[str, str, Any]:
    """Fork, resume or load the conversation; return empty values if the agent cannot."""
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


async def _choose_model(agent: ClientSideConnection, job: AcpJob, name: str, options: Any) -> None:
    """Choose the model if the agent offers a choice; other agents get it at their start."""
    choice = next((one for one in options or () if "model" in (one.id, one.category) and one.type == "select"), None)
    if not job.model or choice is None or choice.current_value == job.model:
        return
    offered: list[str] = []
    for option in map(wire_message, choice.options):  # an option may be a group of options
        values = [one.get("value") for one in (option, *each(option, "options"))]
        offered += [value for value in values if isinstance(value, str)]
    if job.model not in offered:
        near = ", ".join(offered[:10]) or "none"
        raise ValueError(f"it offers no model '{job.model}' (it offers {near}); correct `models` in treadle.toml")
    await agent.set_config_option(choice.id, name, job.model)


def _servers(job: AcpJob, *, has_http: bool) -> list[Any]:
    """Return the bundle's MCP servers; for an agent without HTTP, ours becomes one that it starts itself."""
    try:
        named = part(event_of((Path(job.bundle) / "mcp.json").read_bytes()), "mcpServers")
    except OSError:
        return []
    if not has_http and text(part(named, SERVER), "url"):
        named = mcp_config(os.environ)["mcpServers"]
    servers: list[Any] = []
    for name in named:
        one = part(named, name)
        if address := text(one, "url"):
            headers = [HttpHeader(name=key, value=str(value)) for key, value in part(one, "headers").items()]
            servers.append(HttpMcpServer(type="http", name=name, url=address, headers=headers))
            continue
        args = one.get("args")
        words = [str(word) for word in args] if isinstance(args, list) else []
        env = [EnvVariable(name=key, value=str(value)) for key, value in part(one, "env").items()]
        servers.append(McpServerStdio(name=name, command=text(one, "command"), args=words, env=env))
    return servers


# Usage of one turn, from the agent's answer or from its own ledger.


def usage_in_answer(answer: dict[str, Any]) -> dict[str, int]:
    """Read the usage from the protocol's own field, or from the place where Gemini puts it."""
    if usage := part(answer, "usage"):
        cached = whole(usage, "cachedReadTokens")
        tokens_in = whole(usage, "inputTokens") + cached + whole(usage, "cachedWriteTokens")
        tokens_out = whole(usage, "outputTokens") + whole(usage, "thoughtTokens")
        return {"tokens_in": tokens_in, "tokens_out": tokens_out, "cached": cached}
    count = part(answer, "_meta", "quota", "token_count")
    return {"tokens_in": whole(count, "input_tokens"), "tokens_out": whole(count, "output_tokens")} if count else {}


def ledger_usage(home: Path, ledger: str, session: str, since: int) -> dict[str, int]:
    """Count the tokens recorded in an agent's HOME since a moment in milliseconds; empty if that is unusable."""
    files = sorted(home.glob(ledger))
    if ledger.endswith(".jsonl"):
        total = gemini.count_tokens(files, since)
    else:
        total = opencode.count_tokens(files[0], session, since) if files else {}
    return total if any(total.values()) else {}


_START_UP: Final = 120.0
_CANCELLING: Final = 2.0


async def lead_turn(job: AcpJob, process: Process, prompt: str, complaints: Complaints, stopping: asyncio.Event) -> int:
    """Lead the whole turn and return the exit code."""
    client = AcpClient(job, complaints)
    during = "start"
    agent = connect_to_agent(cast(Client, client), process.stdin, process.stdout)  # without optional methods
    try:
        able = await asyncio.wait_for(_introduce(agent), _START_UP)
        during = "session"
        opened = await asyncio.wait_for(open_conversation(agent, job, able), _START_UP)
        # Some agents still replay old messages after they have reported ready: wait until it is quiet.
        until = time.monotonic() + 5.0
        while client.last_news and time.monotonic() < until and time.monotonic() - client.last_news < 0.3:
            await asyncio.sleep(0.1)
        during = "prompt"
        return await _prompt(agent, opened.name, opened.prompt(job, prompt), client, stopping)
    except RequestError as error:
        data = error.data if isinstance(error.data, str) else ""
        if error.data is not None and not data:
            with suppress(TypeError, ValueError):
                data = msgspec.json.encode(error.data).decode()[:2000]
        print_event("error", during=during, code=error.code, message=str(error), data=data)
    except ConnectionError:
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _CANCELLING)
        how = "broke off" if process.returncode is None else f"ended too early, with exit code {process.returncode}"
        print_event("error", during=during, message=f"the agent {how}")
    except TimeoutError:
        print_event("error", during="start", message=f"the agent did not respond within {_START_UP:.0f} seconds")
    except (ValidationError, ValueError) as error:
        print_event("error", during="start", message=f"the agent violates the protocol: {_short(str(error))}")
    finally:
        await agent.close()
    return 1


async def _introduce(agent: ClientSideConnection) -> AgentCapabilities:
    files = FileSystemCapabilities(write_text_file=True, read_text_file=False)
    introduction = await agent.initialize(
        PROTOCOL_VERSION,
        ClientCapabilities(fs=files, terminal=False),
        Implementation(name="treadle", title="Treadle", version=__version__),
    )
    version = introduction.protocol_version
    if version != PROTOCOL_VERSION:
        raise ValueError(f"it speaks version {version}, but Treadle speaks version {PROTOCOL_VERSION}")
    return introduction.agent_capabilities or AgentCapabilities()


async def _prompt(
    agent: ClientSideConnection, session: str, prompt: str, client: AcpClient, stopping: asyncio.Event
) -> int:
    """Prompt the agent and print how that ends: by its answer, by its service, or because the client has to stop."""
    client.is_heard = True
    client.complaints.sign_of_life()
    since = int(time.time() * 1000)
    asking = asyncio.ensure_future(agent.prompt(session, [TextContentBlock(type="text", text=prompt)]))
    watching = asyncio.ensure_future(client.complaints.lasting())
    stopped = asyncio.ensure_future(stopping.wait())
    try:
        await asyncio.wait((asking, watching, stopped), return_when=asyncio.FIRST_COMPLETED)
        if not asking.done():
            with suppress(ConnectionError):
                await agent.cancel(session)
            await asyncio.wait((asking,), timeout=_CANCELLING)
        client.show()

        # The agent's ledger, if it has one, knows more than its answer.
        used = ledger_usage(Path.home(), client.job.ledger, session, since) if client.job.ledger else {}
        if not used and asking.done() and not asking.cancelled() and not asking.exception():
            used = usage_in_answer(wire_message(asking.result()))
        if used or client.cost:
            print_event("usage", **used, **({"cost": client.cost} if client.cost else {}))

        if watching.done():
            print_event("error", during="prompt", message=_short(watching.result(), 2000))
            return 1
        if not asking.done():
            print_event("ended", stop_reason="cancelled", final=client.final)
            return 1
        print_event("ended", stop_reason=asking.result().stop_reason, final=client.final)
        return 0
    finally:
        for one in (asking, watching, stopped):
            one.cancel()
