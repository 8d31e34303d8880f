"""Which hooks Codex runs: only those that the user has trusted, which Codex itself is asked about."""

import asyncio
import json
from pathlib import Path
from typing import Any, Final

import msgspec

from treadle.hooks.settings import is_ours

_PATIENCE: Final = 20.0
_LONGEST: Final = 4 * 1024 * 1024
_HELLO: Final = {"clientInfo": {"name": "treadle", "version": "1"}, "capabilities": {"experimentalApi": True}}


class Trusted(msgspec.Struct, frozen=True):
    """What Codex says about our hooks."""

    events: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    """Those that it knows and skips, because nobody has trusted them, or they were changed since."""


async def trusted(program: str, folder: Path) -> Trusted | None:
    """Ask Codex which of our hooks it would run in a folder; None if it does not say. No model is asked."""
    try:
        async with asyncio.timeout(_PATIENCE):
            return _of(await _asked(program, folder))
    except (OSError, TimeoutError, ValueError):
        return None


async def _asked(program: str, folder: Path) -> Any:
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
        said = json.loads(line)
        if isinstance(said, dict) and said.get("id") == id_ and "method" not in said:
            return said.get("result")
    raise ValueError(method)


def _of(said: Any) -> Trusted | None:
    """Its answer, as far as it has the shape that is known."""
    data = said.get("data") if isinstance(said, dict) else None
    if not isinstance(data, list):
        return None
    hooks = [hook for one in data if isinstance(one, dict) for hook in one.get("hooks") or () if is_ours(hook)]
    runs = [hook for hook in hooks if hook.get("trustStatus") in ("trusted", "managed") and hook.get("enabled", True)]
    return Trusted(_events(runs), _events([hook for hook in hooks if hook not in runs]))


def _events(hooks: list[dict[str, Any]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(hook.get("eventName", "")) for hook in hooks))
