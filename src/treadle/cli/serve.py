"""`treadle serve`: drive every run of the project for as long as it runs, and listen for chat bots.

The address and the token for bots stay the same from one start to the next; `webhook` answers the requests.
A systemd user unit starts the service by itself.
"""

import asyncio
import os
import re
import secrets
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer

from treadle.cli.guard import complain
from treadle.cli.moves import run_interruptibly
from treadle.cli.output import harmless, write_again
from treadle.cli.progress_board import ProgressLines
from treadle.config.project import Project, make_local, open_project
from treadle.engines.service import Service, service_lock
from treadle.errors import TreadleError, writing
from treadle.mcp import http
from treadle.mcp.http import HttpTools, MemoryAddress, bind_socket
from treadle.memory.store import FILE
from treadle.results.intake import read_file, replace_file
from treadle.store.sqlite import opened_store


def serve(
    install: Annotated[
        bool, typer.Option("--install", help="Write a systemd user unit that starts the service, and exit.")
    ] = False,
    listen: Annotated[
        str,
        typer.Option(
            metavar="HOST:PORT", help="The address for chat bots; by default one that only this machine can reach."
        ),
    ] = "",
) -> None:
    """Drive every unfinished run of this project as a service, serve its memory, and listen to chat bots."""
    project = open_project()
    if install:
        typer.echo(install_unit(project))
        return
    listener = ChatListener(project, listen)
    with service_lock(project), opened_store(project, create=True) as store, HttpTools() as tools:
        lines = ProgressLines(store.payloads, names_runs=True)
        service = Service(
            project,
            store,
            lambda run, text: complain(harmless(f"{run} {text}")),
            lambda desk: lines.show(desk.run, desk.protocol, desk.state),
            tools=tools,
            hear=lines.hear,
        )

        async def serve_all() -> None:
            typer.echo(f"serving {project.root}; Ctrl-C ends it")  # not before Ctrl-C does
            typer.echo(await _serve_memory(project, tools))
            async with listener.open():
                typer.echo(listener.sentence)
                await service.serve()

        run_interruptibly(serve_all(), "stopping the agents and keeping their work; Ctrl-C again stops at once")


async def _serve_memory(project: Project, tools: HttpTools) -> str:
    """Serve the project's own graph to agents that are not of a run, and return a sentence about its address."""
    local = make_local(project)
    before = http.last_address(local)
    badge = f"`{(local / http.CONFIGURATION).relative_to(project.root)}`"
    address = await tools.open_memory(local / FILE, before.token, badge, before.address)
    if not address:
        return "its memory is not served over HTTP, because Treadle cannot listen on this machine; use `treadle mcp`"
    http.write_configuration(local, MemoryAddress(address, before.token))
    return f"its memory is at {address}, for your own agents; {badge} has their configuration"


# The endpoint for chat bots while `treadle serve` runs: address and token stay the same across restarts.

CHAT_PATH: Final = "/say"
CHAT_FILE: Final = "say.json"
HERE: Final = "127.0.0.1"


class ChatAddress(msgspec.Struct, frozen=True):
    """The address where a project listens to chat bots, and its token."""

    address: str
    token: str


class ChatListener:
    """Listens to chat bots for as long as its context is open."""

    def __init__(self, project: Project, listen: str) -> None:
        self._project, self._local = project, make_local(project)
        before = _read_address(self._local)
        self._token = before.token or secrets.token_hex(16)
        self._is_named = bool(listen)
        if listen:
            self._host, self._port = _parse_place(listen)
        else:
            port = before.address.removesuffix(CHAT_PATH).rpartition(":")[2]
            self._host, self._port = HERE, int(port) if port.isdigit() and int(port) < 65536 else 0
        self.sentence = ""
        """A sentence about its address, for people."""

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        door = self._bind()
        if door is None:
            self.sentence = "chat bots cannot reach it, because Treadle cannot listen on this machine"
            yield
            return
        from treadle.cli.webhook import ChatWebhook  # only this command pays for a web server
        from treadle.mcp.endpoint import Listening

        listening = Listening(ChatWebhook(self._project, self._token))
        listening.listen(door)
        host = f"[{self._host}]" if ":" in self._host else self._host
        reached = ChatAddress(f"http://{host}:{door.getsockname()[1]}{CHAT_PATH}", self._token)
        data = msgspec.json.format(msgspec.json.encode(reached), indent=2) + b"\n"
        with writing(self._local / CHAT_FILE):
            replace_file(self._local, CHAT_FILE, data, mode=0o600)  # readable only by the owner
        badge = (self._local / CHAT_FILE).relative_to(self._project.root)
        self.sentence = f"chat bots reach it at {reached.address}; `{badge}` has the token"
        over = asyncio.ensure_future(listening.until_over())
        try:
            yield
        finally:
            listening.end()
            await over

    def _bind(self) -> socket.socket | None:
        try:
            return bind_socket(self._host, self._port)
        except OSError as error:
            if self._is_named:
                why = error.strerror or str(error)
                raise TreadleError(
                    f"--listen {self._host}:{self._port}: Treadle cannot listen there: {why}", code="listen.unavailable"
                ) from None
        try:
            return bind_socket(self._host, 0)
        except OSError:
            return None


def _parse_place(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise TreadleError(f"--listen {text[:80]!a} is not HOST:PORT; write {HERE}:8123", code="usage.value")
    return host.strip("[]"), int(port)


def _read_address(local: Path) -> ChatAddress:
    """Return the address of the last time; an empty one if there is none, or another program has changed the file."""
    data = read_file(local, CHAT_FILE)
    try:
        found = msgspec.json.decode(data, type=ChatAddress) if isinstance(data, bytes) else ChatAddress("", "")
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ChatAddress("", "")
    return found if len(found.token) >= 32 and found.token.isalnum() else ChatAddress("", "")


# A systemd user unit that serves a project at every login.

_MARK: Final = "# written by `treadle serve --install`"
_UNIT: Final = """{mark}
[Unit]
Description=Treadle drives the runs of {root}

[Service]
WorkingDirectory={root}
ExecStart={python} -m treadle serve
Environment={path}
Restart=on-failure
KillMode=mixed
TimeoutStopSec=60

[Install]
WantedBy=default.target
"""


def install_unit(project: Project) -> str:
    """Write the systemd unit of a project, and return the remaining steps for the user."""
    root = str(project.root)
    if not root.isprintable():
        raise TreadleError(f"{root!a}: systemd takes no such path; move the project", code="service.path")
    folder, name = _units(), _unit_name(project)
    folder.mkdir(parents=True, exist_ok=True)
    text = _UNIT.format(
        mark=_MARK,
        root=_escaped(root),
        python=_quoted(sys.executable),
        path=_quoted(f"PATH={os.environ.get('PATH', os.defpath)}"),
    )
    write_again(folder / name, text, lambda beginning: beginning.startswith(_MARK))
    return (
        f"{folder / name} is written. Start it now and at every login:\n"
        f"  systemctl --user daemon-reload\n  systemctl --user enable --now {name}\n"
        f"Its log: journalctl --user -u {name} -f\n"
        "To keep it running while you are logged out: loginctl enable-linger"
    )


def installed_unit(project: Project) -> Path | None:
    """Return the unit of a project, if `treadle serve --install` has written one."""
    path = _units() / _unit_name(project)
    try:
        return path if path.read_text(encoding="utf-8", errors="replace").startswith(_MARK) else None
    except OSError:
        return None


def remove_unit(project: Project) -> None:
    """Remove the unit of a project, and the links by which systemd starts it at login."""
    if path := installed_unit(project):
        links = (link for link in path.parent.glob(f"*.wants/{path.name}") if link.is_symlink())
        for one in (*links, path):
            one.unlink(missing_ok=True)


def _unit_name(project: Project) -> str:
    name = re.sub("[^a-z0-9]+", "-", project.root.name.lower()) or "project"
    digest = sha256(str(project.root).encode(errors="surrogateescape")).hexdigest()[:6]
    return f"treadle-{name}-{digest}.service"


def _units() -> Path:
    given = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    return (given if given.is_absolute() else Path.home() / ".config") / "systemd" / "user"


def _escaped(text: str) -> str:
    """Escape `%`, which begins a specifier of systemd."""
    return text.replace("%", "%%")


def _quoted(text: str) -> str:
    return '"' + _escaped(text).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$") + '"'
