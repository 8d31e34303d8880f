"""Moves runs without a person at the terminal: delivers a posted event, or serves all runs of a project.

`take_up` delivers one event for a command; `Service` drives every unfinished run for `treadle serve`.
"""

import asyncio
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import msgspec

from treadle.config.project import Project, make_local
from treadle.engines.driver import GLANCE, Driver
from treadle.engines.result import result_of
from treadle.engines.surroundings import Hear, ProjectSurroundings, hear_nothing
from treadle.errors import PortError, TreadleError, writing
from treadle.kernel.state import State
from treadle.runtime.desk import Desk
from treadle.runtime.dispatch import AgentTools
from treadle.runtime.loop import has_ended
from treadle.store.leases import driver_of
from treadle.store.sqlite import Store
from treadle.views.outcomes import is_good
from treadle.views.result import result_lines

# Delivering a posted event to a run: its driver handles it, or this process does.

_PATIENCE: Final = 10.0
"""Seconds to wait for the driver, which polls much more often unless its machine sleeps."""


class TakeUpResult(msgspec.Struct, frozen=True):
    """The process that handled a posted event, and the state of the run after it."""

    by: int
    """The process that drives the run; 0: this process did, and the run has no driver now."""
    state: State
    waits: bool = False
    """Whether the driver has not handled the event yet."""


Still = Callable[[State], bool]


async def take_up(
    project: Project, store: Store, run: str, still: Still = lambda _: False, hear: Hear = hear_nothing
) -> TakeUpResult:
    """Deliver a posted event: to the running driver, or drive the run here as far as it needs no agent.

    `still` returns whether something outside the inbox, left for the driver, is still unhandled. `hear` follows the
    checks if this process runs them; another process shows them in its own terminal.
    """
    pid = driver_of(store.run(run))
    if not pid:
        surroundings = ProjectSurroundings(project, store, starts_agents=False, hear=hear)
        try:
            return TakeUpResult(0, await Driver(store, surroundings).drive(run))
        except PortError:
            pid = driver_of(store.run(run))
            if not pid:  # else another process was faster
                raise
    for _ in range(int(_PATIENCE / GLANCE)):
        if not store.posted(run) and not still(store.load(run).state):
            return TakeUpResult(pid, store.load(run).state)
        await asyncio.sleep(GLANCE)
    return TakeUpResult(pid, store.load(run).state, waits=True)


# The service: one driver for all runs of a project.

_POLL: Final = 0.5
"""Seconds between two polls for runs without a driver."""
_PAUSE: Final = 30.0
"""Seconds until the service retries a run after a temporary failure: a full disk, a busy store."""
LOCK: Final = "serve.lock"

Tell = Callable[[str, str], None]
"""Receives the news about a run: its name and a sentence."""


@contextmanager
def service_lock(project: Project) -> Iterator[None]:
    """Lock the project for one serving process at a time; the system releases the lock when that process ends."""
    path = make_local(project) / LOCK
    with writing(path):
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        pid = os.pread(file, 20, 0).decode(errors="replace").strip() or "another one"
        os.close(file)
        raise TreadleError(
            f"{project.root} is served already, by process {pid}; a project needs only one", code="service.running"
        ) from None
    try:
        with writing(path):
            os.ftruncate(file, 0)
            os.pwrite(file, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(file)


class Service:
    """Drives every unfinished run without a driver; a run that breaks does not stop the others."""

    def __init__(
        self,
        project: Project,
        store: Store,
        tell: Tell,
        changed: Callable[[Desk], None],
        pause: float = _PAUSE,
        tools: AgentTools | None = None,
        hear: Hear = hear_nothing,
    ) -> None:
        self._project, self._store, self._tell, self._changed = project, store, tell, changed
        self._driver = Driver(store, ProjectSurroundings(project, store, hear=hear, tools=tools))
        self._pause = pause
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._broken: dict[str, int] = {}
        """Runs that could not be driven, and how far they were; they are left alone until they change."""

    async def serve(self) -> None:
        """Serve until cancelled; then end the agents and keep their work."""
        try:
            while True:
                for run in self._store.runs():
                    if run.outcome or run.id in self._tasks or driver_of(run) or self._broken.get(run.id) == run.seq:
                        continue
                    self._tell(run.id, "is now driven by this service" if not run.seq else "is resumed by this service")
                    self._tasks[run.id] = asyncio.create_task(self._serve_run(run.id))
                await asyncio.sleep(_POLL)
        finally:
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _serve_run(self, run: str) -> None:
        """Drive a run to its end, however long people take, and tell how it ended."""
        try:
            state = await self._driver.drive(run, self._changed, has_ended)
            self._tell(run, f"has ended with {state.outcome}")
            if result := await result_of(self._project, self._store.run(run)):
                for line in result_lines(run, result, good=is_good(state.outcome)):
                    self._tell(run, line)
        except TreadleError as error:
            record = self._store.run(run)
            if driver_of(record):  # another process was faster
                return
            self._tell(run, f"cannot be driven: {error} [{error.code}]")
            if isinstance(error, PortError) and error.retryable:
                await asyncio.sleep(self._pause)
            else:
                self._broken[run] = record.seq
        finally:
            del self._tasks[run]
