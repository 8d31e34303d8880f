"""Ask Codex which hooks it runs: only those that the user has trusted."""

import asyncio
import json
from pathlib import Path
from typing import Any, Final

import msgspec

from treadle.hooks.settings import is_ours

_PATIENCE: Final = 20.0
_LONGEST: Final = 4 * 1024 * 1024
_HELLO: Final = {"clientInfo": {"name": "treadle", "version": "1"}, "capabilities": {"experimentalApi": True}}


class HookTrust(msgspec.Struct, frozen=True):
    """Codex's report about our hooks."""

    events: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    """Hooks that Codex skips because the user has not trusted them, or they have changed since."""


async def ask_codex(program: str, folder: Path) -> HookTrust | None:
    """Ask Codex which of our hooks it would run in a folder; None without an answer. This calls no model."""
    try:
        async with asyncio.timeout(_PATIENCE):
            answer = await list_hooks(program, folder)
    except (OSError, TimeoutError, ValueError):
        return None
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list):  # an answer of another version
        return None
    hooks = [hook for one in data if isinstance(one, dict) for hook in one.get("hooks") or () if is_ours(hook)]
    runs = [hook for hook in hooks if hook.get("trustStatus") in ("trusted", "managed") and hook.get("enabled", True)]
    return HookTrust(_events(runs), _events([hook for hook in hooks if hook not in runs]))


async def list_hooks(program: str, folder: Path) -> Any:
    """Start the app server of Codex, and return its answer to `hooks/list`."""
    server = await asyncio.create_subprocess_exec(
        program, "app-server",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        cwd=folder, limit=_LONGEST,
    )  # fmt: skip
    try:
        assert server.stdin
        assert server.stdout
        await _call(server.stdin, server.stdout, 1, "initialize", _HELLO)
        server.stdin.write(b'{"method":"initialized"}\n')
        return await _call(server.stdin, server.stdout, 2, "hooks/list", {"cwds": [str(folder)]})
    finally:
        if server.returncode is None:
            server.kill()
        await server.wait()


async def _call(
    to: asyncio.StreamWriter, back: asyncio.StreamReader, id_: int, method: str, params: dict[str, Any]
) -> Any:
    to.write(json.dumps({"id": id_, "method": method, "params": params}).encode() + b"\n")
    await to.drain()
    while line := await back.readline():
        message = json.loads(line)
        if isinstance(message, dict) and message.get("id") == id_ and "method" not in message:
            return message.get("result")
    raise ValueError(method)


def _events(hooks: list[dict[str, Any]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(hook.get("eventName", "")) for hook in hooks))
