"""`treadle say`: perform a sentence in plain words as a command, and drive the run until a person is needed again."""

import os
from typing import Annotated

import msgspec
import typer

from treadle.cli.guard import FAILED, INTERRUPTED, WAITS, complain
from treadle.cli.moves import continue_runs
from treadle.cli.options import JsonAtEndOption
from treadle.cli.output import print_json, print_text
from treadle.cli.progress_board import ProgressBoard, ProgressLines
from treadle.cli.run_status import code_of
from treadle.config.project import MARKS, project_around
from treadle.config.projects import Projects
from treadle.engines.status import read_status
from treadle.errors import TreadleError
from treadle.store.leases import driver_of
from treadle.store.sqlite import opened_store
from treadle.talk.speaker import (
    Blocked,
    Dispatched,
    NeedsHuman,
    Speaker,
    SpokenReply,
    read_facts,
    result_of,
    standing_text,
)


def say(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="WORDS", help='What you want to say, such as "continue cart-app"; "help" lists all sentences.'
        ),
    ],
    as_json: JsonAtEndOption = False,
) -> None:
    """Talk to a project in plain words: continue, status, approve, reject: WHY, stop for today, …"""
    projects, here = Projects(os.environ), project_around()
    # Any repository could be around the current folder; only one with runs or settings is a project of ours.
    is_ours = here and (here.store.exists() or any((here.root / mark).exists() for mark in MARKS[:2]))
    if here and not here.store.exists():
        from treadle.cli.unfinished_stories import describe_stories_before_any_run  # slow, and rarely needed

        for line in describe_stories_before_any_run():
            complain(line)
    reply = Speaker(projects, here if is_ours else None).hear(" ".join(words))
    if not reply.understood and not as_json:
        raise TreadleError(reply.text, code=reply.code)
    project = projects.project(reply.project) if reply.project in projects.all() else here
    if not (project and reply.run):
        _print(reply, as_json=as_json)
        raise typer.Exit(0 if reply.understood else FAILED)
    with opened_store(project) as store:
        is_movable = reply.moved and isinstance(reply.result, Dispatched | Blocked)
        if is_movable and not (driver_of(store.run(reply.run)) or read_status(project, store, reply.run).paused):
            if not as_json:
                print_text(reply.done)
            board = ProgressBoard() if as_json else ProgressLines(store.payloads)
            if continue_runs(project, store, [reply.run], board, follow=True) == INTERRUPTED:
                raise typer.Exit(INTERRUPTED)
            facts = read_facts(project, store, reply.run)
            reply = msgspec.structs.replace(reply, text=standing_text(facts), result=result_of(facts))
        _print(reply, as_json=as_json)
        if not reply.understood:
            code = FAILED
        elif not reply.ordered:  # `status` and `stop`
            code = 0
        elif store.run(reply.run).outcome:
            code = code_of(read_status(project, store, reply.run))
        else:
            code = WAITS if isinstance(reply.result, NeedsHuman) else 0
        raise typer.Exit(code)


def _print(reply: SpokenReply, *, as_json: bool) -> None:
    if as_json:
        print_json(reply.document)
    else:
        print_text(reply.text)
