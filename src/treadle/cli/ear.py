"""Where chat bots reach `treadle serve`: address and token stay what they are from one time to the next."""

import asyncio
import secrets
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import msgspec

from treadle.config.project import Project, make_local
from treadle.errors import TreadleError, writing
from treadle.results.files import look, replace

PATH: Final = "/say"
FILE: Final = "say.json"
HERE: Final = "127.0.0.1"


class Reached(msgspec.Struct, frozen=True):
    """Where a project hears what bots say, and what opens it."""

    address: str
    token: str


class Ear:
    """Listens for as long as its context is open."""

    def __init__(self, project: Project, listen: str) -> None:
        self._project, self._local = project, make_local(project)
        before = _before(self._local)
        self._token = before.token or secrets.token_hex(16)
        self._host, self._port = _place(listen) if listen else (HERE, _port(before.address))
        self._is_named = bool(listen)
        self.told = ""
        """Where it listens, for people."""

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        door = self._door()
        if door is None:
            self.told = "chat bots cannot speak to it: nothing can listen on this machine"
            yield
            return
        from treadle.cli.hearing import Hearing  # only whoever serves pays for a web server
        from treadle.mcp.listening import Listening

        listening = Listening(Hearing(self._project, self._token))
        listening.listen(door)
        host = f"[{self._host}]" if ":" in self._host else self._host
        reached = Reached(f"http://{host}:{door.getsockname()[1]}{PATH}", self._token)
        _keep(self._local, reached)
        badge = (self._local / FILE).relative_to(self._project.root)
        self.told = f"chat bots speak to it at {reached.address}; `{badge}` has the token"
        over = asyncio.ensure_future(listening.until_over())
        try:
            yield
        finally:
            listening.end()
            await over

    def _door(self) -> socket.socket | None:
        try:
            return bound(self._host, self._port)
        except OSError as error:
            if self._is_named:
                why = error.strerror or str(error)
                raise TreadleError(
                    f"--listen {self._host}:{self._port}: nothing can listen there: {why}", code="listen.unavailable"
                ) from None
        try:
            return bound(self._host, 0)
        except OSError:
            return None


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens."""
    door = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        door.bind((host, port))
        door.listen()
    except OSError:
        door.close()
        raise
    return door


def _place(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise TreadleError(f"--listen {text[:80]!a} is not HOST:PORT; write {HERE}:8123", code="usage.value")
    return host.strip("[]"), int(port)


def _before(local: Path) -> Reached:
    """Where it was the last time; nowhere if it never was, or if the file is not as we leave it."""
    data = look(local, FILE)
    try:
        found = msgspec.json.decode(data, type=Reached) if isinstance(data, bytes) else Reached("", "")
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return Reached("", "")
    return found if len(found.token) >= 32 and found.token.isalnum() else Reached("", "")


def _port(address: str) -> int:
    port = address.removesuffix(PATH).rpartition(":")[2]
    return int(port) if port.isdigit() and int(port) < 65536 else 0


def _keep(local: Path, reached: Reached) -> None:
    """For its owner alone."""
    data = msgspec.json.format(msgspec.json.encode(reached), indent=2) + b"\n"
    with writing(local / FILE):
        replace(local, FILE, data, mode=0o600)
