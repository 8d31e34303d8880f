"""`treadle model-server`: a model that is played from a script, for real agent programs."""

import os
import select
import signal
import socket
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from played_model.script import Library
    from played_model.server import Exchange


def model_server(
    scripts: Annotated[Path, typer.Argument(help="The file with the scripts.", metavar="SCRIPTS")],
    port: Annotated[
        int, typer.Option("--port", help="The port to listen on; 0 takes any free port.", min=0, max=65535)
    ] = 0,
    project: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Answer the agents of the project in this folder; SCRIPTS then has the scripts of these agents.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document per line, for programs.")] = False,
) -> None:
    """Serve a scripted model on this machine, so that you can try agents without a real model.

    Stop the server with Ctrl-C.
    """
    from played_model.server import HOST, ModelServer
    from treadle.cli.output import harmless, print_json_line, print_text
    from treadle.errors import PortError

    library = _played_agents(scripts, project) if project else _read_scripts(scripts)
    with _EndSignal() as end:

        def print_exchange(exchange: "Exchange") -> None:
            try:
                if as_json:
                    print_json_line(exchange)
                else:
                    typer.echo(harmless(str(exchange)))
            except OSError:  # the reader of the output is gone
                end.set()

        try:
            server = ModelServer(library, port, print_exchange)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise PortError(
                f"cannot listen on port {port} of {HOST}: {why}; choose another, or 0 for any",
                code="listen.unavailable",
            ) from None
        with server:
            if as_json:
                print_json_line(server.welcome)
            else:
                names = ", ".join(server.welcome.scripts)
                print_text(f"the model server is at {server.url}; Ctrl-C ends it\nscripts: {names}")
            end.wait()


def _read_scripts(file: Path) -> "Library":
    from played_model.script import ScriptError, read_scripts
    from treadle.agents.script import script_text
    from treadle.errors import ProtocolError
    from treadle.protocol.findings import Finding, Place

    try:
        return read_scripts(script_text(file), str(file))
    except ScriptError as error:
        code = "script.invalid"
        found = (Finding(Place(str(file), it.line), it.path, it.message, code=code) for it in error.mistakes)
        raise ProtocolError(f"{file} holds no scripts", tuple(found), code=code) from None


def _played_agents(scripts: Path, project: Path) -> "Library":
    from treadle.agents.script import load_script
    from treadle.config.project import Project
    from treadle.errors import TreadleError
    from treadle.testing.played_agents import PlayedAgents

    if not project.is_dir():
        raise TreadleError(f"there is no folder {project}; name that of the project", code="file.missing")
    return PlayedAgents(load_script(scripts), Project(project.absolute()).runs)


class _EndSignal:
    """The end of the process: SIGINT, SIGTERM, `set`, or the end of a pipe on standard input; for the main thread."""

    def __enter__(self) -> "_EndSignal":
        self._receiver, self._sender = socket.socketpair()
        self._before = {it: signal.signal(it, lambda *_: self.set()) for it in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        self._receiver.close()
        self._sender.close()

    def set(self) -> None:
        """End it, from any thread."""
        self._sender.send(b".")

    def wait(self) -> None:
        # A pipe or a socket ends with the program that holds its other end; a terminal has Ctrl-C, and a file is
        # always ready.
        pipe = []
        try:
            kind = os.fstat(sys.stdin.fileno()).st_mode
            pipe = [sys.stdin.fileno()] if stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind) else []
        except (OSError, ValueError, AttributeError):
            pass  # there is no standard input
        while True:
            ready, _, _ = select.select([self._receiver, *pipe], [], [])
            if self._receiver in ready or not os.read(pipe[0], 4096):
                return
