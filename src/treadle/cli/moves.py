"""Commands that move a run: act on it, drive it in the foreground until only people can move it, print its status.

The first Ctrl-C ends the agents in order, the second one at once.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final, TypeVar

import typer

from treadle.cli.delivery import deliver_result
from treadle.cli.guard import FAILED, INTERRUPTED, blame, complain
from treadle.cli.output import is_terminal, print_json
from treadle.cli.progress_board import CheckLines, ProgressBoard, ProgressLines, ProgressPicture
from treadle.cli.run_reader import find_run_to_move
from treadle.cli.run_status import code_of, join_lines
from treadle.config.project import Project, open_project
from treadle.engines.client import Client
from treadle.engines.driver import Driver
from treadle.engines.run_settings import settings_of
from treadle.engines.service import Still, TakeUpResult, take_up
from treadle.engines.status import read_status
from treadle.engines.surroundings import ProjectSurroundings
from treadle.engines.waits import rest_rule
from treadle.errors import PortError, TreadleError
from treadle.kernel.advance import is_out
from treadle.mcp.http import HttpTools
from treadle.store.leases import driver_of
from treadle.store.sqlite import Store, opened_store
from treadle.views.outcomes import is_good
from treadle.views.run_status import RunStatus, rest_document, rest_lines

# Ctrl-C: the first one ends the work in order, the second one at once.

T = TypeVar("T")
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_SHOW_CURSOR: Final = "\033[?25h"


def run_interruptibly(work: Coroutine[Any, Any, T], advice: str) -> T | None:
    """Return the result of the work; None if it was interrupted and has ended in order."""

    async def interruptible() -> T | None:
        task = asyncio.ensure_future(work)
        loop, count = asyncio.get_running_loop(), 0

        def interrupt() -> None:
            nonlocal count
            count += 1
            if count > 1:
                # Leave the agents running: the process that resumes the run finds them again.
                if sys.stdout is not None and sys.stdout.isatty():
                    sys.stdout.write(_SHOW_CURSOR)
                    sys.stdout.flush()
                os._exit(INTERRUPTED)
            complain(advice)
            task.cancel()

        for number in _SIGNALS:
            loop.add_signal_handler(number, interrupt)
        try:
            return await task
        except asyncio.CancelledError:
            if not count:
                raise
            return None
        finally:
            for number in _SIGNALS:
                loop.remove_signal_handler(number)

    return asyncio.run(interruptible())


# Drive runs in the foreground and show their progress.

_GLANCE: Final = 0.1
_ADVICE: Final = "stopping the agents and keeping their work; Ctrl-C again stops at once"


def continue_runs(
    project: Project,
    store: Store,
    runs: Sequence[str],
    board: ProgressBoard | None = None,
    *,
    as_json: bool = False,
    follow: bool = False,
    shows_checks: bool = False,
) -> int:
    """Drive runs until only people can move them, print their status, and return the exit code.

    A caller with a `board` of its own prints the status itself. With `follow`, the only run is shown even if another
    process drives it. With `shows_checks`, print a line for each finished check where there is no terminal; a terminal
    always shows them.
    """
    prints_status, complaints = board is None, set[str]()
    if board is None and as_json:
        board = ProgressBoard()
    elif board is None and is_terminal():
        board = ProgressPicture()
    elif board is None:
        board = ProgressLines(store.payloads, names_runs=len(runs) > 1, shows_checks=shows_checks)

    async def attend(run: str, driver: Driver) -> bool:
        """Drive one run, and return whether that worked. An error ends the only run; it stops no other one."""
        try:
            await driver.drive(run, lambda desk: board.show(run, desk.protocol, desk.state))
        except TreadleError as error:
            if len(runs) == 1:
                if not (follow and isinstance(error, PortError) and driver_of(store.run(run))):
                    raise
                await _follow_other_driver(project, store, run, board)
                return True
            if str(error) not in complaints:  # a full disk is the same for all of them
                complaints.add(str(error))
                complain(blame(error))
            return False
        return True

    async def attend_all(tools: HttpTools) -> list[bool]:
        driver = Driver(store, ProjectSurroundings(project, store, hear=board.hear, tools=tools))
        return await asyncio.gather(*(attend(run, driver) for run in runs))

    try:
        with board, HttpTools() as tools:
            driven = run_interruptibly(attend_all(tools), _ADVICE)
        if driven is None:
            for run in runs:
                complain(f"interrupted; {_resume_hint(run)}")
            return INTERRUPTED
        if not prints_status:
            return 0
        stands = [read_status(project, store, run) for run in runs]
        if as_json:
            documents = [rest_document(it, code_of(it)) for it in stands]
            print_json(documents if len(documents) > 1 else documents[0])
        else:
            typer.echo(join_lines(line for it in stands for line in rest_lines(it)))
            for it in stands:
                _offer_delivery(project, store, it)
        return FAILED if not all(driven) else max(map(code_of, stands), default=0)
    except BrokenPipeError:
        for run in runs:
            if prints_status and not store.run(run).outcome:
                complain(f"the output is closed, so the run stops; {_resume_hint(run)}")
        raise


def _offer_delivery(project: Project, store: Store, stands: RunStatus) -> None:
    """Ask whether to deliver a good, undelivered result, if `git.merge` is `ask` and a person sits at the terminal."""
    result = stands.result
    if result is None or not result.awaits_answer or not is_good(stands.outcome):
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return
    if not typer.confirm(f"Move {result.into} forward to the result of {stands.run}?", default=False):
        return
    try:
        typer.echo(deliver_result(project, store, stands.run))
    except TreadleError as error:  # the run itself has ended well
        complain(blame(error))


def _resume_hint(run: str) -> str:
    return f"`treadle resume {run}` continues it"


async def _follow_other_driver(project: Project, store: Store, run: str, board: ProgressBoard) -> None:
    """Show a run that another process drives, until it rests or that process is gone."""
    at_rest = rest_rule(project.runs / run, settings_of(store.run(run)), starts_agents=True)
    seq = -1
    while driver_of(store.run(run)):
        if store.run(run).seq != seq:
            history = store.load(run)
            seq = history.state.seq
            board.show(run, history.protocol, history.state)
            if history.state.outcome or at_rest(history.state):
                return
        await asyncio.sleep(_GLANCE)


Verdict = Callable[[Project, Store, str], int]
"""A function that prints the effect of an action on a run and returns the exit code."""


def move(
    words: str | Sequence[str | None],
    act: Callable[..., str],
    *,
    beside: int = 0,
    resume: bool = False,
    still: Still = lambda _: False,
    verdict: Verdict = lambda _project, _store, _run: 0,
    project: Project | None = None,
    shows_checks: bool = False,
) -> int:
    """Do something to a run, and return the exit code; with `resume`, drive the run on as `treadle resume` would.

    The run is given by its name, or by words that name or imply it and may have `beside` others after them. `act` gets
    the client, the run and the other words, and returns a sentence about what it did.

    A run that this process drives to its end decides the exit code, as for `treadle run`; so does one that rests after
    `resume`. Otherwise the code is 0: the order was given. `shows_checks` prints the checks that this process runs.
    """
    run, rest = (words, []) if isinstance(words, str) else find_run_to_move(*words, beside=beside)
    project = project or open_project()
    with opened_store(project) as store:
        store.run(run)
        typer.echo(act(Client(project, store), run, *rest))
        if resume and not driver_of(store.run(run)):
            driven = continue_runs(project, store, [run], follow=True, shows_checks=shows_checks)
            return verdict(project, store, run) or driven
        with CheckLines(live=is_terminal()) if shows_checks else ProgressBoard() as board:
            taken = asyncio.run(take_up(project, store, run, still, board.hear))
        code = verdict(project, store, run)
        driven = _print_effect(project, store, run, taken)
        return code or driven


def _print_effect(project: Project, store: Store, run: str, taken: TakeUpResult) -> int:
    """Print what became of a posted event; return the exit code of the run if this process drove it to its end."""
    if taken.by:
        done = "is still busy; it will act on this next" if taken.waits else "has acted on this"
        typer.echo(f"process {taken.by} drives {run} and {done}")
        return 0
    now = read_status(project, store, run)
    typer.echo(join_lines(rest_lines(now)))
    return code_of(now) if now.outcome else 0


def resume_elsewhere(project: Project, store: Store, run: str, *, as_json: bool) -> bool:
    """Resume a run that another process drives; return whether it was paused or stopped by an outage."""
    record, client = store.run(run), Client(project, store)
    if record.outcome or not driver_of(record):
        return False
    is_held_up = is_out(store.load(run).state)
    if not client.resume(run):
        return False
    if not as_json:
        typer.echo(f"{run} tries the agent again" if is_held_up else f"{run} is no longer paused")
    taken = asyncio.run(take_up(project, store, run))
    if as_json:
        now = read_status(project, store, run)
        print_json(rest_document(now, code_of(now)))
    else:
        _print_effect(project, store, run, taken)
    return True


def prepare_resume(project: Project, store: Store, run: str | None) -> list[str]:
    """Return the named run with all its pauses lifted, or all unfinished runs without a driver."""
    if run is None:
        going = [it for it in store.runs() if not it.outcome]
        unfinished = [it.id for it in going if not driver_of(it)]
        if going and not unfinished:
            raise TreadleError(
                f"another process drives {', '.join(it.id for it in going)} already; `treadle log -f` follows it",
                code="run.driven",
            )
        if not unfinished:
            raise TreadleError("there is no run to resume; `treadle run SPEC` starts one", code="run.none")
        return list(reversed(unfinished))
    if outcome := store.run(run).outcome:
        raise TreadleError(f"{run} has ended with {outcome}; `treadle run SPEC` starts another one", code="run.ended")
    Client(project, store).resume(run)
    return [run]
