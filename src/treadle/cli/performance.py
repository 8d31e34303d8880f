"""A demo at work: another process drives its run, is killed on the way, and another one takes the run up."""

import shlex
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from treadle.cli.driver_process import DriverProcess, call
from treadle.cli.reading import Follower, reading
from treadle.cli.standing_in import Deed, StandIn
from treadle.cli.story import Scene
from treadle.config.project import Project
from treadle.errors import PortError, TreadleError
from treadle.kernel.events import Checked
from treadle.kernel.replay import Move
from treadle.kernel.state import State
from treadle.runtime.loop import only_people
from treadle.store.sqlite import Store
from treadle.testing.demos import SCRIPT, SPEC, Beat, Demo
from treadle.views.chronicle import Chronicle
from treadle.views.counting import counted
from treadle.views.refusal import reason
from treadle.views.timeline import happened

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
        """What should have happened and has not."""
        return list(self._open)

    def scenes(self) -> Generator[Scene]:
        """Everything that happens, as it happens, until the run has ended; whoever stops listening ends the process."""
        with DriverProcess(self._folder, self._env) as driving:
            driving.start("run", SPEC, "--agent", self._agent, "--name", self._demo.run)
            while not self._is_recorded(driving):
                time.sleep(_GLANCE)
            with reading(Project(self._folder)) as store:
                found = Follower(store, store.run(self._demo.run))
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
        with suppress(TreadleError), reading(Project(self._folder)) as store:
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
        busy = counted(len(state.acts), "thing")
        yield Scene(f"kill -9 {pid}: the process that drives the run is gone, with {busy} under way.", state)
        driving.start("resume", self._demo.run)
        yield Scene(
            f"treadle resume {self._demo.run}: another process takes the run up from its log. Nothing is lost.", state
        )

    def _due(self, now: Chronicle, driving: DriverProcess) -> list[Deed]:
        """What a person would do now; a driver that is about to go to rest is let go, so that one command does both."""
        if now.protocol is None or (only_people(now.state) and not driving.is_gone):
            return []
        return list(self._stand_in.due(now.protocol, now.state))

    def _done(self, deed: Deed, state: State, driving: DriverProcess) -> Scene:
        """The demo does it by the command that a person would use; if nobody drives the run, that drives it on."""
        words = deed.words
        if driving.is_gone:
            driving.start(*(words := [*words, "--resume"]))
        else:
            call(self._folder, *words)
            self._is_helped = True
        return Scene(f"The demo itself {deed.does} in your place: treadle {shlex.join(words)}", state)

    def _take_up(self, driving: DriverProcess) -> None:
        """An answer or a go may come when the driver has just gone to rest; otherwise it should not have gone."""
        if not self._is_helped:
            said = driving.last_words
            raise TreadleError(
                f"the run came to a stop; `cd {shlex.quote(str(self._folder))} && treadle status` shows where"
                + (f"\n{said}" if said else ""),
                code="demo.failed",
            )
        self._is_helped = False
        driving.start("resume", self._demo.run)


def _text(made: Move, store: Store) -> str:
    return happened(made, store.payloads.get).text


def _why(made: Move, store: Store) -> str:
    """Why work was refused, in the words of the checks."""
    if not isinstance(made.event, Checked) or all(one.ok for one in made.event.results):
        return ""
    for cause, ref in _causes(made.state, made.event.act.partition("#")[0]):
        with suppress(PortError):
            return f"; {reason(cause, store.payloads.get(ref))}"
    return ""


def _causes(state: State, place: str) -> Iterator[tuple[str, str]]:
    """What a step was sent back by, or what it has just left by, and where the report about that lies."""
    for frame in (inst.frames[-1] for inst in state.insts.values() if inst.frames):
        if frame.cause_ref and frame.id and place == frame.id.partition("#")[0]:
            yield frame.cause, frame.cause_ref
    id_, _, step = place.rpartition(":")
    slots = state.insts[id_].slots.items() if id_ in state.insts else ()
    for name, slot in slots:
        if name.startswith(f"{step}.!gate") and slot.seq == state.seq and slot.ref:
            yield "!gate", slot.ref
