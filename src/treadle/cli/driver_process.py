"""Treadle's own commands as child processes in a folder: a driver of a run, which may be killed, and short commands.

Also the played model that stands behind a real agent program in a demo or a trial.
"""

import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from treadle.config.project import Project
from treadle.errors import TreadleError
from treadle.testing.demos import git_environment

if TYPE_CHECKING:
    from played_model.server import ModelServer

_PATIENCE: Final = 20.0
"""Seconds for a driver that was interrupted to end its agents in order."""


def treadle_command(*words: str) -> list[str]:
    """Return a command line that starts this very program."""
    return [sys.executable, "-P", "-m", "treadle", *words]


def call_treadle(folder: Path, *words: str) -> None:
    """Run a short command to its end; raise an error with its output if it fails."""
    done = subprocess.run(
        treadle_command(*words),
        cwd=folder,
        env=git_environment(),
        check=False,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
    )
    if done.returncode:
        raise TreadleError(
            f"`treadle {words[0]}` failed in {folder}: {done.stderr.strip() or done.stdout.strip()}", code="demo.failed"
        )


@contextmanager
def play_model(
    folder: Path, script: str, *, is_counted: bool = False
) -> "Iterator[tuple[Mapping[str, str], ModelServer | None]]":
    """Play a model that answers as the script in the folder prescribes; yield the variables for agents, and it.

    Without a script no model is played: the agent has its own.
    """
    if not script:
        yield {}, None
        return
    from played_model.server import ModelServer, client_variables
    from treadle.agents.script import load_script
    from treadle.testing.played_agents import PlayedAgents

    played = PlayedAgents(load_script(folder / script), Project(folder).runs, is_counted=is_counted)
    with ModelServer(played) as server, tempfile.TemporaryDirectory(prefix="treadle-home-") as home:
        yield client_variables(server.url, Path(home)), server


class DriverProcess(AbstractContextManager["DriverProcess"]):
    """The process that drives a run; at the end of the context there is none."""

    def __init__(self, folder: Path, env: Mapping[str, str] | None = None) -> None:
        self._folder, self._env = folder, env or {}
        self._process: subprocess.Popen[bytes] | None = None
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with this object

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    @property
    def is_gone(self) -> bool:
        return self._process is None or self._process.poll() is not None

    @property
    def last_words(self) -> str:
        """The standard error of all processes started here."""
        self._said.seek(0)
        return self._said.read().decode(errors="replace").strip()

    def start(self, *words: str) -> None:
        """Start a command that drives; Ctrl-C in a terminal does not reach it by itself."""
        self._process = subprocess.Popen(
            treadle_command(*words), cwd=self._folder, env={**git_environment(), **self._env}, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=self._said, start_new_session=True,
        )  # fmt: skip

    def kill(self) -> None:
        """Kill the process as `kill -9` does."""
        if self._process:
            self._process.kill()
            self._process.wait()

    def wait(self) -> None:
        """Wait for the end of the process."""
        if self._process:
            self._process.wait()

    def __exit__(self, *_: object) -> None:
        if self._process and not self.is_gone:
            self._process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_PATIENCE)
            self.kill()
        self._said.close()
