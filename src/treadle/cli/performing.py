"""What `treadle demo` does: a repository, a run in it, and how to look further; or a simulated run."""

import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from treadle.cli.driver_process import call
from treadle.cli.examine import sound
from treadle.cli.guard import INTERRUPTED, UNWELL, complain
from treadle.cli.output import console, is_terminal, say
from treadle.cli.performance import Performance
from treadle.cli.stage import play, recite, report, watch
from treadle.cli.story import simulated
from treadle.config.project import Project
from treadle.errors import TreadleError
from treadle.protocol.load import load
from treadle.testing.demos import SCRIPT, Demo, demo, demos, lay_out
from treadle.views.moment import duration

PAGE: Final = "evidence.html"


def perform(protocol: str, folder: Path | None, agent: str = "") -> int:
    """Play a protocol's demo in a folder of its own, from an empty repository to the evidence; the exit code.

    With an agent, its real program does the work, and only the model behind it is played.
    """
    told = _demo_of(protocol)
    python = _python()
    place = (folder or Path(tempfile.mkdtemp(prefix="treadle-demo-"))).absolute()
    lay_out(protocol, place, python)
    say(f"{told.title}\nThe repository: {place}\n")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    began = time.monotonic()
    try:
        with (
            _played(place, agent) as env,
            closing((performance := Performance(told, place, agent, env)).scenes()) as scenes,
        ):
            # whatever ends it, nobody drives the run afterwards
            if is_terminal() and not console().is_dumb_terminal:
                watch(load(protocol), scenes)
            else:
                report(scenes)
    except KeyboardInterrupt:
        complain(f"interrupted; `cd {shlex.quote(str(place))} && {_program()} resume {told.run}` goes on where it was")
        return INTERRUPTED
    call(place, "evidence", told.run, "--html", PAGE)
    say(_farewell(told, place, time.monotonic() - began))
    for beat in performance.missed:
        complain(f"this should have been seen, and was not: {beat.say}")
    return UNWELL if performance.missed else 0


@contextmanager
def _played(place: Path, agent: str) -> Iterator[Mapping[str, str]]:
    """A model for the agent, if there is one to be played: it says what the script has its agents do."""
    if not agent:
        yield {}
        return
    from treadle.agents.script_reading import load_script
    from treadle.testing.model_server.acting import Actors
    from treadle.testing.model_server.clients import client_variables
    from treadle.testing.model_server.server import ModelServer

    with (
        ModelServer(Actors(load_script(place / SCRIPT), Project(place).runs, is_counted=True)) as server,
        tempfile.TemporaryDirectory(prefix="treadle-home-") as home,
    ):
        say(f"The model of {agent} is played at {server.url}; no key is used, and nothing is paid.\n")
        yield client_variables(server.url, Path(home))


def simulate(protocol: str, seed: int, faults: float, speed: float) -> None:
    """Show a random run of a protocol: every decision is the kernel's own, everything else is played."""
    model = sound(protocol)
    scenes = simulated(model, seed, faults)
    if is_terminal():
        play(model, scenes, speed, protocol)
    else:
        recite(model, scenes)


def _demo_of(protocol: str) -> Demo:
    if protocol in demos():
        return demo(protocol)
    sound(protocol)
    there = ", ".join(demos())
    watch_it = f"`treadle demo --simulated --protocol {shlex.quote(protocol)}`"
    raise TreadleError(
        f"{protocol} has no demo in a real repository yet; there are demos of {there}; {watch_it} shows a random run",
        code="demo.none",
    )


def _python() -> str:
    """A Python with pytest: the tests of a demo are real ones."""
    if not shutil.which("git"):
        raise TreadleError(
            "the demo makes a real repository and needs git, which is not on the PATH; install it", code="git.missing"
        )
    for name in dict.fromkeys([sys.executable, shutil.which("python3") or "", shutil.which("python") or ""]):
        if (
            name
            and not subprocess.run([name, "-m", "pytest", "--version"], check=False, capture_output=True).returncode
        ):
            return name
    install = f"`{shlex.quote(sys.executable)} -m pip install pytest`"
    raise TreadleError(
        f"the demo runs real tests and needs pytest, which no Python here has; {install} installs it",
        code="toolchain.missing",
    )


def _program() -> str:
    """How this program is called here."""
    if shutil.which("treadle"):
        return "treadle"
    called = Path(sys.argv[0])
    return (
        shlex.quote(str(called.absolute())) if called.name == "treadle" else f"{shlex.quote(sys.executable)} -m treadle"
    )


def _farewell(told: Demo, place: Path, seconds: float) -> str:
    commands = [f"{_program()} {words}" for words, _ in told.further]
    width = max(map(len, commands))
    further = [f"  {one:{width}}  {about}" for one, (_, about) in zip(commands, told.further, strict=True)]
    page = f"What is proved, criterion by criterion: {place / PAGE}"
    return "\n".join(
        ["", f"Done in {duration(seconds)}.", page, "To look further:", f"  cd {shlex.quote(str(place))}", *further]
    )
