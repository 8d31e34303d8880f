"""The file by which an agent of one's own reaches a project's memory while `treadle serve` runs.

Address and token stay what they are from one time to the next, so that whoever has copied them once is done.
"""

import re
import secrets
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from treadle.errors import writing
from treadle.results.files import look, replace
from treadle.results.mcp_tool import mcp_config_at

FILE: Final = "mcp.json"
_SERVER: Final = "memory"
"""What configurations of the public server call it."""
_TOKEN: Final = re.compile(r"Bearer ([0-9a-f]{32})")


class Reached(NamedTuple):
    """Where the memory is, and what opens it."""

    address: str
    token: str


def before(local: Path) -> Reached:
    """Where it was the last time; nowhere, with a new token, if it never was, or if the file is not as we leave it."""
    data = look(local, FILE)
    try:
        found = msgspec.json.decode(data, type=_File).mcpServers[_SERVER] if isinstance(data, bytes) else None
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError):
        found = None
    token = _TOKEN.fullmatch(found.headers.get("Authorization", "")) if found else None
    return Reached(found.url, token[1]) if found and token else Reached("", secrets.token_hex(16))


def keep(local: Path, reached: Reached) -> None:
    """Write the file, for its owner alone, if it does not say so already."""
    config: dict[str, Any] = mcp_config_at(*reached, server=_SERVER)
    data = msgspec.json.format(msgspec.json.encode(config), indent=2) + b"\n"
    if look(local, FILE) != data:
        with writing(local / FILE):
            replace(local, FILE, data, mode=0o600)


class _Server(msgspec.Struct):
    url: str
    headers: dict[str, str]


class _File(msgspec.Struct):
    mcpServers: dict[str, _Server]
