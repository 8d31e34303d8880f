"""One host for all runs of a project, for as long as it runs."""

import asyncio
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from treadle.config.project import Project, make_local
from treadle.engines.driving import Driver, driver_of
from treadle.engines.result import result_of
from treadle.engines.surroundings import Hear, hear_nothing
from treadle.errors import PortError, TreadleError, writing
from treadle.runtime.desk import Desk
from treadle.runtime.tools import Tools
from treadle.store.records import Run
from treadle.store.sqlite import Store
from treadle.views.result import is_good, told

_GLANCE: Final = 0.5
"""Seconds between two looks for runs that nobody drives."""
_PAUSE: Final = 30.0
"""Seconds until a run is tried again whose surroundings failed for a while: a full disk, a busy store."""
LOCK: Final = "serve.lock"

Tell = Callable[[str, str], None]
"""Told of what happens to a run: its name, and a sentence."""


@contextmanager
def only_one(project: Project) -> Iterator[None]:
    """The right to serve a project, held by one process at a time; the system takes it back when that ends."""
    path = make_local(project) / LOCK
    with writing(path):
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        pid = os.pread(file, 20, 0).decode(errors="replace").strip() or "another one"
        os.close(file)
        raise TreadleError(
            f"{project.root} is served already, by process {pid}; one is enough", code="service.running"
        ) from None
    try:
        with writing(path):
            os.ftruncate(file, 0)
            os.pwrite(file, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(file)


class Service:
    """Drives whatever run is unfinished and has no driver; one that breaks does not stop the others."""

    def __init__(
        self,
        project: Project,
        store: Store,
        tell: Tell,
        changed: Callable[[Desk], None],
        pause: float = _PAUSE,
        tools: Tools | None = None,
        hear: Hear = hear_nothing,
    ) -> None:
        self._project, self._store, self._tell, self._changed = project, store, tell, changed
        self._driver, self._pause = Driver(project, store, hear=hear, tools=tools), pause
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._broken: dict[str, int] = {}
        """Runs that could not be driven, and how far they were; they are left alone until they change."""

    async def serve(self) -> None:
        """Until it is cancelled: then agents are ended, and their work is kept."""
        try:
            while True:
                self._take_up()
                await asyncio.sleep(_GLANCE)
        finally:
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def _take_up(self) -> None:
        for run in self._store.runs():
            if run.outcome or run.id in self._tasks or driver_of(run) or self._broken.get(run.id) == run.seq:
                continue
            self._tell(run.id, "is driven from here on" if not run.seq else "is taken up where it was")
            self._tasks[run.id] = asyncio.create_task(self._drive(run.id))

    async def _drive(self, run: str) -> None:
        try:
            state = await self._driver.to_end(run, self._changed)
            self._tell(run, f"has ended with {state.outcome}")
            if found := await result_of(self._project, self._store.run(run)):
                for line in told(run, found, good=is_good(state.outcome)):
                    self._tell(run, line)
        except TreadleError as error:
            record = self._store.run(run)
            if not driver_of(record):
                self._tell(run, f"cannot be driven: {error} [{error.code}]")
                await self._set_aside(record, error)
        finally:
            del self._tasks[run]

    async def _set_aside(self, run: Run, error: TreadleError) -> None:
        """Leave a run alone: until it changes, or for a while if that may help."""
        if isinstance(error, PortError) and error.retryable:
            await asyncio.sleep(self._pause)
        else:
            self._broken[run.id] = run.seq
