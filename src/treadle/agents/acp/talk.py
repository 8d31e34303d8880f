"""One turn of a conversation by the Agent Client Protocol; only the client's program imports the SDK."""

import asyncio
import time
from asyncio.subprocess import Process
from contextlib import suppress
from pathlib import Path
from typing import Final, cast

import msgspec
from acp import PROTOCOL_VERSION, RequestError, connect_to_agent
from acp.client.connection import ClientSideConnection
from acp.interfaces import Client
from acp.schema import (
    AgentCapabilities,
    ClientCapabilities,
    FileSystemCapabilities,
    Implementation,
    PromptResponse,
    TextContentBlock,
)
from pydantic import ValidationError

from treadle import __version__
from treadle.agents.acp.complaints import Complaints
from treadle.agents.acp.desk import Desk, plain
from treadle.agents.acp.job import Job
from treadle.agents.acp.opening import open_conversation
from treadle.agents.acp.telling import short, tell
from treadle.agents.acp.usage import ledger_usage, told_usage

_START_UP: Final = 120.0
_CANCELLING: Final = 2.0
_SETTLED: Final = 0.3
_SETTLING: Final = 5.0


async def talk(job: Job, process: Process, prompt: str, complaints: Complaints, stopping: asyncio.Event) -> int:
    """From the first word to the last; the exit code."""
    desk = Desk(job, complaints)
    during = "start"
    agent = connect_to_agent(cast(Client, desk), process.stdin, process.stdout)  # what it lacks is not offered
    try:
        able = await asyncio.wait_for(_introduce(agent), _START_UP)
        during = "session"
        opened = await asyncio.wait_for(open_conversation(agent, job, able), _START_UP)
        await _settle(desk)
        during = "prompt"
        return await _turn(agent, opened.name, opened.prompt(job, prompt), desk, stopping)
    except RequestError as error:
        tell("error", during=during, code=error.code, message=str(error), data=_words(error.data))
    except ConnectionError:
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _CANCELLING)
        how = "broke off" if process.returncode is None else f"ended too early, with exit code {process.returncode}"
        tell("error", during=during, message=f"the agent {how}")
    except TimeoutError:
        tell("error", during="start", message=f"the agent said nothing for {_START_UP:.0f} seconds")
    except (ValidationError, ValueError) as error:
        tell("error", during="start", message=f"the agent does not keep to the protocol: {short(str(error))}")
    finally:
        await agent.close()
    return 1


async def _introduce(agent: ClientSideConnection) -> AgentCapabilities:
    files = FileSystemCapabilities(write_text_file=True, read_text_file=False)
    said = await agent.initialize(
        PROTOCOL_VERSION,
        ClientCapabilities(fs=files, terminal=False),
        Implementation(name="treadle", title="Treadle", version=__version__),
    )
    if said.protocol_version != PROTOCOL_VERSION:
        raise ValueError(f"it speaks version {said.protocol_version} of it, this is version {PROTOCOL_VERSION}")
    return said.agent_capabilities or AgentCapabilities()


# the turn


async def _settle(desk: Desk) -> None:
    """Some agents still tell of old times when they have said that they are ready."""
    until = time.monotonic() + _SETTLING
    while desk.last_news and time.monotonic() < until and time.monotonic() - desk.last_news < _SETTLED:
        await asyncio.sleep(_SETTLED / 3)


async def _turn(agent: ClientSideConnection, name: str, prompt: str, desk: Desk, stopping: asyncio.Event) -> int:
    desk.is_heard = True
    desk.complaints.sign_of_life()
    since = int(time.time() * 1000)
    asking = asyncio.ensure_future(agent.prompt(name, [TextContentBlock(type="text", text=prompt)]))
    watching = asyncio.ensure_future(desk.complaints.lasting())
    stopped = asyncio.ensure_future(stopping.wait())
    try:
        await asyncio.wait((asking, watching, stopped), return_when=asyncio.FIRST_COMPLETED)
        if not asking.done():
            await _cancel(agent, name, asking)
        desk.show()
        _tell_usage(desk, name, since, asking)
        if watching.done():
            tell("error", during="prompt", message=short(watching.result(), 2000))
            return 1
        if not asking.done():
            tell("ended", stop_reason="cancelled", final=desk.final)
            return 1
        tell("ended", stop_reason=asking.result().stop_reason, final=desk.final)
        return 0
    finally:
        for one in (asking, watching, stopped):
            one.cancel()


async def _cancel(agent: ClientSideConnection, name: str, asking: "asyncio.Future[PromptResponse]") -> None:
    with suppress(ConnectionError):
        await agent.cancel(name)
    await asyncio.wait((asking,), timeout=_CANCELLING)


# what it has used


def _tell_usage(desk: Desk, name: str, since: int, asking: "asyncio.Future[PromptResponse]") -> None:
    """By its own ledger if it has one, else as it says."""
    used = ledger_usage(Path.home(), desk.job.ledger, name, since) if desk.job.ledger else {}
    if not used and asking.done() and not asking.cancelled() and not asking.exception():
        used = told_usage(plain(asking.result()))
    if used or desk.cost:
        tell("usage", **used, **({"cost": desk.cost} if desk.cost else {}))


def _words(data: object) -> str:
    if data is None or isinstance(data, str):
        return data or ""
    with suppress(TypeError, ValueError):
        return msgspec.json.encode(data).decode()[:2000]
    return ""
