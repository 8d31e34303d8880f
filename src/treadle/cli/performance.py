"""The performance of a demo, for `treadle demo`: a protocol at real work in a repository of its own.

Another process drives the run, is killed on the way, and a second one resumes it; a stand-in gives a person's
answers. At the end there are commands to look further.
"""

import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from fnmatch import fnmatchcase
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.text import Text

from treadle.cli.driver_process import DriverProcess, call_treadle, play_model
from treadle.cli.guard import INTERRUPTED, UNWELL, complain, quote_word
from treadle.cli.library import load_sound_protocol
from treadle.cli.output import console, is_terminal, print_text
from treadle.cli.run_reader import open_for_reading
from treadle.cli.run_status import draw_tree
from treadle.config.project import Project
from treadle.engines.status import RunFollower
from treadle.errors import PortError, TreadleError
from treadle.kernel.events import Checked, Event
from treadle.kernel.instances import ROOT
from treadle.kernel.reduce import reduce
from treadle.kernel.replay import Move
from treadle.kernel.state import State
from treadle.kernel.waits import awaits_go
from treadle.prompts.foreign import visible
from treadle.protocol.load import load
from treadle.protocol.model import Protocol, base_of
from treadle.runtime.loop import awaits_only_people
from treadle.simulate.run import describe_event
from treadle.simulate.world import Ledger, Mood, RandomWorld
from treadle.store.sqlite import Store
from treadle.testing.demos import SCRIPT, SPEC, Beat, Demo, demos, lay_out
from treadle.testing.demos import demo as load_demo
from treadle.views.chronicle import Chronicle
from treadle.views.timeline import describe_move
from treadle.views.tree import InstanceLine, tree
from treadle.views.words import count_words, duration, reason

# Scenes of a run to watch, and the generator for simulated ones.

PATIENCE = 150


class Scene(NamedTuple):
    """An event of a run, with the state after it."""

    caption: str
    """The caption for a viewer; empty if the scene needs none."""
    state: State
    log: str = ""
    """The line that the log of a real run has for it."""


def simulate_scenes(protocol: Protocol, seed: int, faults: float) -> Iterator[Scene]:
    """Simulate a run in a random world, until it ends."""
    world, state, ledger = RandomWorld(protocol, Random(f"{protocol.name} {seed}"), faults), State(), Ledger()
    event: Event | None = world.start()
    count = 0
    while event is not None:
        state, commands = reduce(protocol, state, event)
        ledger.enter(event, commands)
        yield Scene(describe_event(event), state)
        if state.outcome:
            return
        count += 1
        mood: Mood = "wild" if count < PATIENCE else "kind" if count < 4 * PATIENCE else "ending"
        event = world.next(state, ledger, mood)


PAUSE: Final = 1.1
RECENT: Final = 8
BORDER: Final = 3
"""The lines of a screen that are neither tree nor captions: the frame, and where the cursor stands."""
NEXT: Final = """
Agents, git and tests were simulated; the kernel made every decision from the protocol's table.

  treadle protocol table {protocol:11} the table
  treadle protocol check {protocol:11} check its properties
  treadle protocol sim {protocol:13} check every invariant in many random runs
"""


def play(protocol: Protocol, scenes: Iterable[Scene], speed: float, name: str) -> None:
    """Show the scenes one after the other, in place; `name` is the name or path that the user gave the protocol."""
    screen, recent = console(), deque[str](maxlen=RECENT)
    with Live(console=screen, auto_refresh=False) as live:
        for scene in scenes:
            recent.append(visible(scene.caption))
            live.update(draw_scene(protocol, scene, tuple(recent), screen), refresh=True)
            time.sleep(PAUSE / speed if speed else 0)
    screen.print(Text(NEXT.format(protocol=quote_word(name))), soft_wrap=True)


def watch(protocol: Protocol, scenes: Iterable[Scene]) -> None:
    """Show scenes as they happen: the live tree at the bottom, the captions scrolling above it."""
    screen = console()
    with Live(console=screen, auto_refresh=False) as live:
        for scene in scenes:
            if scene.caption:
                live.console.print(Text(visible(scene.caption)))
            room = max(screen.height - BORDER, 1)
            live.update(_framed(protocol, scene, room), refresh=True)


def draw_scene(protocol: Protocol, scene: Scene, recent: Sequence[str], screen: Console) -> RenderableType:
    """Draw a scene that fits the screen: half of a low screen for the tree, and the newest caption in full."""
    newest = Text(recent[-1], style="bold default")
    height, needed = screen.height - BORDER, len(newest.wrap(screen, screen.width))
    older = recent[max(len(recent) - max(height // 2 - needed, 0) - 1, 0) : -1]
    room = max(height - needed - len(older), 1)
    captions = [Text(caption, "bright_black", no_wrap=True, overflow="ellipsis") for caption in older]
    return Group(_framed(protocol, scene, room), *captions, newest)


def _framed(protocol: Protocol, scene: Scene, room: int) -> Panel:
    title = Text(f"{protocol.name} · event {scene.state.seq}")
    return Panel(draw_tree(tree(protocol, scene.state), room, wraps=False), title=title, title_align="left")


def recite(protocol: Protocol, scenes: Iterable[Scene]) -> None:
    """Print the scenes line by line: the event, and the instances that it moved."""
    before: set[InstanceLine] = set()
    for number, scene in enumerate(scenes, 1):
        print_text(f"{number:3} {scene.caption}")
        lines = tree(protocol, scene.state)
        for line in lines:
            if line not in before:
                print_text(f"      {line.instance}: {' · '.join(part for part in (line.step, line.text) if part)}")
        before = set(lines)


def report(scenes: Iterable[Scene]) -> None:
    """Print scenes as they happen: the log line of each, and its caption below."""
    for scene in scenes:
        for line in (scene.log, f"        {scene.caption}" if scene.caption else ""):
            if line:
                print_text(line)
        sys.stdout.flush()


# The stand-in for a person in a demo: answers questions, and starts steps that wait for a go.


class StandInDeed(NamedTuple):
    """A command that a person would use, and a verb for it."""

    does: str
    words: list[str]


class StandIn:
    """A stand-in for the person in a demo: gives each prepared answer and go once."""

    def __init__(self, demo: Demo) -> None:
        self._demo = demo
        self._done: set[str] = set()

    def due(self, protocol: Protocol, state: State) -> Iterator[StandInDeed]:
        """Yield the commands that are due now."""
        for id_, ask in state.asks.items():
            place = f"{ask.inst}:{base_of(ask.step)}"
            answer = next((one for one in self._demo.answers if one.ask == place), None)
            if answer and self._is_new(id_):
                note = ["--note", answer.note] if answer.note else []
                yield StandInDeed("answers", ["answer", self._demo.run, answer.ask, answer.choice, *note])
        for inst in [inst for inst in state.insts.values() if inst.live]:
            step = awaits_go(protocol, state, inst)
            place = f"{inst.id}:{base_of(step)}"
            may_start = any(fnmatchcase(place, pattern) for pattern in self._demo.starts)
            if step and may_start and self._is_new(f"{place}#{inst.visits.get(step, 0)}"):
                at = [] if inst.id == ROOT else ["--at", inst.id]
                yield StandInDeed("gives its go", ["go", self._demo.run, step, *at])

    def _is_new(self, id_: str) -> bool:
        is_new = id_ not in self._done
        self._done.add(id_)
        return is_new


_GLANCE: Final = 0.1
_FOLLOWED: Final = " → "


class Performance:
    """One performance of a demo in a folder that has its repository."""

    def __init__(self, demo: Demo, folder: Path, agent: str = "", env: Mapping[str, str] | None = None) -> None:
        self._demo, self._folder = demo, folder
        self._agent, self._env = agent or f"scripted:{SCRIPT}", env or {}
        self._open = list(demo.scenes)
        self._stand_in = StandIn(demo)
        self._is_helped = False
        self._is_killed = not demo.kill

    @property
    def missed(self) -> list[Beat]:
        """The expected beats that have not happened."""
        return list(self._open)

    def scenes(self) -> Generator[Scene]:
        """Yield each scene as it happens, until the run ends; closing the generator ends the driver process."""
        with DriverProcess(self._folder, self._env) as driving:
            driving.start("run", SPEC, "--agent", self._agent, "--name", self._demo.run)
            while not self._is_recorded(driving):
                time.sleep(_GLANCE)
            with open_for_reading(Project(self._folder)) as store:
                found = RunFollower(store, store.run(self._demo.run))
                while not found.record.outcome:
                    is_gone = driving.is_gone
                    for made in found.catch_up():
                        yield self._scene(made, store)
                        if not self._is_killed and fnmatchcase(_text(made, store), self._demo.kill):
                            yield from self._killed(driving, made.state)
                    for deed in self._due(found.chronicle, driving):
                        yield self._done(deed, found.chronicle.state, driving)
                        is_gone = False
                    if is_gone and not found.record.outcome:
                        self._take_up(driving)
                    time.sleep(_GLANCE)
                driving.wait()

    def _is_recorded(self, driving: DriverProcess) -> bool:
        """Whether the run is in the store by now; an error if it never will be."""
        is_gone = driving.is_gone
        with suppress(TreadleError), open_for_reading(Project(self._folder)) as store:
            if store.runs():
                return True
        if is_gone:
            raise TreadleError(
                f"the run could not be started in {self._folder}:\n{driving.last_words}", code="run.not_started"
            )
        return False

    def _scene(self, made: Move, store: Store) -> Scene:
        text = _text(made, store)
        due = next((one for one in self._open if one.fitting(text)), None)
        beat = due.fitting(text) if due else None
        if due:
            self._open.remove(due)
        since = (made.event.ts - made.state.started) / 1000
        log = f"{since:5.1f}s  {text.partition(_FOLLOWED)[0]}{_why(made, store)}"
        return Scene(beat.say if beat else "", made.state, log)

    def _killed(self, driving: DriverProcess, state: State) -> Iterator[Scene]:
        self._is_killed = True
        pid = driving.pid
        driving.kill()
        busy = count_words(len(state.acts), "activity", "activities")
        yield Scene(f"kill -9 {pid}: the demo has killed the process that drives the run, with {busy} open.", state)
        driving.start("resume", self._demo.run)
        yield Scene(
            f"treadle resume {self._demo.run}: another process continues the run from its log. Nothing is lost.", state
        )

    def _due(self, now: Chronicle, driving: DriverProcess) -> list[StandInDeed]:
        """Return the due commands of the stand-in; none while a driver is about to rest.

        One command can answer and resume once that driver is gone.
        """
        if now.protocol is None or (awaits_only_people(now.state) and not driving.is_gone):
            return []
        return list(self._stand_in.due(now.protocol, now.state))

    def _done(self, deed: StandInDeed, state: State, driving: DriverProcess) -> Scene:
        """Give the stand-in's command; without a driver, add `--resume` to continue the run."""
        words = deed.words
        if driving.is_gone:
            driving.start(*(words := [*words, "--resume"]))
        else:
            call_treadle(self._folder, *words)
            self._is_helped = True
        return Scene(f"The demo itself {deed.does} in your place: treadle {shlex.join(words)}", state)

    def _take_up(self, driving: DriverProcess) -> None:
        """Resume the run if an answer or a go came just as the driver went to rest; otherwise the run has failed."""
        if not self._is_helped:
            errors = driving.last_words
            raise TreadleError(
                f"the run came to a stop; `cd {shlex.quote(str(self._folder))} && treadle status` shows where"
                + (f"\n{errors}" if errors else ""),
                code="demo.failed",
            )
        self._is_helped = False
        driving.start("resume", self._demo.run)


def _text(made: Move, store: Store) -> str:
    return describe_move(made, store.payloads.get).text


def _why(made: Move, store: Store) -> str:
    """Explain why work was refused, in the words of the checks; empty if it was not."""
    if not isinstance(made.event, Checked) or all(one.ok for one in made.event.results):
        return ""
    state, place = made.state, made.event.act.partition("#")[0]
    # The step was sent back, or has just failed its gate.
    frames = [inst.frames[-1] for inst in state.insts.values() if inst.frames]
    causes = [(it.cause, it.cause_ref) for it in frames if it.cause_ref and it.id and place == it.id.partition("#")[0]]
    id_, _, step = place.rpartition(":")
    slots = state.insts[id_].slots.items() if id_ in state.insts else ()
    causes += [
        ("!gate", slot.ref)
        for name, slot in slots
        if name.startswith(f"{step}.!gate") and slot.seq == state.seq and slot.ref
    ]
    for cause, ref in causes:
        with suppress(PortError):
            return f"; {reason(cause, store.payloads.get(ref))}"
    return ""


# The parts of `treadle demo`: a repository, a run in it, and commands to look further; or a simulated run.

PAGE: Final = "evidence.html"


def perform_demo(protocol: str, folder: Path | None, agent: str = "") -> int:
    """Play a protocol's demo in a folder of its own, from an empty repository to the evidence; the exit code.

    With an agent, its real program does the work, and only the model behind it is played.
    """
    if protocol not in demos():
        load_sound_protocol(protocol)
        watch_it = f"`treadle demo --simulated --protocol {shlex.quote(protocol)}`"
        raise TreadleError(
            f"{protocol} has no demo in a real repository yet; there are demos of {', '.join(demos())}; "
            f"{watch_it} shows a random run",
            code="demo.none",
        )
    story = load_demo(protocol)
    python = _find_python()
    place = (folder or Path(tempfile.mkdtemp(prefix="treadle-demo-"))).absolute()
    lay_out(protocol, place, python)
    print_text(f"{story.title}\nThe repository: {place}\n")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    began = time.monotonic()
    try:
        with play_model(place, SCRIPT if agent else "", is_counted=True) as (env, model):
            if model:
                print_text(f"A scripted model at {model.url} answers {agent}: no key, no cost.\n")
            performance = Performance(story, place, agent, env)
            with closing(performance.scenes()) as scenes:  # also on an error, leave no driver behind
                if is_terminal() and not console().is_dumb_terminal:
                    watch(load(protocol), scenes)
                else:
                    report(scenes)
    except KeyboardInterrupt:
        complain(f"interrupted; `cd {shlex.quote(str(place))} && {_program()} resume {story.run}` continues the run")
        return INTERRUPTED
    call_treadle(place, "evidence", story.run, "--html", PAGE)
    print_text(_farewell(story, place, time.monotonic() - began))
    for beat in performance.missed:
        complain(f"this demo should have shown the following, but did not: {beat.say}")
    return UNWELL if performance.missed else 0


def _find_python() -> str:
    """Find a Python with pytest: the tests of a demo are real ones."""
    if not shutil.which("git"):
        raise TreadleError(
            "the demo makes a real repository and needs git, which is not on the PATH; install it", code="git.missing"
        )
    for name in dict.fromkeys([sys.executable, shutil.which("python3") or "", shutil.which("python") or ""]):
        asked = [name, "-m", "pytest", "--version"]
        if name and not subprocess.run(asked, check=False, capture_output=True).returncode:
            return name
    install = f"`{shlex.quote(sys.executable)} -m pip install pytest`"
    raise TreadleError(
        f"the demo runs real tests and needs pytest, which no Python here has; {install} installs it",
        code="toolchain.missing",
    )


def _program() -> str:
    """Return the command that starts this program here."""
    if shutil.which("treadle"):
        return "treadle"
    called = Path(sys.argv[0])
    return (
        shlex.quote(str(called.absolute())) if called.name == "treadle" else f"{shlex.quote(sys.executable)} -m treadle"
    )


def _farewell(story: Demo, place: Path, seconds: float) -> str:
    commands = [f"{_program()} {words}" for words, _ in story.further]
    width = max(map(len, commands))
    further = [f"  {one:{width}}  {about}" for one, (_, about) in zip(commands, story.further, strict=True)]
    page = f"The evidence for each criterion: {place / PAGE}"
    return "\n".join(
        ["", f"Done in {duration(seconds)}.", page, "To look around:", f"  cd {shlex.quote(str(place))}", *further]
    )
