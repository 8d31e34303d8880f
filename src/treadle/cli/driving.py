"""Drives runs in the foreground and shows how they go."""

import asyncio
from collections.abc import Sequence
from typing import Final

import typer

from treadle.cli.delivering import offer
from treadle.cli.guard import FAILED, INTERRUPTED, blame, complain
from treadle.cli.interrupting import run_interruptibly
from treadle.cli.output import is_terminal, print_json
from treadle.cli.progress_board import Board, Lines, Picture, Silent
from treadle.cli.standing import Standing, shown
from treadle.config.project import Project
from treadle.engines.advised import advised
from treadle.engines.client import Client
from treadle.engines.driving import Driver, driver_of
from treadle.engines.evidence import stored_evidence
from treadle.engines.pinned import pinned
from treadle.engines.result import result_of
from treadle.engines.waiting import rests
from treadle.errors import PortError, TreadleError
from treadle.mcp.http import HttpTools
from treadle.runtime.tools import Tools
from treadle.store.sqlite import Store

_GLANCE: Final = 0.1
_ADVICE: Final = "ending the agents and keeping their work; once more ends at once"


def drive(
    project: Project,
    store: Store,
    runs: Sequence[str],
    *,
    as_json: bool = False,
    follow: bool = False,
    shows_checks: bool = False,
) -> int:
    """Drive runs until only people could move them, say how they stand, and return the exit code.

    With `shows_checks`, each check that has ended is a line where there is no terminal; a terminal always shows them.
    """
    board = _board(store, runs, as_json=as_json, shows_checks=shows_checks)
    try:
        return _drive(project, store, runs, board, as_json=as_json, follow=follow)
    except BrokenPipeError:
        for run in runs:
            if not store.run(run).outcome:
                complain(f"nobody reads what is said here any more; {_goes_on(run)}")
        raise


def _goes_on(run: str) -> str:
    return f"`treadle resume {run}` goes on where {run} was"


def _drive(project: Project, store: Store, runs: Sequence[str], board: Board, *, as_json: bool, follow: bool) -> int:
    several = driven(project, store, runs, board, follow=follow)
    if several is None:
        return INTERRUPTED
    stands = [standing(project, store, run) for run in runs]
    if as_json:
        print_json([it.as_json() for it in stands] if len(stands) > 1 else stands[0].as_json())
    else:
        typer.echo(shown(line for it in stands for line in it.lines()))
        for it in stands:
            offer(project, store, it)
    return FAILED if not all(several) else max((it.code for it in stands), default=0)


def driven(
    project: Project, store: Store, runs: Sequence[str], board: Board, *, follow: bool = False
) -> list[bool] | None:
    """Drive runs until only people could move them, and show how they go; None if that was interrupted."""
    with board, HttpTools() as tools:
        several = run_interruptibly(_all(project, store, runs, board, follow, tools), _ADVICE)
    if several is None:
        for run in runs:
            complain(f"interrupted; {_goes_on(run)}")
    return several


def standing(project: Project, store: Store, run: str) -> Standing:
    """How a run stands."""
    record = store.run(run)
    waiting, result = Client(project, store).waiting(run), asyncio.run(result_of(project, record))
    if not record.outcome:
        return Standing(run, record.outcome, waiting, result)
    evidence = asyncio.run(stored_evidence(project, store, run))
    return Standing(run, record.outcome, waiting, result, advised(store, run), evidence)


async def _all(
    project: Project, store: Store, runs: Sequence[str], board: Board, follow: bool, tools: Tools
) -> list[bool]:
    driver = Driver(project, store, hear=board.hear, tools=tools)
    if len(runs) == 1:
        await _one(project, store, driver, runs[0], board, follow)
        return [True]
    said: set[str] = set()
    return await asyncio.gather(*(_of_several(project, store, driver, run, board, said) for run in runs))


async def _of_several(project: Project, store: Store, driver: Driver, run: str, board: Board, said: set[str]) -> bool:
    """Whether one of several runs could be driven; the others go on if it could not. What stops all is said once."""
    try:
        await _one(project, store, driver, run, board, follow=False)
    except TreadleError as error:
        if str(error) not in said:
            said.add(str(error))
            complain(blame(error))
        return False
    return True


async def _one(project: Project, store: Store, driver: Driver, run: str, board: Board, follow: bool) -> None:
    try:
        await driver.to_rest(run, lambda desk: board.show(run, desk.protocol, desk.state))
    except PortError:
        if not (follow and driver_of(store.run(run))):
            raise
        await _follow(project, store, run, board)


async def _follow(project: Project, store: Store, run: str, board: Board) -> None:
    """Show a run that another process drives, until it rests or that process is gone."""
    at_rest = rests(project.runs / run, pinned(store.run(run)), starts_agents=True)
    seq = -1
    while driver_of(store.run(run)):
        if store.run(run).seq != seq:
            history = store.load(run)
            seq = history.state.seq
            board.show(run, history.protocol, history.state)
            if history.state.outcome or at_rest(history.state):
                return
        await asyncio.sleep(_GLANCE)


def _board(store: Store, runs: Sequence[str], *, as_json: bool, shows_checks: bool) -> Board:
    if as_json:
        return Silent()
    if is_terminal():
        return Picture()
    return Lines(store.payloads, names_runs=len(runs) > 1, shows_checks=shows_checks)
